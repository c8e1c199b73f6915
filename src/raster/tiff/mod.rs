//! Writes cloud-optimised and plain tiled GeoTIFF, whole or from windows that come in any order.
//!
//! A level is cut into square tiles; a tile is one [`Block`] of typed pixels. Overviews are reduced 2×2 from complete
//! tiles only, and a tile's bytes depend on nothing but its pixels, so a file is the same however its pixels came.
//!
//! Formats: TIFF 6.0, BigTIFF, GeoTIFF 1.1 (OGC 19-008), GDAL's `GDAL_METADATA` and `GDAL_NODATA` tags, and the
//! structural metadata that GDAL's COG driver writes before the first directory.

mod assembly;
mod block;
mod check;
mod codec;
mod directory;
mod error;
mod form;
mod geo;
mod ghost;
mod layout;
mod load;
mod metadata;
mod missing;
mod ordered;
mod places;
mod reduce;
mod sample;
mod settings;
mod size;
mod spool;
mod tile;
mod whole;

#[cfg(test)]
mod tests;

use block::{Block, Part};

pub use assembly::{TileAssembly, assembly};
pub use error::TiffError;
pub use form::{Form, FormBand};
pub use settings::{Compression, Format, Overviews, Predictor, Reduction, Settings};
pub use size::{
    Extent, encoded_bound, helpers_for, spool_estimate, thread_bytes, window_working_bytes, working_bytes,
};
pub use whole::{Helper, Helpers, encode};
