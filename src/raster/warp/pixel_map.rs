//! The exact way between target pixels and source pixels.

use super::WarpError;
use super::source::{Placer, SourceImage, apply, inverted};
use crate::raster::{Grid, Transformer};

/// Takes target pixels to source pixels and back, through both systems. It belongs to one thread.
pub struct PixelMap {
    target: [f64; 6],
    target_inverse: [f64; 6],
    to_source: Transformer,
    to_target: Transformer,
    placer: Placer,
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
        apply(&self.target_inverse, x, y);
    }
}
