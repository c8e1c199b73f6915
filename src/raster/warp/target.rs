//! Which grid images are warped onto.

use super::footprint::{Crossing, Footprint, image_points, interior, to_system};
use super::{SourceImage, WarpError};
use crate::raster::{Crs, Grid, NamedGrid, crs, ffi};

/// How a target grid is chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// This grid.
    Fixed(Grid),
    /// The part of this grid that the images touch, or all of it where it has bounds.
    Named(NamedGrid),
    /// What the images need, within what is given.
    Free(FreeTarget),
}

/// A target of which some is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FreeTarget {
    /// The system; the images' own where not given.
    pub crs: Option<Crs>,
    /// Width and height of a pixel in units of the system.
    pub resolution: Option<(f64, f64)>,
    /// West, south, east, north in the system.
    pub bounds: Option<[f64; 4]>,
    /// Columns × rows.
    pub size: Option<(u64, u64)>,
    /// Whether a given resolution moves edges outward to its whole multiples.
    pub align: bool,
}

impl Target {
    /// The one grid for these images; at least one.
    ///
    /// # Errors
    /// Images in several systems without a system given, or without a place in the target's; a grid that is
    /// empty or larger than GDAL can count.
    pub fn grid(&self, images: &[SourceImage]) -> Result<Grid, WarpError> {
        let grid = match self {
            Target::Fixed(grid) => grid.clone(),
            Target::Named(named) => named_part(named, images)?,
            Target::Free(free) => free.grid(images)?,
        };
        let is_countable = |size: u64| (1..=i32::MAX as u64).contains(&size);
        if is_countable(grid.width) && is_countable(grid.height) {
            Ok(grid)
        } else {
            Err(WarpError::Size { width: grid.width, height: grid.height })
        }
    }
}

fn named_part(named: &NamedGrid, images: &[SourceImage]) -> Result<Grid, WarpError> {
    if let Some(whole) = named.whole() {
        return Ok(whole);
    }
    let footprints = images.iter().map(|image| Footprint::of(image, &named.crs));
    let footprints = footprints.collect::<Result<Vec<_>, _>>()?;
    if footprints.iter().any(|footprint| footprint.crossing == Crossing::Torn) {
        return Err(WarpError::Torn { crs: crs::describe(&named.crs) });
    }
    let extent = union(footprints.iter().map(|footprint| footprint.bounds));
    named.covering(extent).ok_or_else(|| WarpError::Nowhere { crs: crs::describe(&named.crs) })
}

impl FreeTarget {
    fn grid(&self, images: &[SourceImage]) -> Result<Grid, WarpError> {
        let crs = match &self.crs {
            Some(crs) => crs.clone(),
            None => common_crs(images)?,
        };
        match (self.bounds, self.size, self.resolution) {
            (Some(bounds), Some(size), _) => Ok(sized(crs, bounds, size)),
            (Some(bounds), None, Some(resolution)) => Ok(self.spaced(crs, bounds, resolution)),
            (bounds, size, resolution) => {
                let suggestion = Suggestion::for_all(images, &crs)?;
                if suggestion.is_torn && bounds.is_none() {
                    return Err(WarpError::Torn { crs: crs::describe(&crs) });
                }
                let extent = bounds.unwrap_or(suggestion.extent);
                Ok(match (size, resolution) {
                    (Some(size), _) => sized(crs, extent, size),
                    (None, Some(resolution)) => self.spaced(crs, extent, resolution),
                    (None, None) => filled(crs, extent, at_most(suggestion.resolution, extent)),
                })
            }
        }
    }

    fn spaced(&self, crs: Crs, bounds: [f64; 4], resolution: (f64, f64)) -> Grid {
        if !self.align {
            return filled(crs, bounds, resolution);
        }
        let aligned = NamedGrid::new(crs.clone(), resolution, Some(bounds), true, None);
        aligned.whole().unwrap_or_else(|| filled(crs, bounds, resolution))
    }
}

fn common_crs(images: &[SourceImage]) -> Result<Crs, WarpError> {
    let first = &images[0].crs;
    match images.iter().find(|image| !crs::is_same(&image.crs, first)) {
        None => Ok(first.clone()),
        Some(other) => {
            Err(WarpError::MixedCrs { one: crs::describe(first), other: crs::describe(&other.crs) })
        }
    }
}

/// Bounds cut into so many pixels.
fn sized(crs: Crs, [west, south, east, north]: [f64; 4], (width, height): (u64, u64)) -> Grid {
    let (x, y) = ((east - west) / width as f64, (north - south) / height as f64);
    Grid { crs: Some(crs), geotransform: [west, x, 0.0, north, 0.0, -y], width, height }
}

