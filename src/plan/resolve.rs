//! Load → compile → follow the items → size → share out → assemble; every fault of every step is collected.

use std::sync::Arc;

use super::defaults::{REQUEST_TIMEOUT, RETRY};
use super::demand::{self, Demand};
use super::flow::{self, Through};
use super::graph::StageGraph;
use super::parallelism::{self, Parallelism, Queue};
use super::resources::Resources;
use super::run_options::{self, Places};
use super::sizes::Basis;
use super::stages::{self, Draft};
use super::unit::Unit;
use super::{MemoryTotal, Plan, RunPlan, StagePlan, codes, unused};
use crate::config::{AsWritten, Fault, Isolation, RetryOptions, Severity};
use crate::contract::{Kind, Op, Registry, Take};
use crate::machine::{self, Granted, Machine};
use crate::remote::RetryPolicy;

/// Free disk where the system does not tell.
const ASSUMED_DISK: u64 = 10 << 30;

/// Resolves a pipeline for a machine: every number with its derivation, and the typed graph.
///
/// The faults are all there are, warnings included, sorted by place; with an error among them there is no plan.
pub fn resolve(written: &AsWritten, registry: &Registry, machine: &Machine) -> (Option<Plan>, Vec<Fault>) {
    let places = Places::of(written);
    let disk = machine::free_disk(&places.scratch)
        .map_or_else(|| Granted::new(ASSUMED_DISK, "assumed"), |free| Granted::new(free, "free disk"));
    let is_disk_memory = machine::is_in_memory(&places.scratch);
    resolve_on(written, registry, &Basis { machine, disk, is_disk_memory }, places)
}

/// The same, with the free disk as given.
pub(super) fn resolve_on(
    written: &AsWritten,
    registry: &Registry,
    basis: &Basis,
    places: Places,
) -> (Option<Plan>, Vec<Fault>) {
    let mut faults = Vec::new();
    if written.stages.is_empty() {
        faults.push(no_stages(written));
    }
    let stages = stages::compile(written, registry, &places.folder, &mut faults);
    let graph = StageGraph::build(&stages, &mut faults);
    let ports = flow::follow(&stages, &graph, &mut faults);
    let resources = Resources::size(written, basis, &mut faults);
    let unit = Unit::of(written, &resources, &mut faults);
    let mut works: Vec<Work> =
        stages.iter().map(|stage| Work::of(stage, &resources, &unit, written, &mut faults)).collect();
    share_headers(&stages, &graph, &resources, &mut works);
    faults.extend(unused::outputs(&stages, &ports));
    faults.extend(stages.iter().filter_map(parallelism::queue_of_source));
    let idle = idle_parts(written, &stages, &graph, &ports, &works, &faults);
    faults.extend(idle);

    let is_sound = faults.iter().all(|fault| fault.severity != Severity::Error);
    let plan = is_sound.then(|| {
        let assembly = Assembly { written, basis, stages: &stages, graph: &graph, ports: &ports, works };
        let plan = assembly.plan(&resources, unit, places);
        faults.extend(plan.memory.warning(written, &resources));
        plan
    });
    faults.sort_by_key(|fault| (fault.span.start, fault.span.end));
    (plan, faults)
}

fn no_stages(written: &AsWritten) -> Fault {
    Fault::error(codes::NO_SOURCE, written.name.span.clone(), "the pipeline has no stage")
        .help("add a source, for example `[stages.scenes]` with `glob = { paths = [\"in/*.tif\"] }`")
}

