//! What an image covers in another system: its edge and interior, densely transformed.

use super::edges::{has_wide_gap, horizon, seam};
use super::{SourceImage, WarpError};
use crate::raster::{Crs, Transformer, crs};

/// Web and world Mercator end here; the poles lie at infinity.
const MERCATOR_LATITUDE: f64 = 85.06;

/// Steps along each side of an image.
const STEPS: usize = 64;

/// Steps along each side of an image between places of its interior.
pub(super) const INSIDE: usize = 20;

/// What an image covers in another system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    /// West, south, east, north. An image across 180° has an east above 180 in geographic systems.
    pub bounds: [f64; 4],
    /// How the image lies where coordinates begin anew.
    pub crossing: Crossing,
    /// Whether a part beyond ±85.06° was left out, because the system cannot show it.
    pub is_cut: bool,
    /// Whether parts of the image have no place in the system: it shows the Earth to its horizon and the sky around it.
    pub has_horizon: bool,
}

/// How an image lies where the coordinates of a system begin anew, as at 180°.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// It does not cross, or goes all around.
    None,
    /// It crosses 180° without covering all longitudes, which are counted on.
    CountedOn,
    /// It lies at both ends of the system and nowhere between.
    Torn,
}

impl Footprint {
    /// What an image covers in a system.
    ///
    /// # Errors
    /// No place of the image has coordinates in the system.
    pub fn of(image: &SourceImage, crs: &Crs) -> Result<Self, WarpError> {
        let mut ring = image_points(image, &edge())?;
        let mut interior = image_points(image, &interior())?;
        let mut is_cut = false;
        for points in [&mut ring, &mut interior] {
            is_cut |= to_system(points, &image.crs, crs)?;
        }
        let horizon = horizon(image, crs, &interior)?;
        let has_horizon = !horizon.is_empty();
        let seam = if crs::is_geographic(crs) { Vec::new() } else { seam(image, crs, &interior)? };
        let is_torn = !seam.is_empty() && has_wide_gap(&interior);
        interior.extend(horizon);
        interior.extend(seam);
        let bounds = if crs::is_geographic(crs) && has_horizon {
            bounds_to_horizon(image, crs, &ring, &interior)?
        } else if crs::is_geographic(crs) {
            geographic_bounds(image, crs, &ring, &interior)?
        } else {
            box_of(ring.iter().chain(&interior)).map(|bounds| (bounds, false))
        };
        let (bounds, crosses_antimeridian) =
            bounds.ok_or_else(|| WarpError::Nowhere { crs: crs::describe(crs) })?;
        let crossing = match (crosses_antimeridian, is_torn) {
            (true, _) => Crossing::CountedOn,
            (false, true) => Crossing::Torn,
            (false, false) => Crossing::None,
        };
        Ok(Self { bounds, crossing, is_cut, has_horizon })
    }
}

/// Takes points to a system; tells whether some lay where it cannot show them and were moved to its end.
pub(super) fn to_system(points: &mut [(f64, f64)], from: &Crs, to: &Crs) -> Result<bool, WarpError> {
    if !crs::is_mercator(to) || crs::is_same(from, to) {
        Transformer::between(from, to)?.points(points);
        return Ok(false);
    }
    let degrees = crs::parse("EPSG:4326").expect("PROJ knows the system of longitude and latitude");
    Transformer::between(from, &degrees)?.points(points);
    let is_cut = points.iter().any(|point| point.1.abs() > MERCATOR_LATITUDE);
    for point in points.iter_mut() {
        point.1 = point.1.clamp(-MERCATOR_LATITUDE, MERCATOR_LATITUDE);
    }
    Transformer::between(&degrees, to)?.points(points);
    Ok(is_cut)
}

/// Bounds in longitude and latitude, and whether they pass 180°.
///
/// Longitudes are unrolled along the edge: an edge that comes back a turn later goes around a pole.
fn geographic_bounds(
    image: &SourceImage,
    crs: &Crs,
    ring: &[(f64, f64)],
    interior: &[(f64, f64)],
) -> Result<Option<([f64; 4], bool)>, WarpError> {
    let unrolled = unrolled(ring);
    let Some(edge) = box_of(&unrolled) else { return Ok(box_of(interior).map(|bounds| (bounds, false))) };
    let [_, south, _, north] = box_of(ring.iter().chain(interior)).expect("the edge has finite points");
    let turn = unrolled.last().map_or(0.0, |last| (last.0 - unrolled[0].0).abs());
    if turn > 180.0 || edge[2] - edge[0] > 359.0 {
        let (with_south, with_north) = poles_inside(image, crs)?;
        let (south, north) = (if with_south { -90.0 } else { south }, if with_north { 90.0 } else { north });
        let (west, east) = if turn > 180.0 { (-180.0, 180.0) } else { (edge[0], edge[2]) };
        return Ok(Some(([west, south, east, north], false)));
    }
    let [west, _, east, _] = edge;
    let shift = 360.0 * ((west + 180.0) / 360.0).floor();
    // An image from 0° to 360° keeps its own count of longitudes.
    let (west, east) =
        if crs::is_geographic(&image.crs) { (west, east) } else { (west - shift, east - shift) };
    Ok(Some(([west, south, east, north], east > 180.0 + 1e-9)))
}

