//! The stages of a pipeline with their ops compiled.

use std::path::Path;
use std::sync::Arc;

use super::codes;
use crate::config::{AsWritten, Fault, Stage, suggestion};
use crate::contract::{Environment, Kind, Op, OpEntry, Registry, Take};

/// A stage as written, and as much of its op as could be made of it.
pub(super) struct Draft<'a> {
    pub(super) written: &'a Stage,
    /// `None` for an op that does not exist.
    pub(super) entry: Option<&'a OpEntry>,
    /// `None` where the options have faults.
    pub(super) compiled: Option<Compiled>,
}

/// An op, and how it runs.
pub(super) struct Compiled {
    pub(super) op: Arc<dyn Op>,
    pub(super) kind: Kind,
}

/// Compiles every stage; the faults of all of them are collected.
pub(super) fn compile<'a>(
    written: &'a AsWritten,
    registry: &'a Registry,
    folder: &Path,
    faults: &mut Vec<Fault>,
) -> Vec<Draft<'a>> {
    let environment = Environment { folder: folder.to_owned(), grids: written.grids.clone() };
    written.stages.iter().map(|stage| Draft::compile(stage, registry, &environment, faults)).collect()
}

impl<'a> Draft<'a> {
    fn compile(
        written: &'a Stage,
        registry: &'a Registry,
        environment: &Environment,
        faults: &mut Vec<Fault>,
    ) -> Self {
        let entry = registry.get(&written.op);
        let compiled = match entry {
            None => Err(vec![unknown_op(written, registry)]),
            Some(entry) => (entry.compile)(&written.options, environment),
        };
        let compiled = compiled.map_err(|found| faults.extend(found)).ok();
        let compiled = compiled.map(|op| Compiled { kind: Arc::clone(&op).kind(), op });
        Self { written, entry, compiled }
    }

    pub(super) fn name(&self) -> &str {
        self.written.name.as_str()
    }

    /// Whether it is known to take nothing from other stages.
    pub(super) fn is_source(&self) -> bool {
        self.entry.is_some_and(|entry| entry.accepts.is_empty())
    }

    pub(super) fn takes(&self) -> &'static [Take] {
        self.compiled.as_ref().map_or(&[], |compiled| compiled.op.takes())
    }

    pub(super) fn is_compiled(&self) -> bool {
        self.compiled.is_some()
    }

    /// Whether it makes many items of one, or others of all.
    pub(super) fn remakes_items(&self) -> bool {
        self.is_kind(|kind| matches!(kind, Kind::Expand(_) | Kind::Regroup(_)))
    }

    pub(super) fn is_kind(&self, test: impl Fn(&Kind) -> bool) -> bool {
        self.compiled.as_ref().is_some_and(|compiled| test(&compiled.kind))
    }

    /// Whether it hands items to programs: asynchronous work that holds cores.
    pub(super) fn runs_programs(&self) -> bool {
        self.is_kind(|kind| matches!(kind, Kind::Transfer(_))) && self.takes().contains(&Take::Cores)
    }
}

fn unknown_op(stage: &Stage, registry: &Registry) -> Fault {
    let message = format!("no op is called `{}`", stage.op.value);
    let names = registry.entries().iter().map(|entry| entry.name);
    Fault::error(codes::UNKNOWN_OP, stage.op.span.clone(), message).help(suggestion(&stage.op, names))
}