/// Warnings of what nothing uses, where no fault hides who would.
fn idle_parts(
    written: &AsWritten,
    stages: &[Draft],
    graph: &StageGraph,
    ports: &[Through],
    works: &[Work],
    told: &[Fault],
) -> Vec<Fault> {
    let demands: Vec<Demand> = works.iter().map(|work| work.demand.clone()).collect();
    let is_told = |codes: &[&str]| told.iter().any(|fault| codes.contains(&fault.code));
    let mut faults = unused::grids(written);
    faults.extend(unused::parameters(written));
    faults.extend(stages.iter().filter_map(unused::isolation));
    if !is_told(&[codes::UNKNOWN_STAGE, codes::MISSING_FROM, codes::CYCLE]) {
        faults.extend(unused::stages(stages, graph, ports));
    }
    if !is_told(&[codes::UNKNOWN_RESOURCE, codes::UNKNOWN_OP]) && stages.iter().all(Draft::is_compiled) {
        faults.extend(unused::resources(written, &demands));
    }
    faults
}

/// What a stage's work takes, and how one piece of it is tried.
#[derive(Clone)]
struct Work {
    demand: Demand,
    is_per_request: bool,
    retry: RetryPolicy,
    timeout: Option<std::time::Duration>,
}

impl Work {
    fn of(
        stage: &Draft,
        resources: &Resources,
        unit: &Unit,
        written: &AsWritten,
        faults: &mut Vec<Fault>,
    ) -> Self {
        let demand = demand::of_stage(stage, resources, unit, &written.text, faults);
        let is_source = stage.is_kind(|kind| matches!(kind, Kind::Source(_)));
        let is_per_request = is_source || stage.takes().contains(&Take::Connections);
        let timeout = stage.written.timeout.as_ref().map(|timeout| timeout.value);
        Self {
            demand,
            is_per_request,
            retry: retry(stage.written.retry, is_per_request),
            timeout: timeout.or(is_per_request.then_some(REQUEST_TIMEOUT)),
        }
    }
}

/// What the pipeline says, over the defaults: requests are tried again, other work only where `retry` stands.
fn retry(written: Option<RetryOptions>, is_per_request: bool) -> RetryPolicy {
    let tries = if is_per_request || written.is_some() { RETRY.tries } else { 1 };
    let written = written.unwrap_or_default();
    RetryPolicy {
        tries: written.tries.unwrap_or(tries).max(1),
        first_delay: written.first_delay.unwrap_or(RETRY.first_delay),
        max_delay: written.max_delay.unwrap_or(RETRY.max_delay),
        total: written.total.unwrap_or(RETRY.total),
    }
}

/// Headers for windows and groups take what the first `fetch` below them takes, and are tried as it says.
fn share_headers(stages: &[Draft], graph: &StageGraph, resources: &Resources, works: &mut [Work]) {
    for (index, stage) in stages.iter().enumerate().filter(|(_, stage)| stage.remakes_items()) {
        let Some(below) = request_stage(index, stages, graph) else { continue };
        let fetch = works[below].clone();
        let own = &mut works[index];
        own.demand.join(&fetch.demand, resources);
        own.is_per_request = true;
        if stage.written.retry.is_none() {
            own.retry = fetch.retry;
        }
        own.timeout = stage.written.timeout.as_ref().map(|timeout| timeout.value).or(fetch.timeout);
    }
}

/// The first stage below one that moves bytes by requests.
fn request_stage(index: usize, stages: &[Draft], graph: &StageGraph) -> Option<usize> {
    let moves = |stage: &Draft| stage.is_kind(|kind| matches!(kind, Kind::Transfer(_)));
    let requests = |below: &usize| {
        let stage = &stages[*below];
        moves(stage) && stage.takes().contains(&Take::Connections) && stage.takes().contains(&Take::Memory)
    };
    graph.below(index).into_iter().find(requests)
}

/// A pipeline without faults, about to become a plan.
struct Assembly<'a> {
    written: &'a AsWritten,
    basis: &'a Basis<'a>,
    stages: &'a [Draft<'a>],
    graph: &'a StageGraph,
    ports: &'a [Through],
    works: Vec<Work>,
}

