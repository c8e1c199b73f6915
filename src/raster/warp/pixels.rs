//! The part of a source band that is at hand, addressed in pixels of the whole image.

use crate::raster::Window;

/// Pixels and validity of a part of an image.
#[derive(Clone, Copy)]
pub(super) struct Part<'a, T> {
    /// Row by row, `window.width` × `window.height`.
    pub(super) pixels: &'a [T],
    /// Zero where a pixel is invalid; `None` where all are valid.
    pub(super) mask: Option<&'a [u8]>,
    /// Which part of the image it is.
    pub(super) window: Window,
    /// Columns × rows of the whole image.
    pub(super) size: (i64, i64),
}

impl<T: Copy> Part<'_, T> {
    /// Whether a pixel lies in the image and is valid.
    pub(super) fn is_valid(&self, col: i64, row: i64) -> bool {
        self.is_inside(col, row) && self.mask.is_none_or(|mask| mask[self.index(col, row)] != 0)
    }

    /// Whether a pixel lies in the image.
    pub(super) fn is_inside(&self, col: i64, row: i64) -> bool {
        (0..self.size.0).contains(&col) && (0..self.size.1).contains(&row)
    }

    /// The value of a pixel of the image, which must lie in the part at hand.
    pub(super) fn at(&self, col: i64, row: i64) -> T {
        self.pixels[self.index(col, row)]
    }

    /// The values, and the validity unless all are valid, of some pixels of a row, which must lie in the part at hand.
    pub(super) fn run(&self, col: i64, row: i64, count: usize) -> (&[T], Option<&[u8]>) {
        let start = self.index(col, row);
        (&self.pixels[start..start + count], self.mask.map(|mask| &mask[start..start + count]))
    }

    /// N × N pixels from a place on, which must lie in the part at hand.
    #[inline]
    pub(super) fn square<const N: usize>(&self, col: i64, row: i64) -> [&[T; N]; N] {
        let (start, stride) = (self.index(col, row), self.window.width as usize);
        std::array::from_fn(|i| {
            let row = &self.pixels[start + i * stride..][..N];
            row.try_into().expect("a row of N pixels")
        })
    }

    /// Whether N × N pixels from a place on lie in the image and are valid.
    pub(super) fn is_whole(&self, (col, row): (i64, i64), n: usize) -> bool {
        let last = n as i64 - 1;
        if !self.is_inside(col, row) || !self.is_inside(col + last, row + last) {
            return false;
        }
        let Some(mask) = self.mask else { return true };
        let (start, stride) = (self.index(col, row), self.window.width as usize);
        (0..n).all(|i| mask[start + i * stride..][..n].iter().all(|valid| *valid != 0))
    }

    #[inline]
    fn index(&self, col: i64, row: i64) -> usize {
        let (col, row) = (col as usize - self.window.col as usize, row as usize - self.window.row as usize);
        debug_assert!(col < self.window.width as usize, "column outside of the part at hand");
        row * self.window.width as usize + col
    }
}
