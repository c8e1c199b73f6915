//! Where an image leaves a system, found by halving lines through it: its horizon, and where the system is torn.

use super::footprint::{INSIDE, box_of, image_points, interior, is_finite, to_system};
use super::{SourceImage, WarpError};
use crate::raster::Crs;

/// Places on the horizon, where lines through the interior leave the Earth; none where the whole image has a place in
/// the system. `transformed` are the places of [`interior`] in the system.
pub(super) fn horizon(
    image: &SourceImage,
    crs: &Crs,
    transformed: &[(f64, f64)],
) -> Result<Vec<(f64, f64)>, WarpError> {
    let places = interior();
    // The way from a place on the Earth to one in the sky.
    let ways = neighbours()
        .filter_map(|(one, other)| match (is_finite(&transformed[one]), is_finite(&transformed[other])) {
            (true, false) => {
                Some(Way { ends: [places[one], places[other]], at: [transformed[one], NOWHERE] })
            }
            (false, true) => {
                Some(Way { ends: [places[other], places[one]], at: [transformed[other], NOWHERE] })
            }
            _ => None,
        })
        .collect();
    let ways = halved(image, crs, ways, |_, middle| usize::from(!is_finite(&middle)))?;
    Ok(ways.into_iter().map(|way| way.at[0]).collect())
}

/// Places on both sides of where the system is torn, as cylindrical ones are at 180°; none where it is whole over the
/// image. `transformed` are the places of [`interior`] in the system.
pub(super) fn seam(
    image: &SourceImage,
    crs: &Crs,
    transformed: &[(f64, f64)],
) -> Result<Vec<(f64, f64)>, WarpError> {
    let Some([west, _, east, _]) = box_of(transformed) else { return Ok(Vec::new()) };
    let places = interior();
    let is_torn = |one: (f64, f64), other: (f64, f64)| (one.0 - other.0).abs() > (east - west) / 2.0;
    let ways = neighbours()
        .filter(|(one, other)| is_torn(transformed[*one], transformed[*other]))
        .map(|(one, other)| Way {
            ends: [places[one], places[other]],
            at: [transformed[one], transformed[other]],
        })
        .collect();
    let nearer = |way: &Way, middle: (f64, f64)| {
        usize::from((middle.0 - way.at[1].0).abs() < (middle.0 - way.at[0].0).abs())
    };
    let ways = halved(image, crs, ways, nearer)?;
    Ok(ways.into_iter().flat_map(|way| way.at).collect())
}

/// Whether nothing lies in more than three quarters of what finite points span from west to east.
pub(super) fn has_wide_gap(points: &[(f64, f64)]) -> bool {
    let mut x: Vec<f64> = points.iter().map(|point| point.0).filter(|x| x.is_finite()).collect();
    x.sort_by(f64::total_cmp);
    let span = x.last().zip(x.first()).map_or(0.0, |(last, first)| last - first);
    x.windows(2).any(|pair| pair[1] - pair[0] > span * 0.75)
}

/// A straight line through an image: its ends as parts of width and height, and in a system.
struct Way {
    ends: [(f64, f64); 2],
    at: [(f64, f64); 2],
}

const NOWHERE: (f64, f64) = (f64::NAN, f64::NAN);

/// Halves ways again and again: the middle takes the place of the end that `replaced` names.
fn halved(
    image: &SourceImage,
    crs: &Crs,
    mut ways: Vec<Way>,
    replaced: impl Fn(&Way, (f64, f64)) -> usize,
) -> Result<Vec<Way>, WarpError> {
    /// From a 20th of the image to a 1,300,000th.
    const HALVINGS: usize = 16;
    for _ in 0..HALVINGS {
        let middle = |Way { ends: [a, b], .. }: &Way| (f64::midpoint(a.0, b.0), f64::midpoint(a.1, b.1));
        let middles: Vec<(f64, f64)> = ways.iter().map(middle).collect();
        let mut points = image_points(image, &middles)?;
        to_system(&mut points, &image.crs, crs)?;
        for ((way, middle), point) in ways.iter_mut().zip(middles).zip(points) {
            let end = replaced(way, point);
            (way.ends[end], way.at[end]) = (middle, point);
        }
    }
    Ok(ways)
}

/// Places of [`interior`] beside and below each other.
fn neighbours() -> impl Iterator<Item = (usize, usize)> {
    let count = (INSIDE + 1) * (INSIDE + 1);
    let across = |index: usize| (index % (INSIDE + 1) < INSIDE).then_some(index + 1);
    let down = move |index: usize| (index + INSIDE + 1 < count).then_some(index + INSIDE + 1);
    (0..count).flat_map(move |index| {
        [across(index), down(index)].into_iter().flatten().map(move |next| (index, next))
    })
}
