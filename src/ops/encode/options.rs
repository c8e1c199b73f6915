//! The options of `encode`: their docs are its manual.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use super::picture::StretchOption;
use super::{Encode, Product};
use crate::config::{Fault, Span, Spanned, Value, codes, from_value};
use crate::raster::tiff::{Compression, Format, Overviews, Predictor, Reduction, Settings};

/// Encodes a raster of one member as the bytes of a file. All bands of a file have one type.
///
/// Kept are the georeference, band names, units, scale and offset, colour tables (of a single `uint8` or `uint16` band),
/// class names (as `CATEGORY_n` tags of the band), and tags of the file and of bands; not kept are statistics and what
/// describes another file's structure. Three `uint8` bands are marked as red, green and blue, and an alpha band as such.
///
/// Missing pixels are marked by one value in all bands. For floats that is the first declared nodata, else NaN; for
/// integers the nodata of the first band that may miss pixels. Integers without a nodata get an internal mask, and then
/// all bands have to miss the same pixels. A valid pixel that equals the value fails the item; no pixel is changed.
///
/// The bytes depend on the pixels and these options alone, not on windows, order, cores or memory.
///
/// `png` and `jpeg` make pictures of one band, or of three as red, green and blue; a band with a colour table becomes its
/// colours. They hold bytes and no georeference. A pixel is missing where one of the bands misses it: transparent in PNG,
/// refused in JPEG unless `background` gives it a colour.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::ops) struct EncodeOptions {
    /// The format: `cog`, a cloud-optimised GeoTIFF; `gtiff`, a plain tiled GeoTIFF; `png` or `jpeg`, a picture. Default
    /// `cog`.
    #[serde(default)]
    pub(super) format: FormatOption,
    /// How tiles are compressed: `deflate`, `zstd`, `lzw` or `none`. Default `deflate`, which every reader knows; `zstd` is
    /// several times as fast.
    pub(super) compress: Option<Spanned<Compress>>,
    /// How hard the codec tries: 1 (fast) to 12 for `deflate`, default 6; 1 to 22 for `zstd`, default 3; 1 to 9 for `png`,
    /// default 6. The others have no levels.
    #[schemars(range(min = 1, max = 22))]
    pub(super) level: Option<Spanned<u8>>,
    /// What is done to pixels so that they compress better: `horizontal` stores differences from the left neighbour,
    /// `floating-point` sorts the bytes of floats by significance. Default `auto`: `horizontal` for integers,
    /// `floating-point` for floats, `none` without compression.
    pub(super) predictor: Option<Spanned<Predictor>>,
    /// Rows and columns of a tile in pixels, a multiple of 16 from 16 to 4096. Default 512.
    #[schemars(range(min = 16, max = 4096), extend("multipleOf" = 16))]
    pub(super) blocksize: Option<Spanned<u32>>,
    /// How many overviews, each half as large as the one before: a number from 0 to 30, `none`, or `auto`: until one fits a
    /// tile. Default `auto` for `cog` and `none` for `gtiff`.
    pub(super) overviews: Option<Spanned<OverviewsOption>>,
    /// How 2×2 pixels become one pixel of an overview; missing pixels are left out. `average` rounds integers half away from
    /// zero and is refused for bands with a colour table or class names; `mode` takes the most frequent value, the first of
    /// equals; `nearest` the upper left pixel; `min` and `max` the smallest and the largest. Default `mode` for bands with
    /// a colour table or class names, `average` for all others; say `mode` or `nearest` for classes without names.
    pub(super) overview_resampling: Option<Spanned<Reduction>>,
    /// The names of the bands that are written, in this order. Default all.
    #[schemars(length(min = 1))]
    pub(super) bands: Option<Vec<Spanned<String>>>,
    /// Tags of the file, beside those that the raster carries: `{ TIFFTAG_COPYRIGHT = "…", station = "…" }`. Default none.
    #[serde(default)]
    tags: BTreeMap<String, String>,
    /// Below a `window` stage, and only there: whether the windows of an item become one file (`true`), or each a file of its
    /// own (`false`).
    pub(super) assemble: Option<Spanned<bool>>,
    /// How values become the bytes of a picture: `[low, high]`, the values that become 0 and 255; `min-max`, the smallest and
    /// the largest of each band; `percent`, the 2nd and the 98th percentile of each band. What lies outside is clamped.
    /// Default none, for bands that are `uint8` already.
    pub(super) stretch: Option<Spanned<StretchOption>>,
    /// The quality of a JPEG, 1 to 100. Default 85.
    #[schemars(range(min = 1, max = 100))]
    pub(super) quality: Option<Spanned<u8>>,
    /// The colour of missing pixels in a JPEG: red, green, blue, each from 0 to 255. Default none: a raster that misses pixels
    /// is refused.
    pub(super) background: Option<Spanned<[u8; 3]>>,
}

/// The formats that a raster is encoded in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FormatOption {
    /// A cloud-optimised GeoTIFF: directories first, overviews, tiles in order.
    #[default]
    Cog,
    /// A plain tiled GeoTIFF; no overviews unless asked for.
    Gtiff,
    /// A PNG picture: lossless, missing pixels are transparent.
    Png,
    /// A JPEG picture: small and lossy, without transparency.
    Jpeg,
}

/// How tiles are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Compress {
    /// zlib, understood by every reader.
    #[default]
    Deflate,
    /// Zstandard: faster than `deflate` at the same size.
    Zstd,
    /// LZW, for old readers.
    Lzw,
    /// Nothing.
    None,
}

