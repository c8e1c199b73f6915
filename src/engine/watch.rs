//! What is looked at from time to time while a run goes on: the use of everything, and whether anything moves.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::engine::queue::Gauge;
use crate::engine::run::Shared;
use crate::events::{Event, ProgramsSample, QueueSample, ResourceSample, Sample};
use crate::ids::StageName;
use crate::machine::{FamilyReading, ProcessReading};

/// The queue into each stage, as seen from outside.
pub(crate) type Gauges = Vec<(StageName, Gauge)>;

/// Tells the use of everything now, once every `period`, and once more when the run has ended.
pub(crate) async fn sample(shared: Arc<Shared>, gauges: Gauges, period: Duration, ended: CancellationToken) {
    let mut ticks = tokio::time::interval(period);
    let mut sampler = Sampler::begin(&shared);
    loop {
        let is_last = tokio::select! {
            _ = ticks.tick() => false,
            () = ended.cancelled() => true,
        };
        shared.emitter.emit(|| Event::Sample(sampler.look(&shared, &gauges)));
        if is_last {
            return;
        }
    }
}

/// What the last sample saw, for what is told as a difference.
struct Sampler {
    taken: Vec<u64>,
    family: FamilyReading,
    at: Instant,
}

impl Sampler {
    fn begin(shared: &Shared) -> Self {
        let taken = shared.pools.read_rates().map(|rate| rate.taken).collect();
        Self { taken, family: FamilyReading::now(), at: Instant::now() }
    }

    fn look(&mut self, shared: &Shared, gauges: &Gauges) -> Sample {
        let (process, family, now) = (ProcessReading::now(), FamilyReading::now(), Instant::now());
        let seconds = now.duration_since(self.at).as_secs_f64();
        let a_second = |spent: f64| if seconds > 0.0 { spent / seconds } else { 0.0 };
        let sample = Sample {
            resources: resources(shared, &mut self.taken),
            queues: queues(gauges),
            descriptors: process.descriptors,
            threads: process.threads,
            resident: process.resident,
            cpu: a_second(family.cpu_since(&self.family)),
            starved: a_second(family.starved_since(&self.family)),
            items: shared.tally.under_way(),
            programs: ProgramsSample {
                running: family.programs,
                runnable: family.runnable_programs,
                resident: family.programs_resident,
                largest: family.largest_program,
            },
        };
        (self.family, self.at) = (family, now);
        sample
    }
}

fn resources(shared: &Shared, taken: &mut [u64]) -> Vec<ResourceSample> {
    let slots = shared.pools.all_slots().iter().map(|slots| ResourceSample {
        name: slots.name().clone(),
        used: slots.used() as f64,
        limit: slots.limit() as f64,
        waiting: slots.waiting(),
        holders: first_of(slots.holders()),
    });
    let budgets = shared.pools.all_budgets().iter().map(|budget| ResourceSample {
        name: budget.name().clone(),
        used: budget.used() as f64,
        limit: budget.capacity() as f64,
        waiting: budget.waiting(),
        holders: first_of(budget.holders()),
    });
    let rates = shared.pools.read_rates().zip(taken).map(|(rate, before)| {
        let used = (rate.taken - std::mem::replace(before, rate.taken)) as f64;
        let (name, limit, waiting) = (rate.name, rate.per_second, rate.waiting);
        ResourceSample { name, used, limit, waiting, holders: Vec::new() }
    });
    slots.chain(budgets).chain(rates).collect()
}

fn first_of(mut holders: Vec<String>) -> Vec<String> {
    holders.truncate(NAMED);
    holders
}

fn queues(gauges: &Gauges) -> Vec<QueueSample> {
    let sample = |(stage, gauge): &(StageName, Gauge)| QueueSample {
        stage: stage.clone(),
        depth: gauge.depth(),
        places: gauge.places().limit(),
    };
    gauges.iter().map(sample).collect()
}

/// How many of those that wait or hold are named for each resource.
const NAMED: usize = 5;

/// Tells when nothing moved and nothing ran for `patience`: who waits for what, and who holds it. Once a standstill.
pub(crate) async fn stalls(shared: Arc<Shared>, gauges: Gauges, patience: Duration) {
    let mut last = shared.progress.read();
    let mut told = None;
    loop {
        tokio::time::sleep(patience).await;
        let now = shared.progress.read();
        if now == last && now.1 == 0 && told != Some(now) {
            let waiting = waiting(&shared, &gauges);
            if !waiting.is_empty() {
                tracing::error!(?waiting, "nothing has moved for {patience:?}");
                shared.emitter.emit(|| Event::Stalled { seconds: patience.as_secs_f64(), waiting });
                told = Some(now);
            }
        }
        last = now;
    }
}

fn waiting(shared: &Shared, gauges: &Gauges) -> Vec<String> {
    let counts = shared.pools.all_slots().iter().cloned();
    let places = gauges.iter().map(|(_, gauge)| gauge.places().clone());
    let slots = counts.chain(places).filter(|slots| slots.waiting() > 0).map(|slots| {
        let held = format!("{} of {}", slots.used(), slots.limit());
        standing(slots.name().as_str(), &slots.waiters(), &held, &slots.holders())
    });
    let budgets = shared.pools.all_budgets().iter().filter(|budget| budget.waiting() > 0).map(|budget| {
        let held = format!("{} of {} bytes", budget.used(), budget.capacity());
        standing(budget.name().as_str(), &budget.waiters(), &held, &budget.holders())
    });
    slots.chain(budgets).collect()
}

/// ``item `b` (60) waits for `memory`, of which 60 of 100 bytes are held by item `a` (60)``
fn standing(name: &str, waiters: &[String], held: &str, holders: &[String]) -> String {
    let verb = if waiters.len() == 1 { "waits" } else { "wait" };
    format!("{} {verb} for `{name}`, of which {held} are held by {}", named(waiters), named(holders))
}

/// The first few, and how many more there are.
fn named(labels: &[String]) -> String {
    let first = labels.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join("; ");
    match labels.len().saturating_sub(NAMED) {
        0 if labels.is_empty() => "nobody".to_owned(),
        0 => first,
        more => format!("{first}; and {more} more"),
    }
}

/// Tells when admission stops, and how many items go on.
pub(crate) async fn stopping(shared: Arc<Shared>) {
    shared.stop.admission().cancelled().await;
    let reason = shared.stop.reason().map_or_else(String::new, |reason| reason.to_string());
    shared.emitter.emit(|| Event::Stopping { reason, running: shared.tally.under_way() });
}
