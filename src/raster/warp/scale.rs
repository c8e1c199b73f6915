//! How much smaller the target is than the source, one figure an axis for the whole image.
//!
//! Kernels widen by it when an image shrinks, so that no source pixel is passed over. It is taken from whole
//! grids, never from a window, so that every window is filtered alike.

use super::pixel_map::PixelMap;

/// Target pixels per source pixel along the source's columns and rows, at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    /// Along columns.
    pub(super) x: f64,
    /// Along rows.
    pub(super) y: f64,
}

impl Scale {
    /// Neither axis shrinks.
    pub(super) const NONE: Scale = Scale { x: 1.0, y: 1.0 };

    /// The median over places of the image that the target shows.
    pub(super) fn measure(map: &PixelMap, source: (u64, u64), target: (u64, u64)) -> Scale {
        let mut places = shown_places(map, source, target);
        if places.is_empty() {
            places = samples(target);
        }
        let (mut across, mut down): (Vec<f64>, Vec<f64>) =
            places.into_iter().filter_map(|place| footprint(map, place)).unzip();
        Scale { x: shrinkage(median(&mut across)), y: shrinkage(median(&mut down)) }
    }

    /// Source pixels that one target pixel covers, per axis.
    pub(super) fn footprint(&self) -> (f64, f64) {
        (1.0 / self.x, 1.0 / self.y)
    }
}

/// Places of the target, in pixels, on which evenly spread places of the source fall.
fn shown_places(map: &PixelMap, source: (u64, u64), target: (u64, u64)) -> Vec<(f64, f64)> {
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = samples(source).into_iter().unzip();
    map.to_target(&mut x, &mut y);
    let is_inside = |x: f64, y: f64| x >= 0.0 && y >= 0.0 && x <= target.0 as f64 && y <= target.1 as f64;
    x.into_iter().zip(y).filter(|(x, y)| is_inside(*x, *y)).collect()
}

fn samples((width, height): (u64, u64)) -> Vec<(f64, f64)> {
    const STEPS: usize = 21;
    let at = |step: usize, size: u64| (step as f64 + 0.5) / STEPS as f64 * size as f64;
    (0..STEPS * STEPS).map(|i| (at(i % STEPS, width), at(i / STEPS, height))).collect()
}

/// Source pixels that a target pixel at a place covers along columns and rows.
fn footprint(map: &PixelMap, (col, row): (f64, f64)) -> Option<(f64, f64)> {
    let mut x = [col - 0.5, col + 0.5, col, col];
    let mut y = [row, row, row - 0.5, row + 0.5];
    map.to_source(&mut x, &mut y);
    let size = |v: &[f64; 4]| (v[1] - v[0]).hypot(v[3] - v[2]);
    let (across, down) = (size(&x), size(&y));
    (across.is_finite() && down.is_finite()).then_some((across, down))
}

fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 1.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The reciprocal of a footprint as GDAL's warper takes it: nothing below 1/0.95, whole numbers when near.
fn shrinkage(footprint: f64) -> f64 {
    let whole = footprint.round();
    if footprint * 0.95 <= 1.0 {
        1.0
    } else if (footprint - whole).abs() < 0.05 {
        1.0 / whole
    } else {
        1.0 / footprint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enlarging_and_nearly_equal_grids_do_not_shrink() {
        assert_eq!(shrinkage(0.1), 1.0);
        assert_eq!(shrinkage(1.04), 1.0);
        assert_eq!(shrinkage(2.02), 0.5);
        assert_eq!(shrinkage(2.5), 0.4);
    }
}
