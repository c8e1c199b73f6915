//! Builds the queues of a plan, joins them to the stages, and starts everything.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::contract::{Assemble, Kind, Port};
use crate::engine::gate::{self, Arrival};
use crate::engine::isolation::Crew;
use crate::engine::join::{self, Completed, Joiner};
use crate::engine::journey::Parcel;
use crate::engine::outlets::{Outlet, Outlets};
use crate::engine::queue::{Inlet, Intake, queue};
use crate::engine::run::Shared;
use crate::engine::source::{self, Join};
use crate::engine::stage::{self, Work};
use crate::engine::watch::Gauges;
use crate::plan::StagePlan;

/// Starts a task for every stage and one for the gate; the queues as seen from outside.
pub(crate) fn spawn(shared: &Arc<Shared>, tasks: &mut JoinSet<()>) -> Gauges {
    let plan = shared.plan.clone();
    let mut wiring = Wiring::of(&plan.stages);
    let gauges = wiring.gauges(&plan.stages);
    for (index, stage) in plan.stages.iter().enumerate() {
        let outlets = wiring.outlets(&plan.stages, index);
        let intake = wiring.intakes.remove(&index);
        start(shared, tasks, index, stage, intake, outlets, &wiring.completed);
    }
    let Wiring { arrivals, entrances, completed, .. } = wiring;
    let lookahead = entrances.iter().map(|(stage, _)| plan.stages[*stage].parallelism).max();
    if let Some(lookahead) = lookahead {
        let into: Vec<usize> = entrances.iter().map(|(stage, _)| *stage).collect();
        let joins = joins_from(&plan.stages, &into, &completed);
        tasks.spawn(gate::keep(shared.clone(), arrivals, entrances, joins, lookahead as u64));
    }
    gauges
}

/// The ends of all queues, before they are handed out.
struct Wiring {
    inlets: HashMap<usize, Inlet<Parcel>>,
    intakes: HashMap<usize, Intake<Parcel>>,
    /// Into the gate: newcomers, and windows of parents that hold their unit.
    newcomers: Inlet<Arrival>,
    windows: Inlet<Arrival>,
    arrivals: Vec<Intake<Arrival>>,
    /// Out of the gate.
    entrances: gate::Entrances,
    completed: HashMap<usize, Arc<Completed>>,
}

impl Wiring {
    fn of(stages: &[StagePlan]) -> Self {
        let (newcomers, first) = queue(&"the gate".into(), 1);
        let (windows, second) = queue(&"the gate (windows)".into(), 1);
        let mut wiring = Self {
            inlets: HashMap::new(),
            intakes: HashMap::new(),
            newcomers,
            windows,
            arrivals: vec![first, second],
            entrances: Vec::new(),
            completed: HashMap::new(),
        };
        for (index, stage) in stages.iter().enumerate().filter(|(_, stage)| stage.accepts.is_some()) {
            let (inlet, intake) = queue(&stage.name, stage.queue.max(1));
            if !is_metadata(stage) && stage.from.iter().any(|feeder| is_metadata(&stages[*feeder])) {
                wiring.entrances.push((index, inlet.clone()));
            }
            wiring.inlets.insert(index, inlet);
            wiring.intakes.insert(index, intake);
            if stage.joining.is_some() || matches!(stage.op.clone().kind(), Kind::Assemble(_)) {
                wiring.completed.insert(index, Arc::default());
            }
        }
        wiring
    }

    fn gauges(&self, stages: &[StagePlan]) -> Gauges {
        let mut gauges: Gauges = stages
            .iter()
            .enumerate()
            .filter_map(|(index, stage)| Some((stage.name.clone(), self.inlets.get(&index)?.gauge())))
            .collect();
        gauges.push(("the gate".into(), self.newcomers.gauge()));
        gauges.push(("the gate (windows)".into(), self.windows.gauge()));
        gauges
    }

