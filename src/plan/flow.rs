//! What flows from stage to stage: ports, names of bands, members of groups, windows of parents.

use super::codes;
use super::graph::{Feeder, StageGraph};
use super::ports;
use super::stages::{Compiled, Draft};
use crate::config::Fault;
use crate::contract::{BandNames, Kind, Members, Port};

/// What is known of the items at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flowing {
    /// `None` where a fault above hides it.
    pub(super) port: Option<Port>,
    pub(super) bands: BandNames,
    pub(super) members: Members,
    /// The stage whose windows they are.
    pub(super) windows_of: Option<usize>,
    /// Whether every stage above is known, so that what is missing is really missing.
    pub(super) is_certain: bool,
}

/// The ports of one stage; `None` where a fault hides them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Through {
    pub(super) accepts: Option<Port>,
    pub(super) gives: Option<Port>,
    /// Whether the items that come in are windows.
    pub(super) is_windowed: bool,
}

impl Flowing {
    const UNKNOWN: Self =
        Self { port: None, bands: None, members: Members::One, windows_of: None, is_certain: false };
}

/// Follows the items through all stages; what a stage cannot work on is told.
pub(super) fn follow(stages: &[Draft], graph: &StageGraph, faults: &mut Vec<Fault>) -> Vec<Through> {
    let mut outputs = vec![Flowing::UNKNOWN; stages.len()];
    let mut ports = vec![Through { accepts: None, gives: None, is_windowed: false }; stages.len()];
    for &index in &graph.order {
        let stage = &stages[index];
        let feeders = &graph.feeders[index];
        faults.extend(ports::mismatches(stage, feeders, stages, &outputs));
        faults.extend(unequal_windows(stage, feeders, stages, &outputs));
        let mut input = ports::assumed(stage, union(feeders, &outputs));
        input.is_certain &= feeders.len() == stage.written.from.len();
        outputs[index] = through(index, stage, &input, stages, faults);
        let is_windowed = input.windows_of.is_some();
        ports[index] = Through { accepts: input.port, gives: outputs[index].port, is_windowed };
    }
    ports
}

/// The items of all feeders together: what is equal stays known.
fn union(feeders: &[Feeder], outputs: &[Flowing]) -> Flowing {
    let inputs: Vec<&Flowing> = feeders.iter().map(|feeder| &outputs[feeder.stage]).collect();
    let Some((first, others)) = inputs.split_first() else {
        return Flowing { is_certain: true, ..Flowing::UNKNOWN };
    };
    Flowing {
        port: first.port.filter(|port| others.iter().all(|other| other.port == Some(*port))),
        bands: first.bands.clone().filter(|_| others.iter().all(|other| other.bands == first.bands)),
        members: inputs.iter().map(|input| input.members).max().unwrap_or(Members::One),
        windows_of: first.windows_of,
        is_certain: inputs.iter().all(|input| input.is_certain),
    }
}

fn through(
    index: usize,
    stage: &Draft,
    input: &Flowing,
    stages: &[Draft],
    faults: &mut Vec<Fault>,
) -> Flowing {
    faults.extend(wrong_windows(stage, input, stages).filter(|_| input.is_certain));
    let Some(Compiled { op, kind }) = &stage.compiled else { return Flowing::UNKNOWN };
    let bands = op.bands(&input.bands).map_err(|found| faults.extend(found)).ok().flatten();
    let members = members(stage, input, kind, faults);
    let windows_of = match kind {
        Kind::Expand(_) => Some(index),
        Kind::Assemble(_) | Kind::Gather(_) => None,
        _ => input.windows_of,
    };
    Flowing {
        port: ports::given(stage, op.as_ref(), input.port),
        bands,
        members,
        windows_of,
        is_certain: input.is_certain,
    }
}

