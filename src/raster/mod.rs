//! Rasters: grids, typed bands with validity, and everything that GDAL does for us.
//!
//! This is the only module that names the `gdal` crates.

mod band;
mod blocks;
mod control_points;
mod data_type;
mod error;
mod ffi;
mod grid;
mod header;
mod init;
mod inspect;
mod member;
mod message;
pub mod nodata;
mod open;
pub mod ranges;
mod read;
mod resample;
mod resampling;
#[cfg(test)]
pub(crate) mod sample;
mod suspect;
#[cfg(test)]
mod tests;
mod validity;

pub use band::{Band, BandDescription, BandPixels, Pixel, Validity};
pub use blocks::{BlockNeed, BlockRanges, block_ranges};
pub use control_points::{ControlPoint, ControlPoints, Placement};
pub use data_type::DataType;
pub use error::{Answer, RasterError};
pub use grid::{Crs, Grid, Window};
pub use header::{BandHeader, FileBytes, Georeference, Header};
pub use init::initialise;
pub use member::{Member, Raster};
pub use open::{Opened, Source};
pub use read::ReadRequest;
pub use resample::{GridMap, Misaligned, coarser};
pub use resampling::Resampling;
