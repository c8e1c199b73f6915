//! Plans of small pipelines, with figures worked out by hand.

mod faults;
mod figures;
mod graphs;
mod ops;

use std::path::Path;

use super::resolve::resolve_on;
use super::run_options::Places;
use super::sizes::Basis;
use super::{Plan, StagePlan};
use crate::config::{self, Fault, Inputs, Severity};
use crate::machine::{Granted, Machine};

const GIB: u64 = 1 << 30;

/// 8 cores, 16 GiB, 1024 descriptors, 100 GiB of free disk.
fn machine() -> Machine {
    Machine {
        cores: Granted::new(8, "affinity"),
        memory: Granted::new(16 * GIB, "physical"),
        descriptors: Granted::new(1024, "RLIMIT_NOFILE"),
        shards: Granted::new(1, "one process"),
    }
}

fn resolved_for(machine: &Machine, text: &str) -> (Option<Plan>, Vec<Fault>) {
    let loaded = config::load(Path::new("/jobs/test.toml"), text, &Inputs::NONE, &ops::schema());
    assert_eq!(loaded.faults, [], "the text itself is sound");
    let written = loaded.pipeline.expect("a text without faults is a pipeline");
    let basis = Basis { machine, disk: Granted::new(100 * GIB, "free disk"), is_disk_memory: false };
    resolve_on(&written, &ops::registry(), &basis, Places::of(&written))
}

/// The plan of a pipeline without errors.
pub(crate) fn planned(text: &str) -> Plan {
    let (plan, faults) = resolved_for(&machine(), text);
    plan.unwrap_or_else(|| panic!("{faults:#?}"))
}

/// What is told of a pipeline: code, marked text, message.
fn told(text: &str) -> Vec<(&'static str, String, String)> {
    let (plan, faults) = resolved_for(&machine(), text);
    let has_errors = faults.iter().any(|fault| fault.severity == Severity::Error);
    assert_eq!(plan.is_none(), has_errors, "a plan and errors exclude each other");
    faults.into_iter().map(|fault| (fault.code, text[fault.span].to_owned(), fault.message)).collect()
}

/// The only fault of a pipeline.
fn only_fault(text: &str) -> Fault {
    let (_, faults) = resolved_for(&machine(), text);
    assert_eq!(faults.len(), 1, "{faults:#?}");
    faults.into_iter().next().expect("one fault")
}

/// A pipeline whose five stages fetch, read, encode and write; `head` stands before the stages, and `fetched` is what
/// stands at the stage of that name.
fn pipeline(head: &str, fetched: &str) -> String {
    format!(
        "name = \"test\"\n{head}\n[stages]\n\
         scenes = {{ list = {{}} }}\n\
         fetched = {{ from = \"scenes\", {fetched} fetch = {{}} }}\n\
         bands = {{ from = \"fetched\", read = {{ bands = {{ red = \"red\" }} }} }}\n\
         encoded = {{ from = \"bands\", encode = {{}} }}\n\
         written = {{ from = \"encoded\", write = {{ path = \"out/{{id}}.tif\" }} }}\n"
    )
}

fn slots(stage: &StagePlan) -> Vec<(&str, u64)> {
    stage.slots.iter().map(|(name, amount)| (name.as_str(), *amount)).collect()
}

fn stage<'a>(plan: &'a Plan, name: &str) -> &'a StagePlan {
    plan.stage(name).unwrap_or_else(|| panic!("no stage `{name}`"))
}