/// Bounds in longitude and latitude of an image that shows the Earth to its horizon, and whether they pass 180°.
///
/// Its edge may lie in the sky, so that longitudes are counted from the place in its middle.
fn bounds_to_horizon(
    image: &SourceImage,
    crs: &Crs,
    ring: &[(f64, f64)],
    interior: &[(f64, f64)],
) -> Result<Option<([f64; 4], bool)>, WarpError> {
    let points: Vec<(f64, f64)> = ring.iter().chain(interior).copied().filter(is_finite).collect();
    let Some([west, south, east, north]) = box_of(&points) else { return Ok(None) };
    let (with_south, with_north) = poles_inside(image, crs)?;
    if with_south || with_north {
        let (south, north) = (if with_south { -90.0 } else { south }, if with_north { 90.0 } else { north });
        return Ok(Some(([-180.0, south, 180.0, north], false)));
    }
    let finite: Vec<&(f64, f64)> = interior.iter().filter(|point| is_finite(point)).collect();
    let middle = finite.get(finite.len() / 2).map_or(f64::midpoint(west, east), |point| point.0);
    let near = |x: f64| x + 360.0 * ((middle - x) / 360.0).round();
    let (west, east) = points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(west, east), (x, _)| {
        (west.min(near(*x)), east.max(near(*x)))
    });
    let shift = 360.0 * ((west + 180.0) / 360.0).floor();
    let (west, east) = (west - shift, east - shift);
    Ok(Some(([west, south, east, north], east > 180.0)))
}

pub(super) fn is_finite((x, y): &(f64, f64)) -> bool {
    x.is_finite() && y.is_finite()
}

/// Finite points with longitudes that go on beyond ±180 instead of jumping.
fn unrolled(ring: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut before = None;
    let finite = ring.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
    finite
        .map(|(x, y)| {
            let x = before.map_or(*x, |before: f64| x + 360.0 * ((before - x) / 360.0).round());
            before = Some(x);
            (x, *y)
        })
        .collect()
}

/// Whether the south and the north pole lie in the image.
fn poles_inside(image: &SourceImage, crs: &Crs) -> Result<(bool, bool), WarpError> {
    let mut poles = [(0.0, -90.0), (0.0, 90.0)];
    Transformer::between(crs, &image.crs)?.points(&mut poles);
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = poles.into_iter().unzip();
    image.placer()?.to_pixels(&mut x, &mut y);
    let (width, height) = (image.size.0 as f64, image.size.1 as f64);
    let is_inside = |i: usize| (0.0..=width).contains(&x[i]) && (0.0..=height).contains(&y[i]);
    Ok((is_inside(0), is_inside(1)))
}

/// West, south, east, north of the finite ones among points.
pub(super) fn box_of<'a>(points: impl IntoIterator<Item = &'a (f64, f64)>) -> Option<[f64; 4]> {
    let finite = points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite());
    finite.fold(None, |bounds, &(x, y)| {
        let [west, south, east, north] = bounds.unwrap_or([x, y, x, y]);
        Some([west.min(x), south.min(y), east.max(x), north.max(y)])
    })
}

/// Places of an image, given as parts of its width and height, in its own system.
pub(super) fn image_points(image: &SourceImage, places: &[(f64, f64)]) -> Result<Vec<(f64, f64)>, WarpError> {
    let (width, height) = (image.size.0 as f64, image.size.1 as f64);
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = places.iter().map(|(u, v)| (u * width, v * height)).unzip();
    image.placer()?.to_coordinates(&mut x, &mut y);
    Ok(x.into_iter().zip(y).collect())
}

/// Once around the unit square.
fn edge() -> Vec<(f64, f64)> {
    let along = || (0..STEPS).map(|step| step as f64 / STEPS as f64);
    let top = along().map(|t| (t, 0.0));
    let right = along().map(|t| (1.0, t));
    let bottom = along().map(|t| (1.0 - t, 1.0));
    let left = along().map(|t| (0.0, 1.0 - t));
    top.chain(right).chain(bottom).chain(left).chain([(0.0, 0.0)]).collect()
}

