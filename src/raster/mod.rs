//! Rasters: grids, typed bands with validity, and everything that GDAL does for us.
//!
//! This is the only module that names the `gdal` crates.

mod band;
mod control_points;
pub mod crs;
mod data_type;
mod ffi;
mod grid;
mod header;
mod member;
mod resampling;
mod tiling;
mod transformer;
pub mod warp;

pub use band::{Band, BandDescription, BandPixels, Pixel, Validity};
pub use control_points::{ControlPoint, ControlPoints, Placement};
pub use data_type::DataType;
pub use grid::{Crs, Grid, Window};
pub use header::{BandHeader, FileBytes, Georeference, Header};
pub use member::{Member, Raster};
pub use resampling::Resampling;
pub use tiling::{NamedGrid, Tile};
pub use transformer::{NoOperation, Transformer};
