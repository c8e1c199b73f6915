//! Which part of the source a window of the target needs.

use super::lattice::{Coordinates, Lattice, Places, intersection};
use crate::raster::Window;

/// The smallest part of an image of this size that holds all that `window` needs; `None` where it needs nothing.
///
/// Within a patch source coordinates are bilinear, so their extremes lie at the corners: the part is exact but for
/// `reach`, the pixels that a kernel looks beyond its centre.
pub(super) fn source_window(
    lattice: &Lattice,
    source: (u64, u64),
    reach: (f64, f64),
    window: &Window,
) -> Option<Window> {
    let mut corners = Coordinates::default();
    let parts = lattice.patches(window).filter_map(|patch| {
        let area = intersection(&patch.area, window)?;
        let places =
            if patch.corners.is_some() { Places::outer_corners(&area) } else { Places::corners(&area) };
        lattice.fill(&patch, &places, &mut corners);
        let (left, right) = pixels(&corners.x, reach.0, source.0)?;
        let (top, bottom) = pixels(&corners.y, reach.1, source.1)?;
        Some((left, top, right, bottom))
    });
    let union = parts.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1), a.2.max(b.2), a.3.max(b.3)));
    union.map(|(left, top, right, bottom)| Window {
        col: left,
        row: top,
        width: right - left,
        height: bottom - top,
    })
}

/// The pixels of one axis between the smallest and largest coordinate, widened by `reach` and cut to the image.
fn pixels(places: &[f64], reach: f64, size: u64) -> Option<(u64, u64)> {
    let finite = places.iter().copied().filter(|place| place.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let first = (low - reach).floor().clamp(0.0, size as f64) as u64;
    let end = (high + reach).ceil().clamp(0.0, size as f64) as u64;
    (low <= high && first < end).then_some((first, end))
}
