//! A rectangle of typed pixels, band after band: a tile, a part of one, or a whole overview.

use super::sample::Sample;

/// Pixels of all bands, band × row × column, and the mask that they share where a file has one (255 valid, 0 missing).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block<T> {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) bands: usize,
    pub(super) pixels: Vec<T>,
    pub(super) mask: Option<Vec<u8>>,
}

/// A rectangle within a block or a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) col: usize,
    pub(super) row: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

impl Part {
    /// How many pixels it holds.
    pub(super) fn pixels(&self) -> usize {
        self.width * self.height
    }
}

impl<T: Sample> Block<T> {
    /// A block of one value, all missing if it has a mask.
    pub(super) fn filled(size: (usize, usize), bands: usize, value: T, has_mask: bool) -> Self {
        let (width, height) = size;
        let pixels = vec![value; bands * width * height];
        Self { width, height, bands, pixels, mask: has_mask.then(|| vec![0; width * height]) }
    }

    /// A row of one band.
    pub(super) fn row(&self, band: usize, row: usize) -> &[T] {
        let start = (band * self.height + row) * self.width;
        &self.pixels[start..start + self.width]
    }

    /// A row of the mask.
    pub(super) fn mask_row(&self, row: usize) -> Option<&[u8]> {
        self.mask.as_ref().map(|mask| &mask[row * self.width..(row + 1) * self.width])
    }

    /// A copy of one part.
    pub(super) fn cut(&self, part: Part) -> Self {
        let mut pixels = Vec::with_capacity(self.bands * part.pixels());
        for band in 0..self.bands {
            for row in part.row..part.row + part.height {
                pixels.extend_from_slice(&self.row(band, row)[part.col..part.col + part.width]);
            }
        }
        let mask = self.mask.as_ref().map(|mask| {
            let rows = mask.chunks_exact(self.width).skip(part.row).take(part.height);
            rows.flat_map(|row| &row[part.col..part.col + part.width]).copied().collect()
        });
        Self { width: part.width, height: part.height, bands: self.bands, pixels, mask }
    }

    /// Puts another block in at (column, row).
    pub(super) fn paste(&mut self, other: &Self, col: usize, row: usize) {
        for band in 0..self.bands {
            for line in 0..other.height {
                let start = (band * self.height + row + line) * self.width + col;
                self.pixels[start..start + other.width].copy_from_slice(other.row(band, line));
            }
        }
        if let (Some(mask), Some(from)) = (&mut self.mask, &other.mask) {
            for (line, source) in from.chunks_exact(other.width).enumerate() {
                let start = (row + line) * self.width + col;
                mask[start..start + other.width].copy_from_slice(source);
            }
        }
    }

    /// Bytes that [`Self::to_bytes`] makes of a block of so many pixels.
    pub(super) fn byte_size(pixels: usize, bands: usize, has_mask: bool) -> usize {
        pixels * (bands * T::SIZE + usize::from(has_mask))
    }

    /// Pixels, then the mask.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let pixels = self.pixels.len() * T::SIZE;
        let mut bytes = vec![0; Self::byte_size(self.width * self.height, self.bands, self.mask.is_some())];
        T::write(&self.pixels, &mut bytes[..pixels]);
        if let Some(mask) = &self.mask {
            bytes[pixels..].copy_from_slice(mask);
        }
        bytes
    }

    /// What [`Self::to_bytes`] wrote.
    pub(super) fn from_bytes(bytes: &[u8], size: (usize, usize), bands: usize, has_mask: bool) -> Self {
        let mut block = Self::filled(size, bands, T::default(), has_mask);
        let pixels = block.pixels.len() * T::SIZE;
        T::read(&bytes[..pixels], &mut block.pixels);
        if let Some(mask) = &mut block.mask {
            mask.copy_from_slice(&bytes[pixels..]);
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(width: usize, height: usize, bands: usize) -> Block<u16> {
        let pixels = (0..(width * height * bands) as u16).collect();
        let mask = Some((0..width * height).map(|at| (at % 2 * 255) as u8).collect());
        Block { width, height, bands, pixels, mask }
    }

    #[test]
    fn a_cut_holds_the_pixels_of_its_place_in_every_band() {
        let cut = counting(4, 3, 2).cut(Part { col: 1, row: 1, width: 2, height: 2 });
        assert_eq!(cut.pixels, [5, 6, 9, 10, 17, 18, 21, 22]);
        assert_eq!(cut.mask, Some(vec![255, 0, 255, 0]));
    }

    #[test]
    fn a_paste_undoes_a_cut() {
        let whole = counting(4, 3, 2);
        let mut other = Block::filled((4, 3), 2, 0, true);
        for (col, width) in [(0, 1), (1, 3)] {
            other.paste(&whole.cut(Part { col, row: 0, width, height: 3 }), col, 0);
        }
        assert_eq!(other, whole);
    }

    #[test]
    fn bytes_come_back_as_the_same_block() {
        let block = counting(3, 2, 2);
        let bytes = block.to_bytes();
        assert_eq!(bytes.len(), 3 * 2 * (2 * 2 + 1));
        assert_eq!(Block::from_bytes(&bytes, (3, 2), 2, true), block);
    }
}
