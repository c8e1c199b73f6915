//! Stands for the reader of options until it is merged: no places, the same names.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, DeserializeOwned, Deserializer};

use super::{Fault, Spanned, Value, ValueKind};

/// Stable codes of diagnostics.
pub mod codes {
    /// A number outside its range.
    pub const OUT_OF_RANGE: &str = "out-of-range";
    /// A value that is not one of those allowed.
    pub const WRONG_VALUE: &str = "wrong-value";
}

/// Reads a value as `T`.
///
/// # Errors
/// The first fault.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, Vec<Fault>> {
    serde_json::from_value(json(value))
        .map_err(|error| vec![Fault::error(codes::WRONG_VALUE, value.span.clone(), error.to_string())])
}

fn json(value: &Value) -> serde_json::Value {
    match &value.kind {
        ValueKind::String(text) | ValueKind::Datetime(text) => text.as_str().into(),
        ValueKind::Integer(number) => (*number).into(),
        ValueKind::Float(number) => (*number).into(),
        ValueKind::Boolean(truth) => (*truth).into(),
        ValueKind::Array(values) => values.iter().map(json).collect(),
        ValueKind::Table(table) => {
            table.entries.iter().map(|(key, value)| (key.value.clone(), json(value))).collect()
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Spanned::new(T::deserialize(from)?, 0..0))
    }
}

impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
