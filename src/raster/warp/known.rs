//! Target grids that were worked out before: all windows of an image come onto the same one.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::{SourceImage, Target, WarpError};
use crate::raster::Grid;

/// How many are kept: a group's members count as one, and few items are under way at once.
const KEPT: usize = 32;

/// The latest grids of one target. GDAL takes up to a tenth of a second for one, and a window asks for it several times.
#[derive(Debug, Default)]
pub struct KnownGrids(Mutex<VecDeque<(Vec<SourceImage>, Grid)>>);

impl KnownGrids {
    /// The one grid for these images; at least one.
    ///
    /// # Errors
    /// Those of [`Target::grid`].
    pub fn of(&self, target: &Target, images: &[SourceImage]) -> Result<Grid, WarpError> {
        if let Some(grid) = self.find(images) {
            return Ok(grid);
        }
        let grid = target.grid(images)?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.truncate(KEPT - 1);
        known.push_front((images.to_vec(), grid.clone()));
        Ok(grid)
    }

    fn find(&self, images: &[SourceImage]) -> Option<Grid> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(of, _)| of == images).map(|(_, grid)| grid.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::warp::{FreeTarget, SourceOptions};
    use crate::raster::{Placement, crs};

    #[test]
    fn each_image_has_the_grid_of_its_own() {
        let image = |west: f64| {
            let crs = Some(crs::parse("EPSG:32632").unwrap());
            let grid = Grid { crs, geotransform: [west, 10.0, 0.0, 5e6, 0.0, -10.0], width: 30, height: 20 };
            SourceImage::new(&grid, &Placement::Affine, &SourceOptions::default()).unwrap()
        };
        let (known, target) = (KnownGrids::default(), Target::Free(FreeTarget::default()));
        for west in [5e5, 6e5, 5e5] {
            assert_eq!(known.of(&target, &[image(west)]).unwrap().geotransform[0], west);
        }
        assert_eq!(known.0.lock().unwrap().len(), 2);
    }
}
