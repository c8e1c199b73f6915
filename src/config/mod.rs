//! The pipeline as written: TOML with a span on every key and value, checked against the JSON schema, then typed.
//!
//! This is the only module that names the `toml` crate. Nothing here knows what a machine grants or an op does.

mod fault;
mod pipeline;
mod placeholder;
mod value;

pub use fault::{Fault, Severity, Span};
pub use pipeline::{
    Access, AsWritten, Clamp, CoresExpression, GridDefinition, Grids, Isolation, MaxFailures, OnError,
    Parameter, ResourceForm, RetryOptions, RunOptions, Share, SizeForm, Stage, Use,
};
pub use placeholder::{codes, from_value};
pub use value::{Spanned, Table, Value, ValueKind};
