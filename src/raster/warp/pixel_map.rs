//! The exact way between target pixels and source pixels.

use super::WarpError;
use super::source::{Placer, SourceImage, apply, inverted};
use crate::raster::{Grid, Transformer, crs};

/// Once around the Earth.
const TURN: f64 = 360.0;

/// Takes target pixels to source pixels and back, through both systems. It belongs to one thread.
pub struct PixelMap {
    target: [f64; 6],
    target_inverse: [f64; 6],
    to_source: Transformer,
    to_target: Transformer,
    placer: Placer,
    /// The western end of a target in longitudes, which may go on beyond 180°.
    west: Option<f64>,
}

impl PixelMap {
    /// The way between an image and a target grid.
    ///
    /// # Errors
    /// A target without CRS, systems with no way between them, grids that flatten the plane.
    pub fn new(source: &SourceImage, target: &Grid) -> Result<Self, WarpError> {
        let crs = target.crs.as_ref().ok_or(WarpError::NoTargetCrs)?;
        Ok(Self {
            target: target.geotransform,
            target_inverse: inverted(&target.geotransform).ok_or(WarpError::Flat)?,
            to_source: Transformer::between(crs, &source.crs)?,
            to_target: Transformer::between(&source.crs, crs)?,
            placer: source.placer()?,
            west: crs::is_geographic(crs).then(|| west(target)),
        })
    }

    /// Target (column, row) to source (column, row), in place; NaN where there is none.
    pub fn to_source(&self, x: &mut [f64], y: &mut [f64]) {
        apply(&self.target, x, y);
        self.to_source.columns(x, y);
        self.placer.to_pixels(x, y);
    }

    /// Source (column, row) to target (column, row), in place; NaN where there is none.
    pub fn to_target(&self, x: &mut [f64], y: &mut [f64]) {
        self.placer.to_coordinates(x, y);
        self.to_target.columns(x, y);
        if let Some(west) = self.west {
            for x in x.iter_mut() {
                *x += TURN * ((west - *x) / TURN).ceil();
            }
        }
        apply(&self.target_inverse, x, y);
    }
}

/// The smallest x of a grid.
fn west(grid: &Grid) -> f64 {
    let (width, height) = (grid.width as f64, grid.height as f64);
    let corners = [(0.0, 0.0), (width, 0.0), (0.0, height), (width, height)];
    corners.iter().map(|(col, row)| grid.to_crs(*col, *row).0).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::Placement;
    use crate::raster::warp::SourceOptions;

    fn grid(code: &str, geotransform: [f64; 6], (width, height): (u64, u64)) -> Grid {
        Grid { crs: Some(crs::parse(code).unwrap()), geotransform, width, height }
    }

    /// Zone 60 is centred on 177° east, zone 1 on 177° west.
    #[test]
    fn places_east_of_180_degrees_lie_on_a_target_that_goes_on_beyond() {
        let east = grid("EPSG:32601", [5e5, 1e4, 0.0, 5e4, 0.0, -1e4], (10, 10));
        let image = SourceImage::new(&east, &Placement::Affine, &SourceOptions::default()).unwrap();
        let target = grid("EPSG:4326", [170.0, 1.0, 0.0, 10.0, 0.0, -1.0], (20, 20));
        let map = PixelMap::new(&image, &target).unwrap();
        let (mut x, mut y) = (vec![0.0], vec![5.0]);
        map.to_target(&mut x, &mut y);
        assert!((x[0] - 13.0).abs() < 1e-6 && (y[0] - 10.0).abs() < 1e-6, "183° is column 13: {x:?} {y:?}");
        map.to_source(&mut x, &mut y);
        assert!(x[0].abs() < 1e-6 && (y[0] - 5.0).abs() < 1e-6, "{x:?} {y:?}");
    }
}