/// A size of pixels that is no larger than bounds are: an image narrower than a suggested pixel keeps its extent.
fn at_most((x, y): (f64, f64), [west, south, east, north]: [f64; 4]) -> (f64, f64) {
    (x.min(east - west), y.min(north - south))
}

/// As many pixels of a size as fill bounds from the upper left, to the nearest whole number, as `gdalwarp` counts, and one
/// at least.
fn filled(crs: Crs, [west, south, east, north]: [f64; 4], (x, y): (f64, f64)) -> Grid {
    let count = |length: f64, size: f64| match (length / size + 0.5).floor() as u64 {
        0 if length > 0.0 => 1,
        count => count,
    };
    let (width, height) = (count(east - west, x), count(north - south, y));
    Grid { crs: Some(crs), geotransform: [west, x, 0.0, north, 0.0, -y], width, height }
}

fn union(extents: impl IntoIterator<Item = [f64; 4]>) -> [f64; 4] {
    let larger = |a: [f64; 4], b: [f64; 4]| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])];
    extents.into_iter().reduce(larger).expect("a raster has a member")
}

/// Where an image would lie in a system, and how large its pixels would be.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Suggestion {
    extent: [f64; 4],
    resolution: (f64, f64),
    /// Whether an image lies at both ends of the system and nowhere between.
    is_torn: bool,
}

impl Suggestion {
    /// All extents, the finest resolution.
    fn for_all(images: &[SourceImage], crs: &Crs) -> Result<Self, WarpError> {
        let each = images.iter().map(|image| Self::of(image, crs)).collect::<Result<Vec<_>, _>>()?;
        let finest = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.min(b.1));
        Ok(Self {
            extent: union(each.iter().map(|one| one.extent)),
            resolution: each.iter().map(|one| one.resolution).reduce(finest).expect("a raster has a member"),
            is_torn: each.iter().any(|one| one.is_torn),
        })
    }

    /// GDAL's suggestion, except where it fails: at the poles of Mercator, across 180°, at horizons, for control points.
    fn of(image: &SourceImage, crs: &Crs) -> Result<Self, WarpError> {
        let footprint = Footprint::of(image, crs)?;
        let is_torn = footprint.crossing == Crossing::Torn;
        if footprint.is_cut || is_torn {
            return Ok(Self { extent: footprint.bounds, resolution: finest_pixel(image, crs)?, is_torn });
        }
        let gdal = match image.geotransform() {
            Some(geotransform) if footprint.crossing == Crossing::None && !footprint.has_horizon => {
                let reference = crs::spatial_reference(&image.crs);
                reference.and_then(|from| ffi::suggested_grid(image.size, geotransform, &from, crs.wkt()))
            }
            _ => None,
        };
        Ok(gdal.map_or_else(|| Self::by_diagonal(image, footprint.bounds), Self::from_gdal))
    }

    fn from_gdal(suggested: ffi::SuggestedGrid) -> Self {
        let g = suggested.geotransform;
        let (width, height) = (suggested.size.0 as f64, suggested.size.1 as f64);
        Self {
            extent: [g[0], g[3] + g[5] * height, g[0] + g[1] * width, g[3]],
            resolution: (g[1], -g[5]),
            is_torn: false,
        }
    }

    /// Square pixels, as many along the diagonal as the image has: GDAL's rule for the size of pixels.
    fn by_diagonal(image: &SourceImage, extent: [f64; 4]) -> Self {
        let diagonal = (extent[2] - extent[0]).hypot(extent[3] - extent[1]);
        let pixel = diagonal / (image.size.0 as f64).hypot(image.size.1 as f64);
        Self { extent, resolution: (pixel, pixel), is_torn: false }
    }
}

