//! What a user may choose about a TIFF.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the file is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A cloud-optimised GeoTIFF: directories first, overviews, tiles in order.
    #[default]
    Cog,
    /// A plain tiled GeoTIFF; no overviews unless asked for.
    Gtiff,
}

/// How tiles are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// zlib streams (`COMPRESSION_ADOBE_DEFLATE`) at a level of 1 to 12.
    Deflate(u8),
    /// Zstandard frames at a level of 1 to 22.
    Zstd(u8),
    /// LZW as TIFF 6.0 has it.
    Lzw,
    /// Not at all.
    None,
}

/// What is done to pixels so that they compress better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Predictor {
    /// `horizontal` for integers, `floating-point` for floats, `none` without compression.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// Each pixel is stored as its difference from the one to its left.
    Horizontal,
    /// The bytes of floats are stored by significance, as differences.
    FloatingPoint,
}

/// How many overviews a file gets; each halves the one before, rounding up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overviews {
    /// Until one is no larger than a tile.
    Auto,
    /// So many, or as many as there are until one pixel is left.
    Count(u32),
}

/// How 2×2 pixels become one pixel of an overview; missing pixels are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// The upper left one, missing or not.
    Nearest,
    /// The mean; integers are rounded half away from zero.
    Average,
    /// The most frequent value, the first of equals in reading order.
    Mode,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

impl Reduction {
    /// The name as a pipeline writes it.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Nearest => "nearest",
            Reduction::Average => "average",
            Reduction::Mode => "mode",
            Reduction::Min => "min",
            Reduction::Max => "max",
        }
    }
}

/// Everything that a user may choose about a TIFF.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How the file is laid out.
    pub format: Format,
    /// How tiles are compressed.
    pub compression: Compression,
    /// What is done to pixels before.
    pub predictor: Predictor,
    /// Rows and columns of a tile, a multiple of 16.
    pub block: usize,
    /// How many overviews.
    pub overviews: Overviews,
    /// How overviews are made; `None` for `mode` where a band has classes and `average` elsewhere.
    pub reduction: Option<Reduction>,
    /// Metadata of the whole file, beside what the raster carries.
    pub tags: Vec<(String, String)>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            format: Format::Cog,
            compression: Compression::Deflate(6),
            predictor: Predictor::Auto,
            block: 512,
            overviews: Overviews::Auto,
            reduction: None,
            tags: Vec::new(),
        }
    }
}
