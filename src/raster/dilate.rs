//! Growing a selection of pixels by a disc.

/// A selection, row by row: not zero where a pixel is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Columns of a row.
    pub columns: usize,
    /// Rows × columns pixels.
    pub pixels: Vec<u8>,
}

impl Selection {
    /// The pixels whose centre is at most `radius` pixels from the centre of a selected one, by Euclidean distance.
    ///
    /// A radius of 1 adds the four neighbours across the edges, one of 2 makes a disc of 13 pixels. For a pixel at the
    /// edge nothing beyond it is selected; who needs a part of an image gives `radius` more pixels on each side.
    #[must_use]
    pub fn dilated(&self, radius: usize) -> Selection {
        if radius == 0 || self.columns == 0 {
            return self.clone();
        }
        let distances = self.distances_along_rows(radius);
        let rows = self.pixels.len() / self.columns;
        let mut pixels = vec![0; self.pixels.len()];
        for (row, out) in pixels.chunks_exact_mut(self.columns).enumerate() {
            for near in row.saturating_sub(radius)..(row + radius + 1).min(rows) {
                let reach = half_chord(radius, row.abs_diff(near));
                let distances = &distances[near * self.columns..][..self.columns];
                out.iter_mut()
                    .zip(distances)
                    .for_each(|(out, &distance)| *out |= u8::from(distance <= reach));
            }
        }
        Selection { columns: self.columns, pixels }
    }

    /// For each pixel how far the nearest selected pixel of its row is; `u16::MAX` where none is within `radius`.
    fn distances_along_rows(&self, radius: usize) -> Vec<u16> {
        let mut distances = vec![u16::MAX; self.pixels.len()];
        for (row, out) in self.pixels.chunks_exact(self.columns).zip(distances.chunks_exact_mut(self.columns))
        {
            sweep(row.iter().zip(out.iter_mut()), radius);
            sweep(row.iter().rev().zip(out.iter_mut().rev()), radius);
        }
        distances
    }
}

/// One direction of a row.
fn sweep<'a>(pixels: impl Iterator<Item = (&'a u8, &'a mut u16)>, radius: usize) {
    let mut since = usize::MAX;
    for (&selected, distance) in pixels {
        since = if selected != 0 { 0 } else { since.saturating_add(1) };
        if since <= radius {
            *distance = (*distance).min(since as u16);
        }
    }
}

/// Half the width of a disc, `rows` rows from its centre, rounded down.
fn half_chord(radius: usize, rows: usize) -> u16 {
    (radius * radius - rows * rows).isqrt() as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Straight from the definition.
    fn by_definition(selection: &Selection, radius: usize) -> Vec<u8> {
        let place = |index: usize| (index / selection.columns, index % selection.columns);
        let is_near = |one: usize, other: usize| {
            let ((row, column), (other_row, other_column)) = (place(one), place(other));
            row.abs_diff(other_row).pow(2) + column.abs_diff(other_column).pow(2) <= radius * radius
        };
        let all = 0..selection.pixels.len();
        let grows = |index| all.clone().any(|other| selection.pixels[other] != 0 && is_near(index, other));
        all.clone().map(|index| u8::from(grows(index))).collect()
    }

    #[test]
    fn a_pixel_grows_to_a_disc() {
        let mut selection = Selection { columns: 5, pixels: vec![0; 25] };
        selection.pixels[12] = 1;
        #[rustfmt::skip]
        let disc = [
            0, 0, 1, 0, 0,
            0, 1, 1, 1, 0,
            1, 1, 1, 1, 1,
            0, 1, 1, 1, 0,
            0, 0, 1, 0, 0,
        ];
        assert_eq!(selection.dilated(2).pixels, disc);
        assert_eq!(selection.dilated(0), selection);
        assert_eq!(selection.dilated(1).pixels.iter().filter(|&&pixel| pixel != 0).count(), 5);
    }

    #[test]
    fn any_selection_grows_as_defined() {
        for (seed, radius) in [(3_usize, 1), (5, 2), (7, 3), (11, 4), (13, 9)] {
            let pixels = (0..17 * 11).map(|index| u8::from((index * index * seed) % 23 == 0)).collect();
            let selection = Selection { columns: 17, pixels };
            assert_eq!(
                selection.dilated(radius).pixels,
                by_definition(&selection, radius),
                "radius {radius}"
            );
        }
    }
}
