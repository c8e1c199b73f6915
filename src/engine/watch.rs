//! What is looked at from time to time while a run goes on: the use of everything, and whether anything moves.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::engine::queue::Gauge;
use crate::engine::run::Shared;
use crate::events::{Event, QueueSample, ResourceSample};
use crate::ids::StageName;
use crate::machine::ProcessReading;

/// The queue into each stage, as seen from outside.
pub(crate) type Gauges = Vec<(StageName, Gauge)>;

/// Tells the use of everything.
pub(crate) struct Sampler {
    shared: Arc<Shared>,
    gauges: Gauges,
    /// Of each rate, the tokens taken when it was read last.
    taken: Vec<u64>,
}

impl Sampler {
    /// Has told nothing yet.
    pub(crate) fn new(shared: Arc<Shared>, gauges: Gauges) -> Self {
        let taken = shared.pools.read_rates().map(|_| 0).collect();
        Self { shared, gauges, taken }
    }

    /// Tells once every `period`, until `end`, and then how everything was left.
    pub(crate) async fn run(mut self, period: Duration, end: CancellationToken) {
        let mut ticks = tokio::time::interval(period);
        while end.run_until_cancelled(ticks.tick()).await.is_some() {
            self.tell();
        }
        self.tell();
    }

    fn tell(&mut self) {
        let process = ProcessReading::now();
        self.shared.emitter.emit(|| Event::Sample {
            resources: resources(&self.shared, &mut self.taken),
            queues: queues(&self.gauges),
            descriptors: process.descriptors,
            threads: process.threads,
            resident: process.resident,
            cpu: process.cpu_seconds,
        });
    }
}

fn resources(shared: &Shared, taken: &mut [u64]) -> Vec<ResourceSample> {
    let slots = shared.pools.all_slots().iter().map(|slots| ResourceSample {
        name: slots.name().clone(),
        used: slots.used() as f64,
        limit: slots.limit() as f64,
        waiting: slots.waiting(),
    });
    let budgets = shared.pools.all_budgets().iter().map(|budget| ResourceSample {
        name: budget.name().clone(),
        used: budget.used() as f64,
        limit: budget.capacity() as f64,
        waiting: budget.waiting(),
    });
    let rates = shared.pools.read_rates().zip(taken).map(|(rate, before)| {
        let used = (rate.taken - std::mem::replace(before, rate.taken)) as f64;
        ResourceSample { name: rate.name, used, limit: rate.per_second, waiting: rate.waiting }
    });
    slots.chain(budgets).chain(rates).collect()
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
