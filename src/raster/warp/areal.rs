//! Values of the area that a target pixel covers: average, mode, extremes, quantiles, sum.
//!
//! The area is the upright rectangle around the target pixel's four corners in the source. A pixel of the source
//! counts as far as it is covered; extremes and quantiles take every pixel that is touched.

use std::cmp::Ordering;

use super::lattice::Coordinates;
use super::pixels::Part;
use super::point::floor;
use super::scale::Scale;
use crate::raster::{Pixel, Resampling};

/// The rectangle of the source that a target pixel covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Footprint {
    columns: (f64, f64),
    rows: (f64, f64),
}

impl Footprint {
    /// The footprint of the target pixel at (column, row) of a block of corners; `None` where it has none.
    pub(super) fn of(
        corners: &Coordinates,
        col: usize,
        row: usize,
        source: (i64, i64),
        scale: &Scale,
    ) -> Option<Self> {
        let first = row * corners.columns + col;
        let indices = [first, first + 1, first + corners.columns, first + corners.columns + 1];
        let columns = span(indices.map(|i| corners.x[i]))?;
        let rows = span(indices.map(|i| corners.y[i]))?;
        let footprint = Self { columns, rows };
        (!footprint.is_torn(source, scale)).then_some(footprint)
    }

    /// The footprint of an average target pixel around a place.
    pub(super) fn around((x, y): (f64, f64), scale: &Scale) -> Option<Self> {
        let (width, height) = scale.footprint();
        let columns = (x - width / 2.0, x + width / 2.0);
        let rows = (y - height / 2.0, y + height / 2.0);
        (x.is_finite() && y.is_finite()).then_some(Self { columns, rows })
    }

    /// Whether its corners lie on two ends of the earth: no pixel covers half an image and far more than its share.
    fn is_torn(&self, source: (i64, i64), scale: &Scale) -> bool {
        let is_torn = |(low, high): (f64, f64), size: i64, scale: f64| {
            let length = high - low;
            length > size as f64 / 2.0 && length * scale > 16.0
        };
        is_torn(self.columns, source.0, scale.x) || is_torn(self.rows, source.1, scale.y)
    }

    /// Calls `visit` for the valid pixels of the image that it touches, with the part of each that it covers.
    fn visit<T: Copy>(&self, part: &Part<T>, mut visit: impl FnMut(T, f64)) {
        let (left, right) = touched(self.columns, part.size.0);
        let (top, bottom) = touched(self.rows, part.size.1);
        if left >= right {
            return;
        }
        for row in top..bottom {
            let down = overlap(self.rows, row);
            let (pixels, mask) = part.run(left, row, (right - left) as usize);
            for (i, (col, pixel)) in (left..).zip(pixels).enumerate() {
                if mask.is_none_or(|mask| mask[i] != 0) {
                    visit(*pixel, down * overlap(self.columns, col));
                }
            }
        }
    }
}

fn span(v: [f64; 4]) -> Option<(f64, f64)> {
    let low = v.iter().copied().fold(f64::INFINITY, f64::min);
    let high = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    v.iter().all(|v| v.is_finite()).then_some((low, high))
}

/// The pixels of one axis that a span touches, at least one, cut to the image.
fn touched((low, high): (f64, f64), size: i64) -> (i64, i64) {
    let (first, end) = (floor(low), -floor(-high));
    (first.clamp(0, size), end.max(first + 1).clamp(0, size))
}

/// The part of a pixel that a span covers; all of it when the span is a point.
fn overlap((low, high): (f64, f64), pixel: i64) -> f64 {
    if low == high {
        return 1.0;
    }
    let start = pixel as f64;
    (high.min(start + 1.0) - low.max(start)).max(0.0)
}

/// Reduces the pixels of areas; keeps buffers between pixels.
pub(super) struct ArealKernel<T> {
    resampling: Resampling,
    weighted: Vec<(T, f64)>,
}

impl<T: Pixel> ArealKernel<T> {
    /// A kernel.
    pub(super) fn new(resampling: Resampling) -> Self {
        Self { resampling, weighted: Vec::new() }
    }

    /// The value of an area; `None` where no valid pixel lies in it.
    pub(super) fn value(&mut self, part: &Part<T>, footprint: &Footprint) -> Option<T> {
        match self.resampling {
            Resampling::Average => {
                let total = Total::of(part, footprint);
                (total.weight > 0.0).then(|| T::from_f64(total.sum / total.weight))
            }
            Resampling::Sum => {
                let total = Total::of(part, footprint);
                (total.weight > 0.0).then(|| T::from_f64(total.sum))
            }
            Resampling::Min => extreme(part, footprint, |best, next| next < best),
            Resampling::Max => extreme(part, footprint, |best, next| next > best),
            Resampling::Mode => mode(self.collect(part, footprint)),
            Resampling::Q1 => quantile(self.collect(part, footprint), 1),
            Resampling::Q3 => quantile(self.collect(part, footprint), 3),
            _ => quantile(self.collect(part, footprint), 2),
        }
    }

