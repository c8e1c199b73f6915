//! `[grids]`

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use crate::config::{Entries, Spanned};

/// The named grids.
#[derive(Clone, Debug, Default)]
pub struct Grids(pub Vec<(Spanned<String>, GridDefinition)>);

impl Grids {
    /// The grid of this name.
    pub fn get(&self, name: &str) -> Option<&GridDefinition> {
        self.0.iter().find(|(grid, _)| grid.value == name).map(|(_, definition)| definition)
    }

    /// The names, in declaration order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl<'de> Deserialize<'de> for Grids {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Entries::deserialize(from).map(|entries| Self(entries.0))
    }
}

/// `[grids.name]`: a pixel grid that stages name.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct GridDefinition {
    /// The coordinate reference system: an authority code like `"EPSG:32632"`, WKT or a PROJ string.
    #[schemars(with = "String", example = "EPSG:32632")]
    pub crs: Spanned<String>,
    /// The size of a pixel in units of the CRS, above 0: one number, or `[x, y]`.
    #[serde(deserialize_with = "resolution")]
    #[schemars(with = "Resolution")]
    pub resolution: Spanned<(f64, f64)>,
    /// The extent in the CRS: `[west, south, east, north]`. Without it the grid has no end.
    #[schemars(with = "Option<[f64; 4]>")]
    pub bounds: Option<Spanned<[f64; 4]>>,
    /// The edge of a tile in pixels, 1 or more, for stages that work tile by tile.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub tile: Option<Spanned<u64>>,
    /// Whether pixel edges lie on whole multiples of the resolution; default `true`.
    #[serde(default = "aligned")]
    pub align: bool,
}

fn aligned() -> bool {
    true
}

/// What a resolution is called in messages and in the schema.
const RESOLUTION: &str = "a number above 0, or `[x, y]`";

fn resolution<'de, D: Deserializer<'de>>(from: D) -> Result<Spanned<(f64, f64)>, D::Error> {
    Spanned::<Resolution>::deserialize(from).map(|found| found.map(|Resolution(x, y)| (x, y)))
}

/// The size of a pixel, both sides above 0: one number, or `[x, y]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution(pub f64, pub f64);

impl<'de> Deserialize<'de> for Resolution {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let found = from.deserialize_any(ResolutionVisitor)?;
        let is_positive = |size: f64| size.is_finite() && size > 0.0;
        if is_positive(found.0) && is_positive(found.1) {
            Ok(found)
        } else {
            Err(D::Error::custom(format!("expected {RESOLUTION}, found {} and {}", found.0, found.1)))
        }
    }
}

struct ResolutionVisitor;

impl<'de> Visitor<'de> for ResolutionVisitor {
    type Value = Resolution;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RESOLUTION)
    }

    fn visit_i64<E: Error>(self, size: i64) -> Result<Resolution, E> {
        self.visit_f64(size as f64)
    }

    fn visit_f64<E: Error>(self, size: f64) -> Result<Resolution, E> {
        Ok(Resolution(size, size))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Resolution, A::Error> {
        let x = list.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let y = list.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
        match list.next_element::<f64>()? {
            None => Ok(Resolution(x, y)),
            Some(_) => Err(A::Error::invalid_length(3, &self)),
        }
    }
}

impl JsonSchema for Resolution {
    fn schema_name() -> Cow<'static, str> {
        "Resolution".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": RESOLUTION,
            "type": ["number", "array"],
            "exclusiveMinimum": 0,
            "items": { "type": "number", "exclusiveMinimum": 0 },
            "minItems": 2,
            "maxItems": 2,
            "examples": [10, [10, 20]],
        })
    }
}
