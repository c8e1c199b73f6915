//! What a pipeline declares and nothing uses; what a stage gives and nobody keeps; what two stages write alike.

use std::collections::BTreeSet;

use super::codes;
use super::defaults::{self, MEMORY, SCRATCH};
use super::demand::Demand;
use super::flow::Through;
use super::graph::StageGraph;
use super::stages::Draft;
use crate::config::{AsWritten, Fault, Isolation, Spanned, Value, ValueKind};
use crate::contract::{Kind, Port};
use crate::ids::ResourceName;

/// Stages whose output ends nowhere.
pub(super) fn stages(stages: &[Draft], graph: &StageGraph, ports: &[Through]) -> Vec<Fault> {
    let is_dead = |index: &usize| {
        let is_kept = stages[*index].is_kind(|kind| matches!(kind, Kind::Gather(_)));
        graph.is_last(*index) && !is_kept
    };
    graph
        .order
        .iter()
        .filter(|index| is_dead(index))
        .filter_map(|&index| Some(dead_end(&stages[index], ports[index].gives?)))
        .flatten()
        .collect()
}

fn dead_end(stage: &Draft, port: Port) -> Option<Fault> {
    let next = match port {
        Port::File => return None,
        Port::Asset => "add the stages that read and write its files",
        Port::Blob | Port::Encoded => "add a `write` stage that takes from it",
        Port::Raster => "add an `encode` and a `write` stage that take from it",
        Port::Rows => "add a `table` stage that takes from it",
    };
    let name = &stage.written.name;
    let message = format!("what `{}` gives (`{port}`) is neither written nor tabled", name.as_str());
    Some(Fault::warning(codes::UNUSED_STAGE, name.span.clone(), message).help(next))
}

/// Declared resources that neither a stage nor an item takes. `memory` and `scratch` are taken by items themselves.
pub(super) fn resources(written: &AsWritten, demands: &[Demand]) -> Vec<Fault> {
    let mut taken: BTreeSet<&str> = [MEMORY, SCRATCH].into();
    taken.extend(defaults::unit_names(written));
    for demand in demands {
        taken.extend(demand.slots.iter().map(|(name, _)| name.as_str()));
        taken.extend(demand.rates.iter().map(ResourceName::as_str));
    }
    for stage in &written.stages {
        taken.extend(stage.uses.iter().map(|entry| entry.resource.as_str()));
    }
    let unused = written.resources.iter().filter(|(name, _)| !taken.contains(name.as_str()));
    unused
        .map(|(name, _)| {
            let message = format!("nothing takes `{}`", name.as_str());
            let help = format!("add `uses = [\"{}\"]` to a stage, or remove it", name.as_str());
            Fault::warning(codes::UNUSED_RESOURCE, name.span.clone(), message).help(help)
        })
        .collect()
}

/// Grids that no stage's options name.
pub(super) fn grids(written: &AsWritten) -> Vec<Fault> {
    let is_named = |name: &str| written.stages.iter().any(|stage| holds(&stage.options, name));
    let unused = written.grids.0.iter().filter(|(name, _)| !is_named(&name.value));
    unused
        .map(|(name, _)| {
            let message = format!("no stage names the grid `{}`", name.value);
            Fault::warning(codes::UNUSED_GRID, name.span.clone(), message)
                .help("name it in a `window`, `warp` or `group` stage, or remove it")
        })
        .collect()
}

fn holds(value: &Value, text: &str) -> bool {
    match &value.kind {
        ValueKind::String(own) => own == text,
        ValueKind::Array(values) => values.iter().any(|value| holds(value, text)),
        ValueKind::Table(table) => table.entries.iter().any(|(_, value)| holds(value, text)),
        _ => false,
    }
}

/// Parameters that stand nowhere as `${name}`.
pub(super) fn parameters(written: &AsWritten) -> Vec<Fault> {
    let unused =
        written.params.iter().filter(|it| !written.text.contains(&format!("${{{}}}", it.name.value)));
    unused
        .map(|parameter| {
            let name = &parameter.name.value;
            let message = format!("the parameter `{name}` stands nowhere in the file");
            Fault::warning(codes::UNUSED_PARAMETER, parameter.name.span.clone(), message)
                .help(format!("write `\"${{{name}}}\"` where its value belongs, or remove it"))
        })
        .collect()
}

/// `isolation = "process"` where no item is worked on by native code, requests and programs; refused where it cannot be
/// had although there is such work.
pub(super) fn isolation(stage: &Draft) -> Option<Fault> {
    let is_isolated = stage.is_kind(|kind| matches!(kind, Kind::Compute(_)));
    if stage.compiled.is_none() || is_isolated || stage.written.isolation == Isolation::Thread {
        return None;
    }
    let op = &stage.written.op;
    if stage.is_kind(|kind| matches!(kind, Kind::Assemble(_) | Kind::Gather(_))) {
        let message = format!("`{}` puts many items together in the run's own process", op.value);
        let help = "remove `isolation`, which only a stage that works on one item at a time can have";
        return Some(Fault::error(codes::IDLE_ISOLATION, op.span.clone(), message).help(help));
    }
    let message = format!("`{}` has no worker processes here: `isolation` changes nothing", op.value);
    Some(Fault::warning(codes::IDLE_ISOLATION, op.span.clone(), message).help("remove `isolation`"))
}

/// Stages that write to the same path.
pub(super) fn outputs(stages: &[Draft], ports: &[Through]) -> Vec<Fault> {
    let mut known: Vec<(Spanned<&str>, &str)> = Vec::new();
    let mut faults = Vec::new();
    for (stage, through) in stages.iter().zip(ports) {
        let writes =
            through.gives == Some(Port::File) || stage.is_kind(|kind| matches!(kind, Kind::Gather(_)));
        for path in paths(&stage.written.options).into_iter().filter(|_| writes) {
            match known.iter().find(|(other, _)| other.value == path.value) {
                Some((other, first)) => faults.push(same_output(&path, stage.name(), other, first)),
                None => known.push((path, stage.name())),
            }
        }
    }
    faults
}

fn same_output(path: &Spanned<&str>, name: &str, other: &Spanned<&str>, first: &str) -> Fault {
    let message = format!("`{first}` and `{name}` both write to `{}`", path.value);
    Fault::error(codes::SAME_OUTPUT, path.span.clone(), message)
        .related(other.span.clone(), format!("`{first}` writes here"))
        .help(format!(
            "give one another path, or let one stage write both: `from = [\"…\", \"…\"]` in `{first}`"
        ))
}

/// Where an op's options say that final files go: `path`, and each of `outputs` that is no bare suffix.
fn paths(options: &Value) -> Vec<Spanned<&str>> {
    let outputs = options.get("outputs").and_then(Value::as_table);
    let outputs = outputs.into_iter().flat_map(|outputs| outputs.entries.iter().map(|(_, value)| value));
    options
        .get("path")
        .into_iter()
        .chain(outputs)
        .filter_map(|value| Some(Spanned::new(value.as_str()?, value.span.clone())))
        .filter(|path| !path.value.starts_with('.') || path.value.contains('/'))
        .collect()
}