/// Evenly over the unit square.
pub(super) fn interior() -> Vec<(f64, f64)> {
    let at = |step: usize| step as f64 / INSIDE as f64;
    (0..=INSIDE).flat_map(|row| (0..=INSIDE).map(move |col| (at(col), at(row)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::warp::SourceOptions;
    use crate::raster::{Grid, Placement};

    fn footprint(code: &str, geotransform: [f64; 6], (width, height): (u64, u64), target: &str) -> Footprint {
        let grid = Grid { crs: Some(crs::parse(code).unwrap()), geotransform, width, height };
        let image = SourceImage::new(&grid, &Placement::Affine, &SourceOptions::default()).unwrap();
        Footprint::of(&image, &crs::parse(target).unwrap()).unwrap()
    }

    fn assert_near(bounds: [f64; 4], expected: [f64; 4], tolerance: f64) {
        let is_near = bounds.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance);
        assert!(is_near, "{bounds:?}, expected {expected:?}");
    }

    #[test]
    fn an_image_around_the_pole_reaches_it_at_every_longitude() {
        // The corners of a polar stereographic square of ±1000 km lie 1414 km from the pole, near 77° north.
        let square = [-1e6, 1e4, 0.0, 1e6, 0.0, -1e4];
        let found = footprint("EPSG:3995", square, (200, 200), "EPSG:4326");
        assert_near(found.bounds, [-180.0, 77.0, 180.0, 90.0], 0.1);
        assert_eq!(found.crossing, Crossing::None);
    }

    /// A whole turn of 2π × 6378137 m, and the pole at its end.
    #[test]
    fn an_image_around_the_pole_reaches_both_ends_of_mercator() {
        let square = [-1e6, 1e4, 0.0, 1e6, 0.0, -1e4];
        let half = std::f64::consts::PI * 6_378_137.0;
        let found = footprint("EPSG:3995", square, (200, 200), "EPSG:3857");
        assert_near([found.bounds[0], 0.0, found.bounds[2], 0.0], [-half, 0.0, half, 0.0], 300.0);
    }

    #[test]
    fn a_narrow_image_across_the_seam_is_torn_and_one_around_the_pole_is_not() {
        let zone_60 = [5e5, 1e4, 0.0, 1e5, 0.0, -1e4];
        let crossing = |code, transform, size| footprint(code, transform, size, "EPSG:3857").crossing;
        assert_eq!(crossing("EPSG:32660", zone_60, (50, 10)), Crossing::Torn);
        assert_eq!(crossing("EPSG:32660", zone_60, (20, 10)), Crossing::None, "it ends before 180°");
        let around = [-1e6, 1e4, 0.0, 1e6, 0.0, -1e4];
        assert_eq!(crossing("EPSG:3995", around, (200, 200)), Crossing::None);
    }

    #[test]
    fn an_image_across_the_antimeridian_stays_narrow() {
        // Zone 60 is centred on 177° east; 500 km east of it at the equator is 4.49° further.
        let found = footprint("EPSG:32660", [5e5, 1e4, 0.0, 1e5, 0.0, -1e4], (50, 10), "EPSG:4326");
        assert_near(found.bounds, [177.0, 0.0, 181.49, 0.905], 0.01);
        assert_eq!(found.crossing, Crossing::CountedOn);
    }

    /// A geostationary satellite above 140.7° east sees 81.3° of arc each way (acos(6378 / 42164)), less at the poles of
    /// the flattened Earth.
    #[test]
    fn a_full_disk_reaches_its_horizon() {
        let disk = "+proj=geos +h=35785831 +lon_0=140.7 +sweep=y +datum=WGS84";
        let found = footprint(disk, [-5.5e6, 1e4, 0.0, 5.5e6, 0.0, -1e4], (1100, 1100), "EPSG:4326");
        assert_near(found.bounds, [140.7 - 81.3, -81.1, 140.7 + 81.3, 81.1], 0.3);
        assert!(found.crossing == Crossing::CountedOn && found.has_horizon);
    }

    #[test]
    fn the_whole_earth_ends_where_mercator_does() {
        let found = footprint("EPSG:4326", [-180.0, 10.0, 0.0, 90.0, 0.0, -10.0], (36, 18), "EPSG:3857");
        let half = std::f64::consts::PI * 6_378_137.0;
        assert_near(found.bounds, [-half, -20_048_966.1, half, 20_048_966.1], 0.5);
        assert!(found.is_cut);
        let whole = footprint("EPSG:4326", [-180.0, 10.0, 0.0, 90.0, 0.0, -10.0], (36, 18), "EPSG:4326");
        assert_near(whole.bounds, [-180.0, -90.0, 180.0, 90.0], 1e-9);
    }
}
