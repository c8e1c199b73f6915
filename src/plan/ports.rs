//! Whether a stage accepts what the stages before it give, and which stage is missing where it does not.

use super::codes;
use super::flow::Flowing;
use super::graph::Feeder;
use super::stages::Draft;
use crate::config::Fault;
use crate::contract::{Op, Port};

/// The faults of one stage's inputs.
pub(super) fn mismatches(
    stage: &Draft,
    feeders: &[Feeder],
    stages: &[Draft],
    outputs: &[Flowing],
) -> Vec<Fault> {
    let port = |feeder: &Feeder| outputs[feeder.stage].port;
    let wrong: Vec<Fault> = feeders
        .iter()
        .filter_map(|feeder| mismatch(stage, feeder, &stages[feeder.stage], port(feeder)?))
        .collect();
    if !wrong.is_empty() {
        return wrong;
    }
    let first = feeders.iter().find_map(|feeder| Some((feeder, port(feeder)?)));
    let Some((first, given)) = first else { return Vec::new() };
    let other = feeders.iter().find_map(|feeder| Some((feeder, port(feeder).filter(|port| *port != given)?)));
    other
        .map(|(other, port)| {
            let (a, b) = (stages[first.stage].name(), stages[other.stage].name());
            let message =
                format!("`from` joins unequal ports: `{a}` gives `{given}` and `{b}` gives `{port}`");
            Fault::error(codes::UNEQUAL_UNION, other.span.clone(), message)
                .labelled(format!("gives `{port}`"))
                .related(first.span.clone(), format!("gives `{given}`"))
                .help("take stages together that give the same")
        })
        .into_iter()
        .collect()
}

fn mismatch(stage: &Draft, feeder: &Feeder, giver: &Draft, given: Port) -> Option<Fault> {
    let accepted = stage.entry?.accepts;
    if accepted.is_empty() || accepted.contains(&given) {
        return None;
    }
    let (op, list) = (stage.written.op.as_str(), listed(accepted));
    let message = format!("`{}` gives `{given}` and `{}` accepts {list}", giver.name(), stage.name());
    Some(
        Fault::error(codes::PORT_MISMATCH, feeder.span.clone(), message)
            .labelled(format!("gives `{given}`"))
            .related(giver.written.op.span.clone(), format!("`{}` gives `{given}`", giver.written.op.value))
            .related(stage.written.op.span.clone(), format!("`{op}` accepts {list}"))
            .help(missing_stage(given, accepted, giver.name(), stage.name())),
    )
}

fn listed(ports: &[Port]) -> String {
    let names: Vec<String> = ports.iter().map(|port| format!("`{port}`")).collect();
    names.join(" or ")
}

/// The edit: the stages that lead from what is given to what is accepted.
fn missing_stage(given: Port, accepted: &[Port], from: &str, to: &str) -> String {
    let between = |ops: &str| format!("add {ops} between `{from}` and `{to}`");
    let accepts = |port: Port| accepted.contains(&port);
    match given {
        Port::Asset if accepts(Port::Blob) => between("a `fetch` stage"),
        Port::Asset | Port::Blob | Port::File if accepts(Port::Raster) => {
            between("a `read` stage (with `fetch` before it for remote files)")
        }
        Port::Asset | Port::Blob | Port::File if accepts(Port::Rows) => {
            between("a `read` and a `stats` stage")
        }
        Port::Raster if accepts(Port::Encoded) => between("an `encode` stage"),
        Port::Raster if accepts(Port::Rows) => between("a `stats` stage"),
        Port::Raster if accepts(Port::File) => between("an `encode` and a `write` stage"),
        Port::Encoded if accepts(Port::File) => between("a `write` stage"),
        Port::Encoded if accepts(Port::Raster) => {
            format!("let `{to}` take from the stage above `{from}`, whose raster is not encoded yet")
        }
        Port::Rows => format!("rows end in a `table` stage: let `{to}` take from the stage above `{from}`"),
        _ if accepts(Port::Asset) => {
            format!("put `{to}` above `{from}`: it works on references to files, before they are fetched")
        }
        _ => format!("let `{to}` take from a stage that gives {}", listed(accepted)),
    }
}

/// The port of a stage's output: for an input that a fault hides, the one that all accepted inputs lead to.
pub(super) fn given(stage: &Draft, op: &dyn Op, input: Option<Port>) -> Option<Port> {
    if stage.is_source() || input.is_some() {
        return Some(op.gives(input));
    }
    let mut possible = stage.entry?.accepts.iter().map(|port| op.gives(Some(*port)));
    let first = possible.next()?;
    possible.all(|port| port == first).then_some(first)
}

/// The input to go on with: where the port is hidden by a fault, the only one that the stage accepts.
pub(super) fn assumed(stage: &Draft, input: Flowing) -> Flowing {
    let accepted = stage.entry.map_or(&[][..], |entry| entry.accepts);
    let fits = input.port.filter(|port| accepted.contains(port));
    let only = if accepted.len() == 1 { accepted.first().copied() } else { None };
    Flowing { port: fits.or(only), ..input }
}
