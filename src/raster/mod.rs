//! Rasters: grids, typed bands with validity, and everything that GDAL does for us.
//!
//! This is the only module that names the `gdal` crates.

mod band;
mod band_test;
mod blocks;
mod control_points;
pub mod crs;
mod data_type;
mod dilate;
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
mod picture;
pub mod polygons;
pub mod ranges;
mod read;
pub mod reduce;
mod resample;
mod resampling;
#[cfg(test)]
pub(crate) mod sample;
pub mod statistics;
mod suspect;
#[cfg(test)]
mod tests;
pub mod tiff;
mod tiling;
mod transformer;
mod validity;
mod values;
pub mod warp;

pub(crate) use band::with_pixels;
pub use band::{Band, BandDescription, BandPixels, Pixel, Validity};
pub use band_test::BandTest;
pub use blocks::{BlockNeed, BlockRanges, Untiled, block_ranges};
pub use control_points::{ControlPoint, ControlPoints, Placement};
pub use data_type::DataType;
pub use dilate::Selection;
pub use error::{Answer, RasterError};
pub use grid::{Crs, Grid, Window};
pub use header::{BandHeader, FileBytes, Gaps, Georeference, Header};
pub use init::initialise;
pub use member::{Member, NotHeld, Raster};
pub use open::{Opened, Source};
pub use picture::{OwnStretch, PictureError, PictureFormat, PictureSettings, Stretch};
pub use read::ReadRequest;
pub use resample::{GridMap, Misaligned, coarser};
pub use resampling::Resampling;
pub use tiling::{NamedGrid, Tile};
pub use transformer::{NoOperation, Transformer};
pub(crate) use values::with_pixel_type;
pub use values::{Encoding, Neighbour, nodata_of_type, row_order};
