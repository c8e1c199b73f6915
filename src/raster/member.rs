//! A raster as it flows between stages: a list of members, each with its own grid.

use std::sync::Arc;

use super::{Band, Grid, Window};

/// One source image: bands of one size on one grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The id of the item it came from; a group's members are reduced in the order of these.
    pub id: String,
    /// The grid of the whole image, which may be larger than what is held here.
    pub grid: Arc<Grid>,
    /// The part of the grid that the bands hold; their arrays have its height × width.
    pub window: Window,
    /// The bands, in the order of their declaration.
    pub bands: Vec<Band>,
    /// Metadata of the whole file, kept for `encode`: (domain or empty, key, value).
    pub tags: Arc<Vec<(String, String, String)>>,
}

impl Member {
    /// Bytes held by all bands.
    pub fn bytes(&self) -> u64 {
        self.bands.iter().map(Band::bytes).sum()
    }

    /// The part that lies in `wanted`, a window of the whole grid. Pixels are shared, masks are copied.
    ///
    /// # Errors
    /// A window that reaches beyond what is held.
    pub fn cut(self, wanted: Window) -> Result<Member, NotHeld> {
        let held = self.window;
        if wanted == held {
            return Ok(self);
        }
        let is_within = wanted.col >= held.col
            && wanted.row >= held.row
            && wanted.col + wanted.width <= held.col + held.width
            && wanted.row + wanted.height <= held.row + held.height;
        if !is_within {
            return Err(NotHeld { wanted, held });
        }
        let (row, col) = ((wanted.row - held.row) as usize, (wanted.col - held.col) as usize);
        let (rows, columns) = (row..row + wanted.height as usize, col..col + wanted.width as usize);
        let bands = self.bands.into_iter().map(|band| band.cut(rows.clone(), columns.clone())).collect();
        Ok(Member { window: wanted, bands, ..self })
    }
}

/// A window whose pixels are not at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} is wanted, {held} is there")]
pub struct NotHeld {
    /// The window.
    pub wanted: Window,
    /// What is at hand.
    pub held: Window,
}

/// What the `raster` port carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster {
    /// One member, except for groups.
    pub members: Vec<Member>,
}

impl Raster {
    /// Bytes held by all members.
    pub fn bytes(&self) -> u64 {
        self.members.iter().map(Member::bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, arr2};

    use super::*;
    use crate::raster::{BandDescription, BandPixels, Validity};

    fn window(col: u64, row: u64, width: u64, height: u64) -> Window {
        Window { col, row, width, height }
    }

    fn pixels(array: Array2<u8>) -> BandPixels {
        BandPixels::Uint8(array.into_shared())
    }

    #[test]
    fn a_window_of_a_window_keeps_its_place_in_the_grid() {
        let grid = Grid { crs: None, geotransform: [0.0, 1.0, 0.0, 0.0, 0.0, -1.0], width: 3, height: 3 };
        let band = Band {
            description: BandDescription::named("b"),
            pixels: pixels(arr2(&[[1, 2, 3], [4, 5, 6], [7, 8, 9]])),
            validity: Validity::Mask(Arc::new(arr2(&[[1, 1, 1], [1, 0, 1], [1, 1, 1]]))),
        };
        let (grid, window_of_all) = (Arc::new(grid), window(0, 0, 3, 3));
        let all =
            Member { id: "m".into(), grid, window: window_of_all, bands: vec![band], tags: Arc::default() };
        let lower = all.cut(window(0, 1, 3, 2)).unwrap();
        let corner = lower.cut(window(1, 1, 2, 1)).unwrap();
        assert_eq!(corner.bands[0].pixels, pixels(arr2(&[[5, 6]])));
        assert!(!corner.bands[0].validity.is_valid(0, 0) && corner.bands[0].validity.is_valid(0, 1));
        assert!(corner.cut(window(0, 1, 2, 1)).is_err());
    }
}