/// Checks the options and compiles the op.
pub(super) fn compile(value: &Value) -> Result<Encode, Vec<Fault>> {
    let options: EncodeOptions = from_value(value)?;
    if let Some(format) = options.picture_format() {
        return options.into_picture(format, &value.span);
    }
    let mut faults = options.only_of_pictures();
    let mut keep = |fault: Fault| faults.push(fault);
    let compression = options.compression().map_err(&mut keep).ok();
    let block = options.block().map_err(&mut keep).ok();
    options.check_predictor().unwrap_or_else(&mut keep);
    options.check_bands(&value.span).unwrap_or_else(&mut keep);
    match (compression, block) {
        (Some(compression), Some(block)) if faults.is_empty() => Ok(options.into_op(compression, block)),
        _ => Err(faults),
    }
}

impl EncodeOptions {
    fn compression(&self) -> Result<Compression, Fault> {
        match self.compress() {
            Compress::Deflate => self.level(6, 12).map(Compression::Deflate),
            Compress::Zstd => self.level(3, 22).map(Compression::Zstd),
            Compress::Lzw => self.no_level("lzw", Compression::Lzw),
            Compress::None => self.no_level("none", Compression::None),
        }
    }

    fn compress(&self) -> Compress {
        self.compress.as_ref().map(|compress| compress.value).unwrap_or_default()
    }

    fn level(&self, default: u8, most: u8) -> Result<u8, Fault> {
        match &self.level {
            None => Ok(default),
            Some(level) if (1..=most).contains(&level.value) => Ok(level.value),
            Some(level) => {
                let message = format!("expected a level from 1 to {most}, found `{}`", level.value);
                Err(Fault::error(codes::OUT_OF_RANGE, level.span.clone(), message))
            }
        }
    }

    fn no_level(&self, name: &str, compression: Compression) -> Result<Compression, Fault> {
        let Some(level) = &self.level else { return Ok(compression) };
        let message = format!("compression `{name}` has no levels, found `{}`", level.value);
        Err(Fault::error(codes::WRONG_VALUE, level.span.clone(), message).help("remove `level`"))
    }

    fn block(&self) -> Result<usize, Fault> {
        match &self.blocksize {
            None => Ok(512),
            Some(size) if size.is_multiple_of(16) && (16..=4096).contains(&size.value) => {
                Ok(size.value as usize)
            }
            Some(size) => {
                let message = format!("expected a multiple of 16 from 16 to 4096, found `{}`", size.value);
                let nearest = (size.value / 16 * 16).clamp(16, 4096);
                let fault = Fault::error(codes::OUT_OF_RANGE, size.span.clone(), message);
                Err(fault.help(format!("write `blocksize = {nearest}`")))
            }
        }
    }

    fn check_predictor(&self) -> Result<(), Fault> {
        match (&self.predictor, self.compress()) {
            (Some(predictor), Compress::None)
                if !matches!(predictor.value, Predictor::Auto | Predictor::None) =>
            {
                let message = "readers ignore a predictor where nothing is compressed";
                let fault = Fault::error(codes::WRONG_VALUE, predictor.span.clone(), message);
                Err(fault.help("remove `predictor`, or choose a compression"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_bands(&self, options: &Span) -> Result<(), Fault> {
        match &self.bands {
            Some(bands) if bands.is_empty() => {
                let message = "expected at least one band";
                Err(Fault::error(codes::OUT_OF_RANGE, options.clone(), message)
                    .help("remove `bands` to write all"))
            }
            _ => Ok(()),
        }
    }

    fn into_op(self, compression: Compression, block: usize) -> Encode {
        let settings = Settings {
            format: if self.format == FormatOption::Gtiff { Format::Gtiff } else { Format::Cog },
            compression,
            predictor: self.predictor.map_or(Predictor::Auto, |predictor| predictor.value),
            block,
            overviews: self.overviews.map_or(Overviews::Auto, |option| option.value.0),
            reduction: self.overview_resampling.map(|reduction| reduction.value),
            tags: self.tags.into_iter().collect(),
        };
        let assemble = self.assemble.map(|assemble| assemble.value);
        Encode { product: Product::Tiff(settings), bands: self.bands, assemble }
    }
}

/// A number of overviews, `auto` or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OverviewsOption(Overviews);

/// More overviews than an image of 2^31 pixels a side can have.
const MOST_OVERVIEWS: u64 = 30;

impl<'de> Deserialize<'de> for OverviewsOption {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(OverviewsVisitor)
    }
}

struct OverviewsVisitor;

impl Visitor<'_> for OverviewsVisitor {
    type Value = OverviewsOption;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number of overviews from 0 to {MOST_OVERVIEWS}, `auto` or `none`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<OverviewsOption, E> {
        match text {
            "auto" => Ok(OverviewsOption(Overviews::Auto)),
            "none" => Ok(OverviewsOption(Overviews::Count(0))),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<OverviewsOption, E> {
        if count > MOST_OVERVIEWS {
            return Err(E::invalid_value(serde::de::Unexpected::Unsigned(count), &self));
        }
        Ok(OverviewsOption(Overviews::Count(count as u32)))
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<OverviewsOption, E> {
        match u64::try_from(count) {
            Ok(count) => self.visit_u64(count),
            Err(_) => Err(E::invalid_value(serde::de::Unexpected::Signed(count), &self)),
        }
    }
}

impl JsonSchema for OverviewsOption {
    fn schema_name() -> Cow<'static, str> {
        "Overviews".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": MOST_OVERVIEWS },
            { "type": "string", "enum": ["auto", "none"] },
        ] })
    }
}
