//! The typed form of what stands in the file, nothing resolved. The docs of the options are the schema's.

mod amount;
mod grid;
mod resource;
mod run_options;
mod size_form;
mod stage;

use std::path::PathBuf;
use std::sync::Arc;

pub use amount::{MaxFailures, Share, Use};
pub use grid::{GridDefinition, Grids, Resolution};
pub use resource::ResourceForm;
pub use run_options::RunOptions;
pub use size_form::{Clamp, CoresExpression, SizeForm};
pub use stage::{Isolation, OnError, RetryOptions, Stage};

pub(super) use resource::{ResourceTable, Scope};
pub(super) use stage::{CommonKeys, op_entry};

use super::{Spanned, Value};
use crate::ids::ResourceName;

/// A pipeline file, parameters filled in.
#[derive(Clone, Debug)]
pub struct AsWritten {
    /// The file, as given on the command line.
    pub path: PathBuf,
    /// Its text; spans are ranges of it.
    pub text: Arc<str>,
    /// `name`
    pub name: Spanned<String>,
    /// `description`
    pub description: Option<String>,
    /// `[params]`, in declaration order, with the values that hold.
    pub params: Vec<Parameter>,
    /// `[run]`
    pub run: RunOptions,
    /// `[grids]`
    pub grids: Grids,
    /// `[resources]`, in declaration order.
    pub resources: Vec<(Spanned<ResourceName>, ResourceForm)>,
    /// The resources with `scope = "cluster"`: the figure is for the whole job, each shard gets its part.
    pub cluster_scoped: Vec<ResourceName>,
    /// `[access."prefix"]`, in declaration order; the options are checked by `remote`.
    pub access: Vec<(Spanned<String>, Access)>,
    /// `[stages]`, in declaration order.
    pub stages: Vec<Stage>,
}

/// One parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Spanned<String>,
    /// What it is for.
    pub help: Option<String>,
    /// The value that holds: `--set`, the environment or the default.
    pub value: Option<Value>,
    /// Read from the environment, so a secret: redacted everywhere and no part of a fingerprint.
    pub is_secret: bool,
}

/// `[access."prefix"]`: the options as they stand, typed by `remote`.
#[derive(Clone, Debug)]
pub struct Access {
    /// The table.
    pub options: Value,
}