    /// The ways out of a stage in topological order, which is that of the plan's stages; all that lead through the gate are
    /// one.
    fn outlets(&self, stages: &[StagePlan], index: usize) -> Outlets {
        let mut outlets = Vec::new();
        let gated: Arc<[usize]> = if is_metadata(&stages[index]) {
            stages[index].to.iter().copied().filter(|to| !is_metadata(&stages[*to])).collect()
        } else {
            Arc::default()
        };
        let mut consumers = stages[index].to.clone();
        consumers.sort_unstable();
        for to in &consumers {
            if !gated.contains(to) {
                outlets.push(Outlet::Stage(*to, self.inlets[to].clone()));
            } else if gated.first() == Some(to) {
                let inlet = if is_windowed(stages, index) { &self.windows } else { &self.newcomers };
                outlets.push(Outlet::Gate(gated.clone(), inlet.clone()));
            }
        }
        Outlets::of(&stages[index].name, outlets)
    }
}

/// Whether what a stage gives is metadata: references that hold nothing yet.
fn is_metadata(stage: &StagePlan) -> bool {
    stage.gives == Port::Asset
}

/// Whether a stage or one above it makes windows.
fn is_windowed(stages: &[StagePlan], index: usize) -> bool {
    matches!(stages[index].op.clone().kind(), Kind::Expand(_))
        || stages[index].from.iter().any(|feeder| is_windowed(stages, *feeder))
}

/// The stages at or below these that join windows.
fn joins_from(stages: &[StagePlan], into: &[usize], completed: &HashMap<usize, Arc<Completed>>) -> Vec<Join> {
    let mut joins = Vec::new();
    let mut ahead = into.to_vec();
    let mut seen = Vec::new();
    while let Some(next) = ahead.pop() {
        if seen.contains(&next) {
            continue;
        }
        seen.push(next);
        match completed.get(&next) {
            None => ahead.extend(&stages[next].to),
            Some(done) => {
                let done = done.clone();
                joins.push(Join { stage: next, on_complete: Arc::new(move |parent| done.push(parent)) });
            }
        }
    }
    joins
}

/// How a stage joins the windows of items that the engine cuts.
fn joining(stage: &StagePlan) -> Option<Arc<dyn Assemble>> {
    match stage.joining.clone()?.kind() {
        Kind::Assemble(join) => Some(join),
        _ => None,
    }
}

fn start(
    shared: &Arc<Shared>,
    tasks: &mut JoinSet<()>,
    index: usize,
    stage: &StagePlan,
    intake: Option<Intake<Parcel>>,
    outlets: Outlets,
    completed: &HashMap<usize, Arc<Completed>>,
) {
    let shared = shared.clone();
    let kind = stage.op.clone().kind();
    let Some(intake) = intake else {
        if let Kind::Source(op) = kind {
            tasks.spawn(source::list(shared, index, op, outlets));
        }
        return;
    };
    match kind {
        Kind::Source(_) => {}
        Kind::Transfer(op) => {
            drop(tasks.spawn(stage::run(shared, index, Work::Transfer(op), intake, outlets)));
        }
        Kind::Compute(_) if stage.is_isolated() => {
            let crew = Crew::new(&shared.plan, &stage.name, shared.workers.as_ref());
            tasks.spawn(stage::run(shared, index, Work::Isolated(crew), intake, outlets));
        }
        Kind::Compute(op) => {
            let work = Work::Compute(op);
            match joining(stage) {
                Some(join) => {
                    let joiner = Joiner { join, whole: Some(work), completed: completed[&index].clone() };
                    tasks.spawn(join::assemble(shared, index, joiner, intake, outlets));
                }
                None => drop(tasks.spawn(stage::run(shared, index, work, intake, outlets))),
            }
        }
        Kind::Expand(op) => {
            let joins = joins_from(&shared.plan.stages, &stage.to, completed);
            tasks.spawn(source::expand(shared, index, op, intake, outlets, joins));
        }
        Kind::Regroup(op) => drop(tasks.spawn(source::regroup(shared, index, op, intake, outlets))),
        Kind::Assemble(join) => {
            let joiner = Joiner { join, whole: None, completed: completed[&index].clone() };
            tasks.spawn(join::assemble(shared, index, joiner, intake, outlets));
        }
        Kind::Gather(op) => drop(tasks.spawn(join::gather(shared, index, op, intake, outlets))),
    }
}
