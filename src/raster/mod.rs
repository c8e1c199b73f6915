//! Rasters: grids, typed bands with validity, and everything that GDAL does for us.
//!
//! This is the only module that names the `gdal` crates.

mod band;
mod data_type;
mod grid;
mod header;
mod member;
pub mod tiff;

pub use band::{Band, BandDescription, BandPixels, Pixel, Validity};
pub use data_type::DataType;
pub use grid::{Crs, Grid, Window};
pub use header::{BandHeader, FileBytes, Georeference, Header};
pub use member::{Member, Raster};
