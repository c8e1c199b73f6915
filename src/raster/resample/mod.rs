//! Resamples between grids of one system whose pixel edges are parallel: bands of several resolutions, overviews.
//!
//! Target pixels see the source in its own pixel coordinates, so that any window comes out as the same pixels.

mod axis;
mod kernel;

use std::sync::Arc;

use axis::{Axis, Taps};
use ndarray::{ArcArray2, Array2};

use super::{Band, Crs, Grid, Pixel, Resampling, Validity, Window, crs};
use crate::raster::with_pixels;

/// Two grids whose pixels do not line up by rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misaligned {
    /// Their coordinates mean different things.
    #[error("the grids are in different coordinate reference systems")]
    Systems,
    /// Their rows are not parallel, or one of them has no area.
    #[error("the grids are rotated against each other")]
    Rotated,
}

/// How the pixels of a target grid lie on a source grid of the same system.
#[derive(Clone, Debug, PartialEq)]
pub struct GridMap {
    columns: Axis,
    rows: Axis,
    is_identity: bool,
}

impl GridMap {
    /// Measures how `target` lies on `source`.
    ///
    /// # Errors
    /// Grids in two systems, rotated against each other, or flat.
    pub fn between(source: &Grid, target: &Grid) -> Result<GridMap, Misaligned> {
        if !is_one_system(source.crs.as_ref(), target.crs.as_ref()) {
            return Err(Misaligned::Systems);
        }
        let [s, t] = [&source.geotransform, &target.geotransform];
        let determinant = s[1] * s[5] - s[2] * s[4];
        if determinant == 0.0 || !determinant.is_finite() {
            return Err(Misaligned::Rotated);
        }
        let to_source =
            |x: f64, y: f64| ((s[5] * x - s[2] * y) / determinant, (s[1] * y - s[4] * x) / determinant);
        let (across, drift_down) = to_source(t[1], t[4]);
        let (drift_across, down) = to_source(t[2], t[5]);
        let (col, row) = to_source(t[0] - s[0], t[3] - s[3]);
        let drifts = drift_down.abs() * target.width as f64 > axis::SLACK
            || drift_across.abs() * target.height as f64 > axis::SLACK;
        if drifts || across == 0.0 || down == 0.0 {
            return Err(Misaligned::Rotated);
        }
        let columns = Axis::new(across, col, source.width, target.width);
        let rows = Axis::new(down, row, source.height, target.height);
        let is_same_size = (source.width, source.height) == (target.width, target.height);
        Ok(GridMap {
            columns,
            rows,
            is_identity: is_same_size && columns.is_identity() && rows.is_identity(),
        })
    }

    /// How many source pixels a target pixel is wide and high.
    pub fn scale(&self) -> (f64, f64) {
        (self.columns.scale(), self.rows.scale())
    }

    /// Whether both grids have the same pixels.
    pub fn is_identity(&self) -> bool {
        self.is_identity
    }

    /// The part of the source that a window of the target needs; of no size where the source does not reach it.
    pub fn source_window(&self, target: &Window, resampling: Resampling) -> Window {
        let (col, width) = self.columns.needed(target.col, target.width, resampling);
        let (row, height) = self.rows.needed(target.row, target.height, resampling);
        if width == 0 || height == 0 {
            return Window { col: 0, row: 0, width: 0, height: 0 };
        }
        Window { col, row, width, height }
    }

    /// The band on a window of the target, from the part of the source that `source_window` names and `held` has.
    ///
    /// Interpolation weighs valid pixels alone, and gives nothing where the pixel beneath is invalid; reductions of
    /// an area take its valid pixels. Beyond the source nothing is valid.
    pub fn resample(&self, band: &Band, held: &Window, target: &Window, resampling: Resampling) -> Band {
        let columns = self.columns.taps(target.col, target.width, resampling, held.col);
        let rows = self.rows.taps(target.row, target.height, resampling, held.row);
        let mask = match &band.validity {
            Validity::All => None,
            Validity::Mask(mask) => Some(mask.as_ref()),
        };
        let (pixels, valid) = with_pixels!(&band.pixels, array => {
            let (pixels, valid) = typed(array, mask, (&columns, &rows), resampling);
            (Pixel::wrap(pixels), valid)
        });
        let validity = if valid.iter().all(|valid| *valid != 0) {
            Validity::All
        } else {
            Validity::Mask(Arc::new(valid))
        };
        Band { description: band.description.clone(), pixels, validity }
    }
}

/// The grid of the same area with other counts of columns and rows: that of an overview.
pub fn coarser(grid: &Grid, (width, height): (u64, u64)) -> Grid {
    let (across, down) = (grid.width as f64 / width as f64, grid.height as f64 / height as f64);
    let g = &grid.geotransform;
    Grid {
        crs: grid.crs.clone(),
        geotransform: [g[0], g[1] * across, g[2] * down, g[3], g[4] * across, g[5] * down],
        width,
        height,
    }
}

fn is_one_system(one: Option<&Crs>, other: Option<&Crs>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => crs::is_same(one, other),
        (one, other) => one == other,
    }
}

fn typed<T: Pixel>(
    source: &ArcArray2<T>,
    mask: Option<&Array2<u8>>,
    (columns, rows): (&[Taps], &[Taps]),
    resampling: Resampling,
) -> (ArcArray2<T>, Array2<u8>) {
    let mut pixels = Array2::from_elem((rows.len(), columns.len()), T::default());
    let mut valid = Array2::zeros((rows.len(), columns.len()));
    let mut reduction = kernel::Reduction::new(&source.view(), mask, resampling);
    for (row, down) in rows.iter().enumerate() {
        for (col, across) in columns.iter().enumerate() {
            if let Some(value) = reduction.value(across, down) {
                pixels[(row, col)] = value;
                valid[(row, col)] = 1;
            }
        }
    }
    (pixels.into_shared(), valid)
}

#[cfg(test)]
mod tests;
