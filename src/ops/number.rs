//! A number of an option, exact whatever type of pixel it is for.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A number as its shortest text; `nan` is one. A string may hold what TOML's integers cannot: `"18446744073709551615"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number(String);

impl Number {
    /// Decimal digits, or `NaN`.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or `nan`")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
        Ok(Number(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
        Ok(Number(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
        Ok(Number(value.to_string()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() || value.is_nan() => Ok(Number(text.into())),
            _ => Err(E::custom(format!("expected a number or `nan`, found `{text}`"))),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NumberVisitor)
    }
}

impl JsonSchema for Number {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "number" },
            { "type": "string", "pattern": "^([-+]?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?|nan|NaN)$", "examples": ["nan"] },
        ] })
    }
}
