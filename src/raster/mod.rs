//! Rasters: grids, typed bands with validity, and everything that GDAL does for us.
//!
//! This is the only module that names the `gdal` crates.

mod band;
mod band_test;
mod control_points;
pub mod crs;
mod data_type;
mod dilate;
mod ffi;
mod grid;
mod header;
mod member;
pub mod polygons;
pub mod reduce;
mod resampling;
pub mod statistics;
mod transformer;
mod values;
pub mod warp;

pub use band::{Band, BandDescription, BandPixels, Pixel, Validity};
pub use band_test::BandTest;
pub use control_points::{ControlPoint, ControlPoints, Placement};
pub use data_type::DataType;
pub use dilate::Selection;
pub use grid::{Crs, Grid, Window};
pub use header::{BandHeader, FileBytes, Georeference, Header};
pub use member::{Member, Raster};
pub use resampling::Resampling;
pub use transformer::{NoOperation, Transformer};
pub(crate) use values::with_pixel_type;
pub use values::{Encoding, Neighbour, nodata_of_type, row_order};
