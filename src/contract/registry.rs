//! The table of ops, as a value: the shipped one is a `static` in `ops`, tests add their own.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};

use crate::config::{Fault, Grids, Value};
use crate::contract::{Op, Port};

/// What an op's options may refer to.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The folder of the pipeline; paths in the file are relative to it.
    pub folder: PathBuf,
    /// The named grids of the pipeline.
    pub grids: Grids,
}

/// One line of the table.
#[derive(Clone, Copy)]
pub struct OpEntry {
    /// The op's key in a stage.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The ports it accepts; none for a source.
    pub accepts: &'static [Port],
    /// A stage that uses it, as TOML: the value of the op's key.
    pub example: &'static str,
    /// The schema of its options; their docs are the manual.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Checks the options and compiles the op; faults carry spans of the pipeline's text.
    pub compile: fn(&Value, &Environment) -> Result<Arc<dyn Op>, Vec<Fault>>,
}

/// The ops that a run knows.
#[derive(Clone)]
pub struct Registry {
    entries: Arc<[OpEntry]>,
}

impl Registry {
    /// A registry of these ops.
    pub fn new(entries: &[OpEntry]) -> Self {
        Self { entries: entries.into() }
    }

    /// The op of this name.
    pub fn get(&self, name: &str) -> Option<&OpEntry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// All ops, in the order of the table.
    pub fn entries(&self) -> &[OpEntry] {
        &self.entries
    }
}
