//! Runs a plan: tasks, queues, retries, cancellation, policy.
//!
//! Each stage is a task with a bounded queue before it ([`queue`]); the gate ([`gate`]) stands where items stop being
//! metadata. An item's way and memory are worked out there ([`path`]), and its end is the end of the last part of it
//! ([`journey`]). The run ends when every source has ended and everything pending is done.

mod attempt;
mod contexts;
mod cut;
mod fingerprint;
mod foresight;
mod gate;
mod headers;
mod isolation;
mod join;
mod journey;
mod late;
mod outlets;
mod path;
mod pools;
mod queue;
mod remember;
mod rows;
mod run;
mod source;
mod stage;
mod standing;
mod stop;
mod watch;
mod wiring;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::contract::Kind;
use crate::events::Emitter;
use crate::ids::ResourceName;
use crate::plan::{Plan, StagePlan};
use crate::remote::{Client, StageSettings};
use crate::resources::Bytes;

pub use fingerprint::{Fingerprint, Manifests};
pub use foresight::{Fate, Foreseen, Prospect, foresee};
pub use isolation::{Greeting, WorkerCommand, serve};
pub use pools::RememberedLimits;
pub use remember::{Ask, Memory};
pub use standing::{Standings, of_objects, unasked_objects};
pub use stop::{Stop, StopReason};

use run::{Progress, Shared, Tally};

/// What a run is given beside its plan.
pub struct Services {
    /// Takes every event.
    pub emitter: Emitter,
    /// Makes requests.
    pub client: Client,
    /// Remembers items across runs.
    pub memory: Arc<Memory>,
    /// Ends the run early.
    pub stop: Stop,
    /// How worker processes are started; needed where a stage is isolated.
    pub workers: Option<WorkerCommand>,
    /// How often the use of everything is told.
    pub sample_every: Duration,
    /// How long nothing may move before that is told.
    pub stall_after: Duration,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Items whose every output is there.
    pub done: u64,
    /// Items that a stage failed.
    pub failed: u64,
    /// Items that were done already.
    pub skipped: u64,
    /// Items that the run's end came before.
    pub cancelled: u64,
    /// Why the run ended early, if it did.
    pub stopped: Option<StopReason>,
    /// The largest sum of reservations, in bytes.
    pub peak_reserved: u64,
    /// The limits that adaptive resources stand at.
    pub limits: Vec<(ResourceName, u64)>,
}

/// Runs a plan to its end. Everything that was admitted is awaited; dropping the future abandons the run.
pub async fn run(plan: Arc<Plan>, services: Services) -> Outcome {
    let shared = share(&plan, &services);
    let mut tasks = JoinSet::new();
    let gauges = wiring::spawn(&shared, &mut tasks);
    let (mut watchers, mut sampler, mut stopping) = (JoinSet::new(), JoinSet::new(), JoinSet::new());
    let ended = CancellationToken::new();
    if services.emitter.is_heard() {
        let ended = ended.clone();
        sampler.spawn(watch::sample(shared.clone(), gauges.clone(), services.sample_every, ended));
    }
    stopping.spawn(watch::stopping(shared.clone()));
    watchers.spawn(watch::stalls(shared.clone(), gauges, services.stall_after));
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            shared.stop.abort_work(StopReason::Aborted(format!("a stage ended: {error}")));
        }
    }
    watchers.shutdown().await;
    // What stopped the run is told even where the run ended before that task had its turn.
    if shared.stop.admission().is_cancelled() {
        drop(stopping.join_all().await);
    }
    ended.cancel();
    drop(sampler.join_all().await);
    outcome(&shared, &plan)
}

fn share(plan: &Arc<Plan>, services: &Services) -> Arc<Shared> {
    let pools = pools::Pools::new(plan, services);
    let budget =
        |name: &str| pools.budget(name).cloned().unwrap_or_else(|| Bytes::new(name.into(), u64::MAX >> 1));
    let settings = |stage: &StagePlan| StageSettings {
        host_rates: pools.host_rates(stage, false),
        host_byte_rates: pools.host_rates(stage, true),
        stage: Some(stage.name.clone()),
        requirement: pools.requirement(stage),
        retry: stage.retry,
        timeout: stage.timeout,
        events: services.emitter.clone(),
    };
    let clients = plan.stages.iter().map(|stage| services.client.for_stage(settings(stage))).collect();
    let (emitter, stop) = (services.emitter.clone(), services.stop.clone());
    let tally = Tally::new(emitter.clone(), services.memory.clone(), plan.run.max_failures, stop.clone());
    Arc::new(Shared {
        memory: budget("memory"),
        scratch: budget("scratch"),
        unit: pools.unit(plan),
        manifests: fingerprint::Manifests::of_plan(plan),
        warned: std::sync::Mutex::default(),
        recalls_listed: !plan.stages.iter().any(|stage| matches!(stage.op.clone().kind(), Kind::Regroup(_))),
        cut_plan: cut::plan_of_windows(plan),
        plan: plan.clone(),
        pools,
        stop,
        emitter,
        clients,
        remembers: services.memory.clone(),
        workers: services.workers.clone(),
        progress: Progress::default(),
        tally: Arc::new(tally),
    })
}

fn outcome(shared: &Shared, plan: &Plan) -> Outcome {
    let tally = &shared.tally;
    if tally.is_too_many(0) && shared.stop.reason().is_none() {
        let failed = tally.failed.load(Ordering::Relaxed);
        let message = format!("{failed} items failed, more than `max-failures` allows");
        shared.stop.stop_admission(StopReason::Aborted(message));
    }
    let is_adaptive = |name: &ResourceName| {
        plan.resources.iter().any(|resource| {
            resource.name == *name && matches!(resource.limit, crate::plan::Limit::Adaptive { .. })
        })
    };
    let found = shared.pools.all_slots().iter().filter(|slots| is_adaptive(slots.name()));
    let limits: Vec<_> = found.map(|slots| (slots.name().clone(), slots.limit())).collect();
    Outcome {
        done: tally.done.load(Ordering::Relaxed),
        failed: tally.failed.load(Ordering::Relaxed),
        skipped: tally.skipped.load(Ordering::Relaxed),
        cancelled: tally.cancelled.load(Ordering::Relaxed),
        stopped: shared.stop.reason(),
        peak_reserved: shared.memory.peak(),
        limits,
    }
}
