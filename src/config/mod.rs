//! The pipeline as written: TOML with a span on every key and value, checked against the JSON schema, then typed.
//!
//! This is the only module that names the `toml` crate. Nothing here knows what a machine grants or an op does.

pub mod codes;
mod fault;
mod load;
mod nearest;
mod newer_syntax;
mod params;
mod pipeline;
mod read;
mod schema;
mod secrets;
mod spanned;
mod syntax;
mod tree;
mod typed;
mod validate;
mod value;

pub use fault::{Fault, Severity, Span};
pub use load::{Loaded, load};
pub use nearest::{nearest, suggestion};
pub use params::Inputs;
pub use pipeline::{
    Access, AsWritten, Clamp, CoresExpression, GridDefinition, Grids, Isolation, MaxFailures, OnError,
    Parameter, Resolution, ResourceForm, RetryOptions, RunOptions, Share, SizeForm, Stage, Use,
};
pub use read::from_value;
pub use schema::{OpPart, Parts, Schema, generator, tidy};
pub use secrets::Secrets;
pub use spanned::{Entries, OneOrMany, Spanned};
pub use tree::parse;
pub use validate::validate;
pub use value::{Table, Value, ValueKind};

use value::shortened;