/// Square pixels as small as the smallest pixel of an image becomes.
fn finest_pixel(image: &SourceImage, crs: &Crs) -> Result<(f64, f64), WarpError> {
    // A hundredth of a pixel each way; longer steps would see the projection bend.
    let (across, down) = (0.005 / image.size.0 as f64, 0.005 / image.size.1 as f64);
    let mut smallest = f64::INFINITY;
    for (u, v) in interior() {
        let cross = [(u - across, v), (u + across, v), (u, v - down), (u, v + down)];
        let mut points = image_points(image, &cross)?;
        if to_system(&mut points, &image.crs, crs)? {
            continue;
        }
        let length =
            |a: usize, b: usize| (points[b].0 - points[a].0).hypot(points[b].1 - points[a].1) * 100.0;
        let pixel = length(0, 1).min(length(2, 3));
        if pixel > 0.0 {
            smallest = smallest.min(pixel);
        }
    }
    if smallest.is_finite() {
        Ok((smallest, smallest))
    } else {
        Err(WarpError::Nowhere { crs: crs::describe(crs) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::Placement;
    use crate::raster::warp::SourceOptions;

    fn image(code: &str, geotransform: [f64; 6], (width, height): (u64, u64)) -> SourceImage {
        let grid = Grid { crs: Some(crs::parse(code).unwrap()), geotransform, width, height };
        SourceImage::new(&grid, &Placement::Affine, &SourceOptions::default()).unwrap()
    }

    fn free(code: &str) -> FreeTarget {
        FreeTarget { crs: Some(crs::parse(code).unwrap()), align: true, ..FreeTarget::default() }
    }

    #[test]
    fn the_same_system_keeps_the_grid() {
        let upright = image("EPSG:32632", [5e5, 10.0, 0.0, 5e6, 0.0, -10.0], (30, 20));
        let grid = FreeTarget::default().grid(&[upright]).unwrap();
        assert_eq!(grid.geotransform, [5e5, 10.0, 0.0, 5e6, 0.0, -10.0]);
        assert_eq!((grid.width, grid.height), (30, 20));
    }

    #[test]
    fn the_whole_earth_in_mercator_keeps_its_columns() {
        let earth = image("EPSG:4326", [-180.0, 10.0, 0.0, 90.0, 0.0, -10.0], (36, 18));
        let grid = free("EPSG:3857").grid(&[earth]).unwrap();
        assert_eq!((grid.width, grid.height), (36, 36), "10° at the equator is a 36th of the circumference");
    }

    #[test]
    fn a_resolution_aligns_unless_told_otherwise() {
        let bounds = Some([500_005.0, 3_999_965.0, 500_035.0, 3_999_995.0]);
        let given = FreeTarget { bounds, resolution: Some((10.0, 10.0)), ..free("EPSG:32633") };
        let source = [image("EPSG:32633", [5e5, 10.0, 0.0, 4e6, 0.0, -10.0], (6, 6))];
        let aligned = given.grid(&source).unwrap();
        assert_eq!((aligned.geotransform[0], aligned.geotransform[3], aligned.width), (5e5, 4e6, 4));
        let loose = FreeTarget { align: false, ..given }.grid(&source).unwrap();
        assert_eq!((loose.geotransform[0], loose.geotransform[3], loose.width), (500_005.0, 3_999_995.0, 3));
    }

    /// 40 rows of 30 m × 1 column of 5 m: square pixels of its diagonal would be 30 m wide.
    #[test]
    fn an_image_narrower_than_a_pixel_keeps_its_column() {
        let strip = [image("EPSG:32633", [5e5, 5.0, 0.0, 4e6, 0.0, -30.0], (1, 40))];
        let grid = free("EPSG:3857").grid(&strip).unwrap();
        assert_eq!(grid.width, 1);
        let extent = Footprint::of(&strip[0], &crs::parse("EPSG:3857").unwrap()).unwrap().bounds;
        let middle = grid.geotransform[0] + grid.geotransform[1] / 2.0;
        assert!(extent[0] < middle && middle < extent[2], "{grid:?} {extent:?}");
        let coarse = FreeTarget { resolution: Some((100.0, 100.0)), align: false, ..free("EPSG:32633") };
        assert_eq!(coarse.grid(&strip).unwrap().width, 1);
    }

    /// Zone 60 ends at 180°, 334 km from its middle at the equator; 40 pixels of 10 km from there go on beyond.
    #[test]
    fn an_image_across_the_seam_of_mercator_needs_bounds() {
        let across = [image("EPSG:32660", [5e5, 1e4, 0.0, 1e5, 0.0, -1e4], (40, 10))];
        let torn = free("EPSG:3857").grid(&across).unwrap_err().to_string();
        assert!(torn.contains("both ends of `EPSG:3857`") && torn.contains("`bounds`"), "{torn}");
        let west_end = FreeTarget { bounds: Some([1.97e7, 0.0, 2.0e7, 1e5]), ..free("EPSG:3857") };
        let grid = west_end.grid(&across).unwrap();
        assert!((grid.width, grid.height) == (30, 10), "300 km × 100 km of some 10 km: {grid:?}");
    }

    #[test]
    fn members_share_one_grid_and_several_systems_need_one_named() {
        let west = image("EPSG:32633", [5e5, 10.0, 0.0, 4e6, 0.0, -10.0], (6, 6));
        let east = image("EPSG:32633", [500_100.0, 20.0, 0.0, 4e6, 0.0, -20.0], (6, 6));
        let grid = FreeTarget::default().grid(&[west.clone(), east]).unwrap();
        assert_eq!((grid.width, grid.height), (22, 12), "220 m × 120 m at the finer 10 m");
        let other = image("EPSG:32632", [5e5, 10.0, 0.0, 4e6, 0.0, -10.0], (6, 6));
        let mixed = FreeTarget::default().grid(&[west, other]).unwrap_err().to_string();
        assert!(mixed.contains("`EPSG:32633`") && mixed.contains("`EPSG:32632`"), "{mixed}");
    }
}