    fn collect(&mut self, part: &Part<T>, footprint: &Footprint) -> &mut [(T, f64)] {
        self.weighted.clear();
        footprint.visit(part, |pixel, weight| self.weighted.push((pixel, weight)));
        &mut self.weighted
    }
}

/// Sums over an area.
struct Total {
    sum: f64,
    weight: f64,
}

impl Total {
    fn of<T: Pixel>(part: &Part<T>, footprint: &Footprint) -> Self {
        let mut total = Self { sum: 0.0, weight: 0.0 };
        footprint.visit(part, |pixel, weight| {
            total.sum += weight * pixel.to_f64();
            total.weight += weight;
        });
        total
    }
}

/// The pixel that none is better than, where `is_better(best, next)` compares.
fn extreme<T: Pixel>(part: &Part<T>, footprint: &Footprint, is_better: impl Fn(T, T) -> bool) -> Option<T> {
    let mut found = None;
    footprint.visit(part, |pixel, _| {
        found = Some(found.map_or(pixel, |best| if is_better(best, pixel) { pixel } else { best }));
    });
    found
}

/// The value at rank ceil(n × quarters / 4) of n, counted from 1.
fn quantile<T: Pixel>(weighted: &mut [(T, f64)], quarters: usize) -> Option<T> {
    let rank = (weighted.len() * quarters).div_ceil(4).checked_sub(1)?;
    Some(weighted.select_nth_unstable_by(rank, by_value).1.0)
}

/// The value with the largest weight, the smallest of equals.
fn mode<T: Pixel>(weighted: &mut [(T, f64)]) -> Option<T> {
    weighted.sort_by(by_value);
    let groups = weighted.chunk_by(|a, b| a.0 == b.0);
    let totals = groups.map(|group| (group[0].0, group.iter().map(|(_, weight)| weight).sum::<f64>()));
    totals.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(value, _)| value)
}

fn by_value<T: Pixel>(a: &(T, f64), b: &(T, f64)) -> Ordering {
    a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::Window;

    /// Reduces 2 × 2 pixels 1, 2 / 3, 9 over a footprint.
    fn reduced(resampling: Resampling, columns: (f64, f64), rows: (f64, f64)) -> Option<i64> {
        let window = Window { col: 0, row: 0, width: 2, height: 2 };
        let part = Part { pixels: &[1_i64, 2, 3, 9], mask: Some(&[1, 1, 1, 0]), window, size: (2, 2) };
        ArealKernel::new(resampling).value(&part, &Footprint { columns, rows })
    }

    #[test]
    fn reductions_take_the_valid_pixels_of_the_area() {
        let whole = |resampling| reduced(resampling, (0.0, 2.0), (0.0, 2.0));
        assert_eq!(whole(Resampling::Average), Some(2), "(1 + 2 + 3) / 3");
        assert_eq!(whole(Resampling::Sum), Some(6));
        assert_eq!(whole(Resampling::Min), Some(1));
        assert_eq!(whole(Resampling::Max), Some(3));
        assert_eq!(whole(Resampling::Q1), Some(1), "rank ceil(3 / 4)");
        assert_eq!(whole(Resampling::Med), Some(2), "rank ceil(6 / 4)");
        assert_eq!(whole(Resampling::Q3), Some(3), "rank ceil(9 / 4)");
        assert_eq!(whole(Resampling::Mode), Some(1), "the smallest of equals");
    }

    #[test]
    fn pixels_count_as_far_as_they_are_covered() {
        // 1 × 0.25 + 2 × 1 over 1.25, rounded; the mode is what covers most.
        assert_eq!(reduced(Resampling::Average, (0.75, 2.0), (0.0, 1.0)), Some(2));
        assert_eq!(reduced(Resampling::Mode, (0.75, 2.0), (0.0, 1.0)), Some(2));
        assert_eq!(reduced(Resampling::Sum, (0.5, 1.0), (0.0, 2.0)), Some(2), "(1 + 3) / 2");
    }

    #[test]
    fn an_area_without_valid_pixels_has_no_value() {
        assert_eq!(reduced(Resampling::Average, (1.0, 2.0), (1.0, 2.0)), None);
        assert_eq!(reduced(Resampling::Max, (2.0, 3.0), (0.0, 1.0)), None);
    }
}
