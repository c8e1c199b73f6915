//! All that may be in memory at once, against what the machine grants.

use super::defaults::{MEMORY, PROCESS_BASE, SCRATCH};
use super::resources::Resources;
use super::{Limit, MemoryDemand, MemoryPart, MemoryTotal, Plan, StagePlan, codes};
use crate::config::{AsWritten, Fault};
use crate::ids::ResourceName;
use crate::machine::Granted;
use crate::units::ByteSize;

impl MemoryTotal {
    /// The parts that a plan makes: budgets (scratch too where it is no disk), GDAL's cache, programs, worker processes
    /// and the process itself. `programs` tells of each stage whether it runs them.
    pub(super) fn of(plan: &Plan, is_disk_memory: bool, resources: &Resources, programs: &[bool]) -> Self {
        let is_memory = |name: &str| name != SCRATCH || is_disk_memory;
        let budgets = plan.resources.iter().filter_map(|resource| match resource.limit {
            Limit::Bytes(bytes) if is_memory(resource.name.as_str()) => {
                Some(part(resource.name.as_str(), bytes, &resource.derivation))
            }
            _ => None,
        });
        let cache = part("GDAL cache", plan.run.gdal_cache.0, &cache_derivation(plan));
        let stages = plan.stages.iter().zip(programs);
        let programs = stages.filter_map(|(stage, runs)| programs_of(stage, *runs, resources));
        let workers = plan.stages.iter().filter_map(workers_of);
        let process = part("process", PROCESS_BASE, "code, runtime, coordinate systems");
        let parts: Vec<_> = budgets.chain([cache]).chain(programs).chain(workers).chain([process]).collect();
        let total = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(part.bytes));
        Self { parts, total, granted: plan.machine.memory.clone() }
    }

    /// A warning when the total is more than granted.
    pub(super) fn warning(&self, written: &AsWritten, resources: &Resources) -> Option<Fault> {
        let Granted { value, source } = &self.granted;
        if self.total <= *value {
            return None;
        }
        let (total, granted) = (ByteSize(self.total), ByteSize(*value));
        let sum: Vec<String> =
            self.parts.iter().map(|part| format!("{} {}", part.name, ByteSize(part.bytes))).collect();
        let message =
            format!("up to `{total}` may be in memory, and the machine grants `{granted}` [{source}]");
        let span = resources.place(MEMORY).unwrap_or_else(|| written.name.span.clone());
        let fault = Fault::warning(codes::MEMORY_ABOVE_MACHINE, span, message);
        Some(fault.labelled(sum.join(" + ")).help("lower `memory.bytes`, or what programs may take"))
    }
}

/// Where the figure comes from, and what each process gets of it where there are several.
fn cache_derivation(plan: &Plan) -> String {
    let derivation = &plan.run.gdal_cache.1;
    match plan.gdal_processes() {
        1 => derivation.clone(),
        count => format!("{derivation}, {} for each of {count} processes", ByteSize(plan.gdal_share())),
    }
}

/// What the programs of a stage take beside the budget: the working set that their number was derived from.
fn programs_of(stage: &StagePlan, runs_programs: bool, resources: &Resources) -> Option<MemoryPart> {
    let is_outside = runs_programs || stage.memory == MemoryDemand::Declared(0);
    let sized = |(name, amount): &(ResourceName, u64)| {
        Some(resources.working_set(name.as_str())?.saturating_mul(*amount))
    };
    let each = stage.slots.iter().filter_map(sized).max().filter(|_| is_outside)?;
    let bytes = each.saturating_mul(stage.parallelism as u64);
    let derivation = format!("{} × {} = {}", stage.parallelism, ByteSize(each), ByteSize(bytes));
    Some(part(&format!("programs of {}", stage.name), bytes, &derivation))
}

/// What worker processes take for themselves.
fn workers_of(stage: &StagePlan) -> Option<MemoryPart> {
    let count = stage.parallelism as u64;
    let bytes = count.saturating_mul(PROCESS_BASE);
    let derivation = format!("{count} × {} = {}", ByteSize(PROCESS_BASE), ByteSize(bytes));
    (stage.is_isolated()).then(|| part(&format!("processes of {}", stage.name), bytes, &derivation))
}

fn part(name: &str, bytes: u64, derivation: &str) -> MemoryPart {
    MemoryPart { name: name.to_owned(), bytes, derivation: derivation.to_owned() }
}