fn members(stage: &Draft, input: &Flowing, kind: &Kind, faults: &mut Vec<Fault>) -> Members {
    if matches!(kind, Kind::Regroup(_)) {
        return Members::OnOwnGrids;
    }
    let Some(compiled) = &stage.compiled else { return Members::One };
    compiled.op.members(input.members).unwrap_or_else(|most| {
        faults.push(several_members(stage, input.members, most));
        Members::One
    })
}

/// Members on grids of their own may still turn out to be on one, which only their headers tell; one member is one.
fn several_members(stage: &Draft, found: Members, most: Members) -> Fault {
    let op = stage.written.op.as_str();
    let (needs, help) = match (most, found) {
        (Members::One, Members::OnOneGrid) => ("one member", "add a `composite` stage before it"),
        (Members::One, _) => {
            ("one member", "add a `warp` stage onto one grid and a `composite` stage before it")
        }
        _ => (
            "members on one grid",
            "add a `warp` stage onto one grid before it; without it, groups whose members differ fail",
        ),
    };
    let gets = match found {
        Members::OnOneGrid => "the members of a group, on one grid",
        _ => "the members of a group, each on its own grid",
    };
    let message = format!("`{op}` works on {needs}, and `{}` gets {gets}", stage.name());
    let fault = if most == Members::One { Fault::error } else { Fault::warning };
    fault(codes::SEVERAL_MEMBERS, stage.written.op.span.clone(), message).help(help)
}

/// Windows and whole items in one `from`.
fn unequal_windows(
    stage: &Draft,
    feeders: &[Feeder],
    stages: &[Draft],
    outputs: &[Flowing],
) -> Option<Fault> {
    let (first, others) = feeders.split_first()?;
    let of = |feeder: &Feeder| outputs[feeder.stage].windows_of;
    let other = others.iter().find(|other| of(other) != of(first))?;
    if !feeders.iter().all(|feeder| outputs[feeder.stage].is_certain) {
        return None;
    }
    let name = |feeder: &Feeder| match of(feeder) {
        Some(window) => {
            format!("`{}` gives windows of `{}`", stages[feeder.stage].name(), stages[window].name())
        }
        None => format!("`{}` gives whole items", stages[feeder.stage].name()),
    };
    let message = format!("`{}` takes unequal items: {} and {}", stage.name(), name(first), name(other));
    let fault = Fault::error(codes::UNEQUAL_UNION, other.span.clone(), message);
    Some(fault.related(first.span.clone(), "the other end").help("take from stages below the same `window`"))
}

fn wrong_windows(stage: &Draft, input: &Flowing, stages: &[Draft]) -> Option<Fault> {
    match input.windows_of {
        Some(window) => stage.remakes_items().then(|| nested(stage, &stages[window])),
        None => nothing_to_assemble(stage),
    }
}

fn nested(stage: &Draft, window: &Draft) -> Fault {
    let (op, above) = (stage.written.op.as_str(), window.name());
    let message = format!("`{op}` of `{}` gets windows of `{above}`", stage.name());
    Fault::error(codes::NESTED_WINDOWS, stage.written.op.span.clone(), message)
        .related(window.written.op.span.clone(), "windows are made here")
        .help(format!("put `{}` above `{above}`", stage.name()))
}

/// `assemble`, as the op runs or as its options say, where all items are whole.
fn nothing_to_assemble(stage: &Draft) -> Option<Fault> {
    let key = stage.written.options.as_table().and_then(|options| options.entry("assemble"));
    let needs_windows = stage.compiled.as_ref().is_some_and(|Compiled { op, kind }| {
        matches!(kind, Kind::Assemble(_)) && op.clone().of_wholes().is_none()
    });
    if key.is_none() && !needs_windows {
        return None;
    }
    let span = key.map_or(&stage.written.op.span, |(key, _)| &key.span);
    let message = format!("`{}` has nothing to assemble: no `window` stage stands above", stage.name());
    let fault = Fault::error(codes::NOTHING_TO_ASSEMBLE, span.clone(), message);
    Some(fault.help("remove `assemble`, or add a `window` stage above"))
}
