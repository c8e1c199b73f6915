//! The options of `read`, as a pipeline writes them.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::config::Entries;
use crate::ops::number::Number;
use crate::raster::Resampling;

/// Decodes bands of files into typed arrays with a validity mask: nodata of each band, alpha, masks and NaN.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ReadOptions {
    /// The bands, in the order in which later stages see them: a name for each, and where it comes from. That is a
    /// band's number counted from 1, for items of one file; the name of an asset of one band; or a table with
    /// `asset`, `band` and `resampling`. The default is all bands of all assets, under the names that the file gives
    /// them or else `band1`, `band2` and so on, after the asset's name where there are several assets.
    #[schemars(extend("minProperties" = 1))]
    pub(super) bands: Option<Entries<BandSource>>,
    /// The asset whose grid counts; bands of other assets are resampled onto it. They must be in the same
    /// coordinate reference system. The default is the asset of the first band.
    pub(super) grid: Option<String>,
    /// Whether stored values are turned into values of their unit (stored × scale + offset), and who states scale
    /// and offset. Scaled bands become float32, or float64 when 32 bits do not hold the stored type. The default is
    /// `none`.
    pub(super) scaling: Scaling,
    /// The stored value that marks missing pixels, for files that do not state one; it takes the place of one that
    /// they state. A number, or a text: `"nan"`, or an integer beyond the range of TOML such as
    /// `"18446744073709551615"`. The default is the file's own.
    pub(super) nodata: Option<Number>,
    /// The largest number of columns or rows, at least 1. Larger files are reduced to it, from their overviews where
    /// they have any, by the `resampling` of each band. The default is the size of the file.
    #[schemars(range(min = 1))]
    pub(super) max_size: Option<u64>,
}

/// Who states scale and offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Scaling {
    /// Nobody: values are as stored, and scale and offset stay with the band.
    #[default]
    None,
    /// The file.
    File,
    /// The catalogue (`raster:bands`, `bands`), or the file where the catalogue states none.
    Stac,
}

/// Where a band comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum BandSource {
    /// The band of this number of the item's only file, counted from 1.
    Number(u64),
    /// The only band of this asset.
    Asset(String),
    /// All said.
    Table(BandTable),
}

/// A band of an asset, and how it comes onto the grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BandTable {
    /// The asset. The default is the item's only one.
    pub(super) asset: Option<String>,
    /// The band's number in the asset, counted from 1. The default is the asset's only band.
    #[schemars(range(min = 1))]
    pub(super) band: Option<u64>,
    /// How pixels come onto a grid of another resolution. The default is `nearest`.
    pub(super) resampling: Resampling,
}

impl From<&BandSource> for BandTable {
    fn from(source: &BandSource) -> Self {
        match source {
            BandSource::Number(band) => Self { band: Some(*band), ..Self::default() },
            BandSource::Asset(asset) => Self { asset: Some(asset.clone()), ..Self::default() },
            BandSource::Table(table) => table.clone(),
        }
    }
}

impl<'de> Deserialize<'de> for BandSource {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AnyForm;
        impl<'de> Visitor<'de> for AnyForm {
            type Value = BandSource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a band number from 1, the name of an asset, or `{ asset, band, resampling }`")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<BandSource, E> {
                Ok(BandSource::Number(number))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<BandSource, E> {
                u64::try_from(number)
                    .map(BandSource::Number)
                    .map_err(|_| E::custom(format!("band numbers count from 1, found `{number}`")))
            }

            fn visit_str<E: Error>(self, asset: &str) -> Result<BandSource, E> {
                Ok(BandSource::Asset(asset.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<BandSource, A::Error> {
                BandTable::deserialize(MapAccessDeserializer::new(map)).map(BandSource::Table)
            }
        }
        from.deserialize_any(AnyForm)
    }
}

impl JsonSchema for BandSource {
    fn schema_name() -> Cow<'static, str> {
        "BandSource".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Where a band comes from: its number in the item's only file, counted from 1; the name of \
                            an asset of one band; or a table with `asset`, `band` and `resampling`.",
            "anyOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "string", "minLength": 1 },
                generator.subschema_for::<BandTable>(),
            ],
        })
    }
}
