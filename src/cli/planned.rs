//! A pipeline file and its plan for this machine, or for the one that the arguments name.

use std::path::Path;

use crate::cli::render::Format;
use crate::cli::{PipelineFile, limits, output, schema};
use crate::config::{AsWritten, Severity};
use crate::contract::Registry;
use crate::machine::{self, Machine, Overrides};
use crate::ops;
use crate::plan::{self, Plan};
use crate::remote::AccessRules;

/// What the arguments say of a pipeline.
pub(super) struct Named<'a> {
    pub(super) path: &'a Path,
    pub(super) sets: &'a [(String, String)],
    pub(super) machine: Option<Overrides>,
}

/// A pipeline without errors, and its plan.
pub(super) struct Planned {
    pub(super) written: AsWritten,
    pub(super) plan: Plan,
}

impl Named<'_> {
    /// Loads the pipeline and resolves it, every fault in the file's list.
    pub(super) fn resolve(&self, registry: &Registry) -> (PipelineFile, Option<Plan>) {
        let machine = self.machine.unwrap_or_default().over(&this_machine());
        let mut file = PipelineFile::open(self.path, self.sets, &schema::compile(registry));
        let mut plan = None;
        if let Some(written) = &file.loaded.pipeline {
            let (resolved, faults) = plan::resolve(written, registry, &machine);
            let access = AccessRules::compile(&written.access).err().unwrap_or_default();
            file.loaded.add(faults);
            file.loaded.add(access);
            plan = resolved;
        }
        (file, plan)
    }

    /// The plan to run, with these limits instead of those of the pipeline; `None` where it has faults, which are told.
    ///
    /// # Errors
    /// A limit of no resource, or of another kind; in words.
    pub(super) fn plan_with(&self, limits: &[(String, String)]) -> Result<Option<Planned>, String> {
        let Some(mut planned) = self.plan() else { return Ok(None) };
        if limits.is_empty() {
            return Ok(Some(planned));
        }
        limits::apply(&mut planned.written, limits)?;
        let machine = self.machine.unwrap_or_default().over(&this_machine());
        let (plan, faults) = plan::resolve(&planned.written, &ops::registry(), &machine);
        let error = faults.into_iter().find(|fault| fault.severity == Severity::Error);
        match (plan, error) {
            (Some(plan), None) => Ok(Some(Planned { plan, ..planned })),
            (_, error) => {
                Err(error.map_or_else(|| "the limits do not fit".to_owned(), |fault| fault.message))
            }
        }
    }

    /// The plan to run; every fault is told on standard error, and with an error among them there is none.
    pub(super) fn plan(&self) -> Option<Planned> {
        let (mut file, plan) = self.resolve(&ops::registry());
        file.loaded.require_values();
        if !file.loaded.faults.is_empty() {
            output::complain(file.render(Format::Human, output::error_takes_colour()).trim_end());
        }
        if file.loaded.errors() > 0 {
            return None;
        }
        Some(Planned { written: file.loaded.pipeline?, plan: plan? })
    }
}

/// What this process was granted.
#[allow(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
fn this_machine() -> Machine {
    if let Err(error) = machine::raise_descriptor_limit() {
        tracing::warn!(%error, "the descriptor limit stays as it is");
    }
    Machine::detect(|name| std::env::var(name).ok(), Path::new("/"))
}
