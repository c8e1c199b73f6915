//! Why a raster cannot become a TIFF.

use crate::raster::DataType;

/// Why a raster cannot become a TIFF.
#[derive(Debug, thiserror::Error)]
pub enum TiffError {
    /// The work was ended from outside.
    #[error("cancelled")]
    Cancelled,
    /// There is nothing to write.
    #[error("a TIFF needs at least one band and one pixel, found {bands} bands of {width}×{height}")]
    Empty {
        /// Bands.
        bands: usize,
        /// Columns.
        width: u64,
        /// Rows.
        height: u64,
    },
    /// TIFF readers count rows and columns in 31 bits.
    #[error("{width}×{height} pixels are more than a TIFF can hold, which is `2147483647` a side")]
    TooLarge {
        /// Columns.
        width: u64,
        /// Rows.
        height: u64,
    },
    /// One file has one type of pixel.
    #[error(
        "band `{first}` is `{first_type}` and band `{other}` is `{other_type}`, and all bands of a TIFF have one \
         type; bring them to one with `calc` and its `dtype`, or write them to files of their own"
    )]
    MixedTypes {
        /// The first band.
        first: String,
        /// Its type.
        first_type: DataType,
        /// The first band of another type.
        other: String,
        /// Its type.
        other_type: DataType,
    },
    /// The floating-point predictor reorders the bytes of floats.
    #[error(
        "predictor `floating-point` needs a float type, and the bands are `{0}`; use `horizontal` or `auto`"
    )]
    PredictorNeedsFloat(DataType),
    /// The mean of two classes is not a class.
    #[error(
        "band `{0}` has a colour table or class names, so its overviews cannot be made by `{1}`; \
         use `mode` or `nearest`"
    )]
    ClassesAveraged(String, &'static str),
    /// A valid pixel would be read as missing.
    #[error(
        "band `{band}` holds the valid value `{value}` at column {col}, row {row}, and `{value}` marks missing pixels \
         in the file; choose another `nodata` with `calc`"
    )]
    Collision {
        /// The band.
        band: String,
        /// The value.
        value: String,
        /// Its column in the whole image.
        col: u64,
        /// Its row in the whole image.
        row: u64,
    },
    /// A file has one mask for all bands.
    #[error(
        "bands `{first}` and `{other}` miss different pixels, the first at column {col}, row {row}, and state no \
         `nodata`; a TIFF has one mask for all bands, so give them a `nodata` with `calc`"
    )]
    MasksDiffer {
        /// The first band.
        first: String,
        /// The band that differs.
        other: String,
        /// The column in the whole image.
        col: u64,
        /// The row in the whole image.
        row: u64,
    },
    /// A pixel is missing although the header said that none would be.
    #[error("band `{band}` was to be valid everywhere, and the pixel at column {col}, row {row} is missing")]
    UnexpectedMissing {
        /// The band.
        band: String,
        /// The column in the whole image.
        col: u64,
        /// The row in the whole image.
        row: u64,
    },
    /// Windows did not come, and the file cannot say that pixels are missing.
    #[error(
        "{0} pixels were never delivered, and the bands state no `nodata` and no mask that could mark them"
    )]
    NeverDelivered(u64),
    /// A window does not belong to the image under assembly, or came twice.
    #[error("window {window} does not fit: {reason}")]
    BadWindow {
        /// The window.
        window: String,
        /// Why.
        reason: String,
    },
    /// GeoTIFF has no keys for this system.
    #[error("the coordinate reference system `{name}` cannot be written to a GeoTIFF: {reason}")]
    Crs {
        /// Its name, or the start of its text.
        name: String,
        /// What GDAL said.
        reason: String,
    },
    /// A codec refused its input.
    #[error("cannot compress: {0}")]
    Codec(String),
    /// The finished file contradicts itself.
    #[error("the finished file is damaged: {0}")]
    Damaged(String),
    /// Scratch disk.
    #[error("cannot use scratch disk: {0}")]
    Scratch(#[from] std::io::Error),
}
