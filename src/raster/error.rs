//! What can go wrong with a raster file.

use std::ops::Range;

/// Why a raster file could not be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum RasterError {
    /// It is no raster that opens here; `cause` says what it looks like.
    #[error("`{file}` is not a raster that can be read: {cause}")]
    NotARaster {
        /// The file.
        file: String,
        /// What it looks like, or what GDAL said.
        cause: String,
    },
    /// The system refused the file.
    #[error("`{file}` cannot be opened: {source}")]
    Unreachable {
        /// The file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Its header or pixels are damaged.
    #[error("`{file}` cannot be read: {cause}")]
    Damaged {
        /// The file.
        file: String,
        /// What GDAL said.
        cause: String,
    },
    /// It has no band of this number.
    #[error("`{file}` has no band {band}; it has {count}")]
    NoBand {
        /// The file.
        file: String,
        /// What was asked for, counted from 1.
        band: usize,
        /// How many there are.
        count: usize,
    },
    /// It has no overview of this number.
    #[error("`{file}` has no overview {overview} of band {band}")]
    NoOverview {
        /// The file.
        file: String,
        /// The band, counted from 1.
        band: usize,
        /// What was asked for, counted from 0.
        overview: usize,
    },
    /// A window reaches beyond the raster.
    #[error("the window {window} reaches beyond the {width}×{height} pixels of `{file}`")]
    Beyond {
        /// The file.
        file: String,
        /// The window.
        window: super::Window,
        /// Columns there are.
        width: u64,
        /// Rows there are.
        height: u64,
    },
    /// Its pixels are of a type that is not read.
    #[error(
        "`{file}`, band {band}: complex data type `{data_type}` is not supported; write its real part or its modulus to a file first"
    )]
    Complex {
        /// The file.
        file: String,
        /// The band, counted from 1.
        band: usize,
        /// GDAL's name of the type.
        data_type: String,
    },
    /// A nodata value that was given for the file cannot be a pixel.
    #[error("nodata `{nodata}` is not representable in `{data_type}`, the type of band {band} of `{file}`")]
    Nodata {
        /// The file.
        file: String,
        /// The band, counted from 1.
        band: usize,
        /// What was given.
        nodata: String,
        /// The band's type.
        data_type: super::DataType,
    },
    /// Bytes that are needed are not at hand.
    #[error("`{file}` needs bytes that were not fetched: {}", super::ranges::text(ranges))]
    Missing {
        /// The file.
        file: String,
        /// The bytes.
        ranges: Vec<Range<u64>>,
    },
    /// The work was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// An answer from a part of a file: known, or these bytes are needed first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// What was asked.
    Known(T),
    /// Bytes to fetch before asking again; there may be more after those.
    Missing(Vec<Range<u64>>),
}
