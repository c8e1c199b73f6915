//! Overviews: 2×2 pixels become one, missing pixels left out; at odd edges the pixels that are there count.

use super::Block;
use super::missing::Missing;
use super::sample::Sample;
use super::settings::Reduction;

/// The block at half its size, rounded up. `how` has one entry a band.
pub(super) fn halve<T: Sample>(block: &Block<T>, how: &[Reduction], missing: Missing<T>) -> Block<T> {
    let (width, height) = (block.width.div_ceil(2), block.height.div_ceil(2));
    let mut half = Block::filled((width, height), block.bands, missing.fill(), missing.has_mask());
    let rows = half.pixels.chunks_exact_mut(width);
    for (at, out) in rows.enumerate() {
        let (band, row) = (at / height, at % height);
        Rows::of(block, band, row * 2, missing).halve(how[band], out);
    }
    halve_mask(block, how[0], &mut half);
    half
}

/// A mask pixel is valid where one of its four is; the upper left one decides for `nearest`.
fn halve_mask<T: Sample>(block: &Block<T>, how: Reduction, half: &mut Block<T>) {
    let Some(mask) = &mut half.mask else { return };
    for (row, out) in mask.chunks_exact_mut(half.width).enumerate() {
        let upper = block.mask_row(row * 2);
        let lower = if row * 2 + 1 < block.height { block.mask_row(row * 2 + 1) } else { upper };
        for (col, pixel) in out.iter_mut().enumerate() {
            let right = (col * 2 + 1).min(block.width - 1);
            let of = |row: Option<&[u8]>| row.map_or(0, |row| row[col * 2] | row[right]);
            *pixel = match how {
                Reduction::Nearest => upper.map_or(0, |row| row[col * 2]),
                _ => of(upper) | of(lower),
            };
        }
    }
}

/// Two rows of one band that become one.
struct Rows<'a, T> {
    upper: &'a [T],
    lower: Option<&'a [T]>,
    /// The mask of both rows, where there is one.
    upper_mask: Option<&'a [u8]>,
    lower_mask: Option<&'a [u8]>,
    missing: Missing<T>,
}

impl<'a, T: Sample> Rows<'a, T> {
    fn of(block: &'a Block<T>, band: usize, row: usize, missing: Missing<T>) -> Self {
        let has_lower = row + 1 < block.height;
        Self {
            upper: block.row(band, row),
            lower: has_lower.then(|| block.row(band, row + 1)),
            upper_mask: block.mask_row(row),
            lower_mask: if has_lower { block.mask_row(row + 1) } else { None },
            missing,
        }
    }

    fn halve(&self, how: Reduction, out: &mut [T]) {
        match how {
            Reduction::Nearest => {
                for (out, value) in out.iter_mut().zip(self.upper.iter().step_by(2)) {
                    *out = *value;
                }
            }
            Reduction::Average => self.each(out, T::mean),
            Reduction::Mode => self.each(out, mode),
            Reduction::Min => self.each(out, |values| extreme(values, |value, best| value < best)),
            Reduction::Max => self.each(out, |values| extreme(values, |value, best| value > best)),
        }
    }

    /// Applies `combine` to the valid ones of each four pixels; `out` is filled with what marks missing pixels.
    fn each(&self, out: &mut [T], combine: impl Fn(&[T]) -> T) {
        let whole = self.each_whole(out, &combine);
        for (col, pixel) in out.iter_mut().enumerate().skip(whole) {
            self.one(col, pixel, &combine);
        }
    }

    /// The fast way, for pixels with four above them; returns how many it did.
    fn each_whole(&self, out: &mut [T], combine: impl Fn(&[T]) -> T) -> usize {
        let Some(lower) = self.lower else { return 0 };
        let pairs = self.upper.as_chunks::<2>().0.iter().zip(lower.as_chunks::<2>().0);
        for (col, (pixel, (above, below))) in out.iter_mut().zip(pairs).enumerate() {
            let four = [above[0], above[1], below[0], below[1]];
            if self.are_valid(col, four) {
                *pixel = self.unmarked(combine(&four));
            } else {
                self.one(col, pixel, &combine);
            }
        }
        self.upper.len() / 2
    }

    #[inline]
    fn are_valid(&self, col: usize, four: [T; 4]) -> bool {
        let marked = four.iter().fold(false, |marked, value| marked | self.missing.marks(*value));
        !marked && self.mask_is_full(col)
    }

    #[inline]
    fn mask_is_full(&self, col: usize) -> bool {
        let full = |mask: Option<&[u8]>| mask.is_none_or(|mask| mask[col * 2] & mask[col * 2 + 1] != 0);
        full(self.upper_mask) && full(self.lower_mask)
    }

