//! The pipeline as written: TOML with a span on every key and value, checked against the JSON schema, then typed.
//!
//! This is the only module that names the `toml` crate. Nothing here knows what a machine grants or an op does.

mod fault;
mod pipeline;
mod value;

pub use fault::{Fault, Severity, Span};
pub use pipeline::{
    Access, AsWritten, Clamp, CoresExpression, GridDefinition, Grids, Isolation, MaxFailures, OnError,
    Parameter, ResourceForm, RetryOptions, RunOptions, Share, SizeForm, Stage, Use,
};
pub use value::{Spanned, Table, Value, ValueKind};

/// Placeholder until the typed reader of options stands here; it loses places and types of text.
///
/// # Errors
/// A value that `T` does not take.
pub fn from_value<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, Vec<Fault>> {
    fn json(value: &Value) -> serde_json::Value {
        match &value.kind {
            ValueKind::String(text) | ValueKind::Datetime(text) => text.clone().into(),
            ValueKind::Integer(number) => (*number).into(),
            ValueKind::Float(number) => (*number).into(),
            ValueKind::Boolean(flag) => (*flag).into(),
            ValueKind::Array(list) => list.iter().map(json).collect(),
            ValueKind::Table(table) => table
                .entries
                .iter()
                .map(|(key, value)| (key.value.clone(), json(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }
    serde_json::from_value(json(value))
        .map_err(|error| vec![Fault::error("wrong-value", value.span.clone(), error.to_string())])
}
