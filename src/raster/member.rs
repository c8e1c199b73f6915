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