    /// The slow way: gathers what is there and valid.
    fn one(&self, col: usize, pixel: &mut T, combine: impl Fn(&[T]) -> T) {
        let mut values = [T::default(); 4];
        let mut count = 0;
        let lower = self.lower.unwrap_or_default();
        for (row, mask) in [(self.upper, self.upper_mask), (lower, self.lower_mask)] {
            for at in (col * 2..row.len()).take(2) {
                if !self.missing.marks(row[at]) && mask.is_none_or(|mask| mask[at] != 0) {
                    values[count] = row[at];
                    count += 1;
                }
            }
        }
        if count > 0 {
            *pixel = self.unmarked(combine(&values[..count]));
        } else if self.missing == Missing::Never {
            // Only floats come here, with four NaN.
            *pixel = T::DEFAULT_NODATA.unwrap_or_default();
        }
    }

    /// A mean of valid pixels can equal the value that marks missing ones; its neighbour stands for it.
    #[inline]
    fn unmarked(&self, value: T) -> T {
        match self.missing {
            Missing::Nodata(nodata) if value == nodata => value.neighbour(),
            _ => value,
        }
    }
}

/// The most frequent value, the first of equals.
fn mode<T: Sample>(values: &[T]) -> T {
    let count = |value: T| values.iter().filter(|other| **other == value).count();
    let mut best = (values[0], count(values[0]));
    for value in &values[1..] {
        if count(*value) > best.1 {
            best = (*value, count(*value));
        }
    }
    best.0
}

fn extreme<T: Sample>(values: &[T], is_better: impl Fn(T, T) -> bool) -> T {
    values
        .iter()
        .copied()
        .reduce(|best, value| if is_better(value, best) { value } else { best })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f32 = f32::NAN;

    fn block<T: Sample>(width: usize, pixels: &[T]) -> Block<T> {
        Block { width, height: pixels.len() / width, bands: 1, pixels: pixels.to_vec(), mask: None }
    }

    #[test]
    fn the_mean_is_that_of_the_valid_pixels() {
        let rows = [
            [100.0, 100.0, -1.0, -1.0, 1.0, 2.0],
            [100.0, -1.0, -1.0, -1.0, 2.0, 2.0],
            [7.0, -1.0, 0.0, 0.0, 5.0, 5.0],
            [-1.0, -1.0, 0.0, 1.0, 5.0, 6.0],
        ];
        let half = halve(&block(6, rows.as_flattened()), &[Reduction::Average], Missing::Nodata(-1f32));
        assert_eq!(half.pixels, [100.0, -1.0, 1.75, 7.0, 0.25, 5.25]);
    }

    #[test]
    fn nan_is_never_averaged() {
        for missing in [Missing::Nodata(NAN), Missing::Never] {
            let half =
                halve(&block(4, &[1.0, NAN, NAN, NAN, 2.0, 3.0, NAN, NAN]), &[Reduction::Average], missing);
            assert_eq!(half.pixels[0], 2.0);
            assert!(half.pixels[1].is_nan());
        }
    }

    #[test]
    fn odd_edges_use_the_pixels_that_are_there() {
        let half = halve(&block(3, &[1u8, 3, 8, 5, 7, 4, 10, 20, 9]), &[Reduction::Average], Missing::Never);
        assert_eq!((half.width, half.height), (2, 2));
        assert_eq!(half.pixels, [4, 6, 15, 9]);
    }

    #[test]
    fn a_mean_that_equals_the_nodata_value_is_moved_beside_it() {
        let half = halve(&block(2, &[-1i16, 1, -1, 1]), &[Reduction::Average], Missing::Nodata(0));
        assert_eq!(half.pixels, [1]);
    }

    #[test]
    fn the_mode_is_a_value_of_the_source() {
        let pixels = [1u8, 1, 3, 2, 1, 2, 3, 3, 4, 5, 0, 0, 6, 5, 0, 9];
        let of = |missing| halve(&block(4, &pixels), &[Reduction::Mode], missing).pixels;
        assert_eq!(of(Missing::Never), [1, 3, 5, 0]);
        assert_eq!(of(Missing::Nodata(0)), [1, 3, 5, 9]);
    }

    #[test]
    fn nearest_min_and_max_choose_one_pixel() {
        let pixels = block(2, &[4u8, 1, 9, 0]);
        let of = |how| halve(&pixels, &[how], Missing::Nodata(0)).pixels[0];
        assert_eq!([of(Reduction::Nearest), of(Reduction::Min), of(Reduction::Max)], [4, 1, 9]);
    }

    #[test]
    fn a_mask_leaves_pixels_out_and_is_valid_where_one_was() {
        let mut pixels = block(4, &[10u8, 20, 1, 2, 30, 40, 3, 4]);
        pixels.mask = Some(vec![0, 255, 0, 0, 255, 0, 0, 0]);
        let half = halve(&pixels, &[Reduction::Average], Missing::Mask);
        assert_eq!((half.pixels[0], half.mask), (25, Some(vec![255, 0])));
        let half = halve(&pixels, &[Reduction::Nearest], Missing::Mask);
        assert_eq!(half.mask, Some(vec![0, 0]));
    }
}