impl Assembly<'_> {
    fn plan(&self, resources: &Resources, unit: Unit, places: Places) -> Plan {
        let machine = self.basis.machine;
        let run = &self.written.run;
        let mut plan = Plan {
            name: self.written.name.value.clone(),
            pipeline: self.written.path.clone(),
            folder: places.folder,
            machine: machine.clone(),
            resources: resources.plans.clone(),
            stages: self.stage_plans(resources),
            run: RunPlan {
                max_failures: run.max_failures.as_ref().map(|most| most.value),
                grace: run.grace.as_ref().map(|grace| grace.value),
                gdal_cache: run_options::gdal_cache(self.written, machine),
                scratch: places.scratch,
                ledger: places.ledger,
                unit: unit.slots,
            },
            memory: MemoryTotal { parts: Vec::new(), total: 0, granted: machine.memory.clone() },
        };
        let programs: Vec<bool> =
            self.graph.order.iter().map(|&index| self.stages[index].runs_programs()).collect();
        plan.memory = MemoryTotal::of(&plan, self.basis.is_disk_memory, resources, &programs);
        plan
    }

    fn stage_plans(&self, resources: &Resources) -> Vec<StagePlan> {
        let parallelism: Vec<Parallelism> = (self.stages.iter().zip(&self.works))
            .map(|(stage, work)| {
                let requests = work.is_per_request;
                Parallelism::of(stage, &work.demand, requests, resources, self.basis.machine)
            })
            .collect();
        self.graph.order.iter().filter_map(|&index| self.stage_plan(index, &parallelism)).collect()
    }

    /// One stage; `None` only for one with faults, of which there are none here.
    fn stage_plan(&self, index: usize, parallelism: &[Parallelism]) -> Option<StagePlan> {
        let (stage, work) = (&self.stages[index], &self.works[index]);
        let through = &self.ports[index];
        let op = op_of(&stage.compiled.as_ref()?.op, through.is_windowed);
        let joining = joining(&op, stage, through);
        let feeders: Vec<usize> = self.graph.feeders[index].iter().map(|feeder| feeder.stage).collect();
        let fed: Vec<(&str, u64)> =
            feeders.iter().map(|&feeder| (self.stages[feeder].name(), parallelism[feeder].items)).collect();
        let queue = Queue::of(stage.written.queue.as_ref(), &fed);
        Some(StagePlan {
            name: stage.written.name.value.clone(),
            op_name: stage.written.op.value.clone(),
            accepts: through.accepts,
            gives: through.gives?,
            from: feeders.iter().map(|&feeder| self.place(feeder)).collect(),
            to: self.graph.consumers(index).into_iter().map(|consumer| self.place(consumer)).collect(),
            slots: work.demand.slots.clone(),
            rates: work.demand.rates.clone(),
            memory: work.demand.memory,
            is_per_request: work.is_per_request,
            queue: queue.places as usize,
            queue_derivation: queue.derivation,
            parallelism: parallelism[index].items as usize,
            bound_by: parallelism[index].bound_by.clone(),
            timeout: work.timeout,
            retry: work.retry,
            on_error: stage.written.on_error,
            isolation: stage.written.isolation,
            manifest: serde_json::json!({ "op": stage.written.op.value, "options": op.manifest() }),
            op,
            joining,
        })
    }

    /// The place in topological order of a stage counted by declaration.
    fn place(&self, stage: usize) -> usize {
        self.graph
            .order
            .iter()
            .position(|&other| other == stage)
            .expect("a graph without circles orders all stages")
    }
}

/// The op as it works on what comes in: one that could join windows works on wholes where there are none.
fn op_of(op: &Arc<dyn Op>, is_windowed: bool) -> Arc<dyn Op> {
    let joins_nothing = !is_windowed && matches!(op.clone().kind(), Kind::Assemble(_));
    joins_nothing.then(|| op.clone().of_wholes()).flatten().unwrap_or_else(|| op.clone())
}

/// What joins the windows of items that the engine cuts: in this process, and not below a stage that cuts by itself.
fn joining(op: &Arc<dyn Op>, stage: &Draft, through: &Through) -> Option<Arc<dyn Op>> {
    let is_apart = stage.written.isolation == Isolation::Process;
    if through.is_windowed || is_apart { None } else { op.clone().joining() }
}
