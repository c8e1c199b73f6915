//! The options of `encode` that are about pictures.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use super::options::{EncodeOptions, FormatOption};
use super::{Encode, Product};
use crate::config::{Fault, Span, Spanned, codes};
use crate::ops::codes::CONFLICT;
use crate::raster::{OwnStretch, PictureFormat, PictureSettings, Stretch};

const LEVEL: u8 = 6;
const QUALITY: u8 = 85;

impl EncodeOptions {
    /// The form of the picture that is asked for, its figures not yet checked; `None` for a TIFF.
    pub(super) fn picture_format(&self) -> Option<PictureFormat> {
        match self.format {
            FormatOption::Cog | FormatOption::Gtiff => None,
            FormatOption::Png => Some(PictureFormat::Png(value_or(self.level.as_ref(), LEVEL))),
            FormatOption::Jpeg => Some(PictureFormat::Jpeg(value_or(self.quality.as_ref(), QUALITY))),
        }
    }

    /// Faults of options that only pictures have, where a TIFF is asked for.
    pub(super) fn only_of_pictures(&self) -> Vec<Fault> {
        let given = [
            self.stretch.as_ref().map(|given| ("stretch", &given.span)),
            self.quality.as_ref().map(|given| ("quality", &given.span)),
            self.background.as_ref().map(|given| ("background", &given.span)),
        ];
        let fault = |(key, span)| misplaced(key, span, "a picture", "`format` is `png` or `jpeg`");
        given.into_iter().flatten().map(fault).collect()
    }

    /// The op that makes a picture.
    pub(super) fn into_picture(self, format: PictureFormat, options: &Span) -> Result<Encode, Vec<Fault>> {
        let mut faults = self.only_of_tiffs();
        faults.extend(self.only_of_the_other());
        faults.extend(self.out_of_range());
        faults.extend(self.check_bands(options).err());
        if !faults.is_empty() {
            return Err(faults);
        }
        let settings = PictureSettings {
            format,
            stretch: self.stretch.as_ref().map_or(Stretch::None, |stretch| stretch.value.0),
            background: self.background.as_ref().map(|colour| colour.value),
        };
        Ok(Encode { product: Product::Picture(settings), bands: self.bands, assemble: None })
    }

    fn only_of_tiffs(&self) -> Vec<Fault> {
        let given = [
            self.compress.as_ref().map(|given| ("compress", &given.span)),
            self.predictor.as_ref().map(|given| ("predictor", &given.span)),
            self.blocksize.as_ref().map(|given| ("blocksize", &given.span)),
            self.overviews.as_ref().map(|given| ("overviews", &given.span)),
            self.overview_resampling.as_ref().map(|given| ("overview-resampling", &given.span)),
            self.assemble.as_ref().map(|given| ("assemble", &given.span)),
        ];
        let fault = |(key, span)| misplaced(key, span, "a TIFF", "`format` is `cog` or `gtiff`");
        given.into_iter().flatten().map(fault).collect()
    }

    fn only_of_the_other(&self) -> Vec<Fault> {
        let png = |key, span| misplaced(key, span, "a JPEG", "`format` is `jpeg`");
        let given = match self.format {
            FormatOption::Png => [
                self.quality.as_ref().map(|given| png("quality", &given.span)),
                self.background.as_ref().map(|given| png("background", &given.span)),
            ],
            _ => [
                self.level
                    .as_ref()
                    .map(|given| misplaced("level", &given.span, "a PNG", "`format` is `png`")),
                None,
            ],
        };
        given.into_iter().flatten().collect()
    }

    fn out_of_range(&self) -> Vec<Fault> {
        let outside = |key: &str, given: &Spanned<u8>, most: u8| {
            let message = format!("expected a {key} from 1 to {most}, found `{}`", given.value);
            let is_outside = !(1..=most).contains(&given.value);
            is_outside.then(|| Fault::error(codes::OUT_OF_RANGE, given.span.clone(), message))
        };
        let level = self.level.as_ref().and_then(|level| outside("level", level, 9));
        let quality = self.quality.as_ref().and_then(|quality| outside("quality", quality, 100));
        level.into_iter().chain(quality).collect()
    }
}

fn value_or(given: Option<&Spanned<u8>>, default: u8) -> u8 {
    given.map_or(default, |given| given.value)
}

fn misplaced(key: &str, span: &Span, of: &str, when: &str) -> Fault {
    let fault = Fault::error(CONFLICT, span.clone(), format!("`{key}` is an option of {of}"));
    fault.help(format!("remove it; it counts where {when}"))
}

/// Two values, or a rule by which each band finds its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StretchOption(Stretch);

impl<'de> Deserialize<'de> for StretchOption {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StretchVisitor)
    }
}

struct StretchVisitor;

impl<'de> Visitor<'de> for StretchVisitor {
    type Value = StretchOption;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("two rising numbers like `[0, 3000]`, `min-max` or `percent`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<StretchOption, E> {
        match text {
            "min-max" => Ok(StretchOption(Stretch::Own(OwnStretch::MinMax))),
            "percent" => Ok(StretchOption(Stretch::Own(OwnStretch::Percent))),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, ends: A) -> Result<StretchOption, A::Error> {
        let ends = Vec::<f64>::deserialize(SeqAccessDeserializer::new(ends))?;
        match ends.as_slice() {
            [low, high] if low < high => Ok(StretchOption(Stretch::Range(*low, *high))),
            _ => Err(A::Error::invalid_value(serde::de::Unexpected::Seq, &self)),
        }
    }
}

impl JsonSchema for StretchOption {
    fn schema_name() -> Cow<'static, str> {
        "Stretch".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 },
            { "type": "string", "enum": ["min-max", "percent"] },
        ] })
    }
}
