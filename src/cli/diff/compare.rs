//! The differences of two pipelines by section: as they are written, and what follows from it in their plans.

use serde_json::{Value as Json, json};

use crate::cli::planned::Planned;
use crate::config;
use crate::ledger::differences;
use crate::plan::{MemoryTotal, Plan, ResourcePlan, SCRATCH, StagePlan};
use crate::units::ByteSize;

/// The sections in which there is a difference.
pub(super) fn sections(old: &Planned, new: &Planned) -> Vec<(&'static str, Vec<String>)> {
    let (texts, plans) = ((as_written(old), as_written(new)), (&old.plan, &new.plan));
    let written = |table: &'static str| (table, differences(&texts.0[table], &texts.1[table]));
    let sections = [
        ("pipeline", differences(&title(&texts.0), &title(&texts.1))),
        written("params"),
        written("grids"),
        written("access"),
        ("stages", stages(&texts.0["stages"], &texts.1["stages"], plans)),
        ("sizes", sizes(plans, &texts)),
        ("memory", memory(&plans.0.memory, &plans.1.memory)),
        ("run", differences(&texts.0["run"], &texts.1["run"])),
    ];
    sections.into_iter().filter(|(_, changes)| !changes.is_empty()).collect()
}

/// The file as it stands, parameters not filled in, so that no secret shows; an absent table as an empty one.
fn as_written(side: &Planned) -> Json {
    let mut tree = config::parse(&side.written.text).0.to_json();
    for table in ["params", "grids", "access", "resources", "stages", "run"] {
        if tree[table].is_null() {
            tree[table] = json!({});
        }
    }
    tree
}

fn title(tree: &Json) -> Json {
    json!({ "name": tree["name"], "description": tree["description"] })
}

/// New stages, those that changed, those that are gone.
fn stages(old: &Json, new: &Json, plans: (&Plan, &Plan)) -> Vec<String> {
    let mut changes = Vec::new();
    for stage in &plans.1.stages {
        let name = stage.name.as_str();
        match plans.0.stage(name) {
            None => changes.push(format!("`{name}` is new: {}", described(stage, plans.1))),
            Some(before) => {
                let written = differences(&old[name], &new[name]);
                let followed = consequences(before, stage);
                changes
                    .extend(written.into_iter().chain(followed).map(|change| format!("`{name}`: {change}")));
            }
        }
    }
    let is_gone = |stage: &&StagePlan| plans.1.stage(stage.name.as_str()).is_none();
    let gone = plans.0.stages.iter().filter(is_gone);
    changes
        .extend(gone.map(|stage| format!("`{}` is gone: it was {}", stage.name, described(stage, plans.0))));
    changes
}

fn described(stage: &StagePlan, plan: &Plan) -> String {
    let from: Vec<String> =
        stage.from.iter().map(|&feeder| format!("`{}`", plan.stages[feeder].name)).collect();
    let op = &stage.op_name;
    if from.is_empty() { format!("the source `{op}`") } else { format!("`{op}` of {}", from.join(" and ")) }
}

/// What follows for a stage: what it gives, how many items it works on at once, the places before it.
fn consequences(old: &StagePlan, new: &StagePlan) -> Vec<String> {
    let port =
        (old.gives != new.gives).then(|| format!("gives `{}` and no longer `{}`", new.gives, old.gives));
    let at_once =
        (at_once(old) != at_once(new)).then(|| format!("works on {}; it was {}", at_once(new), at_once(old)));
    let queue =
        (old.queue != new.queue).then(|| format!("a queue of {} before it; it was {}", new.queue, old.queue));
    [port, at_once, queue].into_iter().flatten().collect()
}

fn at_once(stage: &StagePlan) -> String {
    let bound = stage.bound_by.as_ref().map_or_else(String::new, |name| format!(", bound by `{name}`"));
    format!("{} at once{bound}", stage.parallelism)
}

/// Limits, each with its arithmetic.
fn sizes((old, new): (&Plan, &Plan), texts: &(Json, Json)) -> Vec<String> {
    let mut changes = Vec::new();
    // The free disk is another at every look.
    let is_noise = |name: &str| name == SCRATCH && texts.0["resources"][name] == texts.1["resources"][name];
    for resource in new.resources.iter().filter(|resource| !is_noise(resource.name.as_str())) {
        let (name, now) = (&resource.name, shown(resource));
        match old.resource(name.as_str()) {
            None => changes.push(format!("`{name}` is new: {now}")),
            Some(before) if is_other(before, resource) => {
                changes.push(format!("`{name}` is {now}; it was {}", shown(before)));
            }
            Some(_) => {}
        }
    }
    let gone = old.resources.iter().filter(|before| new.resource(before.name.as_str()).is_none());
    changes.extend(gone.map(|before| format!("`{}` is gone: it was {}", before.name, shown(before))));
    changes
}

/// Another limit, or one that is declared now; the arithmetic alone is no change.
fn is_other(old: &ResourcePlan, new: &ResourcePlan) -> bool {
    old.limit != new.limit || old.is_declared != new.is_declared
}

fn shown(resource: &ResourcePlan) -> String {
    let mark = if resource.is_declared { "" } else { " (default)" };
    format!("{} {}{mark}", resource.limit.kind(), resource.derivation)
}

/// The total of memory, where it changed.
fn memory(old: &MemoryTotal, new: &MemoryTotal) -> Vec<String> {
    let total =
        |memory: &MemoryTotal| format!("{} of {}", ByteSize(memory.total), ByteSize(memory.granted.value));
    let is_same = old.total == new.total;
    let change = || format!("up to {} may be in memory; it was {}", total(new), total(old));
    if is_same { Vec::new() } else { vec![change()] }
}
