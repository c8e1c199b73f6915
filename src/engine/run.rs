//! What all parts of a run share: the plan, the pools, the stop, and the one owner of how items end.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::config::{MaxFailures, OnError};
use crate::contract::Failure;
use crate::engine::fingerprint::Manifests;
use crate::engine::isolation::WorkerCommand;
use crate::engine::journey::{Ending, Homecoming, Journey, Parcel};
use crate::engine::pools::Pools;
use crate::engine::remember::Memory;
use crate::engine::stop::{Stop, StopReason};
use crate::events::{Emitter, Event, FailureClass};
use crate::ids::{ItemId, StageName};
use crate::plan::Plan;
use crate::remote::StageClient;
use crate::resources::{ByteLease, Bytes, Requirement};

/// Shares of finished items are judged from this many on.
const JUDGED_FROM: u64 = 100;

/// What all parts of a run share.
pub(crate) struct Shared {
    pub(crate) plan: Arc<Plan>,
    /// The plan for items that the engine cuts: the stages that can join windows do.
    pub(crate) cut_plan: Arc<Plan>,
    pub(crate) pools: Pools,
    pub(crate) memory: Bytes,
    pub(crate) scratch: Bytes,
    pub(crate) unit: Requirement,
    pub(crate) stop: Stop,
    pub(crate) emitter: Emitter,
    /// The client of each stage.
    pub(crate) clients: Vec<StageClient>,
    pub(crate) remembers: Arc<Memory>,
    pub(crate) workers: Option<WorkerCommand>,
    pub(crate) progress: Progress,
    pub(crate) tally: Arc<Tally>,
    /// What an item of this pipeline is fingerprinted with beside its identity.
    pub(crate) manifests: Manifests,
    /// What was told of inputs, by stage.
    pub(crate) warned: Mutex<HashSet<(usize, String)>>,
    /// Whether the items that sources list are those that are done or not; members of groups are not.
    pub(crate) recalls_listed: bool,
}

impl Shared {
    /// Makes requests for one stage and item.
    pub(crate) fn client_of(&self, stage: usize, item: &ItemId) -> StageClient {
        self.clients[stage].for_item(item)
    }

    /// Fails a journey at a stage; the first failure counts and is told.
    pub(crate) fn fail(&self, journey: &Journey, stage: usize, failure: Failure) {
        let plan = &self.plan.stages[stage];
        if failure.class == FailureClass::Cancelled {
            journey.end(Ending::Cancelled);
            return;
        }
        let stops = failure.class == FailureClass::Fatal || plan.on_error == OnError::Stop;
        let message = format!("stage `{}`, item `{}`: {failure}", plan.name, journey.item());
        journey.end(Ending::Failed(plan.name.clone(), failure));
        if stops {
            self.stop.stop_admission(StopReason::Aborted(message));
        }
    }

    /// Tells what a parcel's memory has overdrawn.
    pub(crate) fn tell_overdraft(&self, parcel: &Parcel) {
        let bytes = parcel.memory.as_ref().map_or(0, ByteLease::take_overdrawn);
        if bytes > 0 {
            self.emitter.emit(|| Event::Overdraft { item: parcel.item.id.clone(), bytes });
        }
    }

    /// Tells what a user should know of a parcel's input, each sentence once for a stage.
    pub(crate) fn tell_warnings(&self, stage: usize, parcel: &Parcel) {
        let Some(path) = &parcel.path else { return };
        let plan = &self.plan.stages[stage];
        for message in plan.op.warnings(&path.input) {
            let mut told = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
            if told.insert((stage, message.clone())) {
                let (stage, item) = (plan.name.clone(), parcel.item.id.clone());
                self.emitter.emit(|| Event::StageWarned { stage, item, message });
            }
        }
    }

    /// Why an item is not run, if it is done or was not asked for.
    pub(crate) fn recall(&self, parcel: &Parcel) -> Option<String> {
        let item = &parcel.item;
        let fingerprint = || self.manifests.of_item(item);
        if let Some(foresight) = self.remembers.foresight() {
            foresight.judge(&self.plan, item, self.remembers.verdict_of(&item.id, fingerprint));
            return Some("nothing is run".into());
        }
        self.remembers.recall(&item.id, fingerprint)
    }

    /// Tells the ledger that an item is under way.
    pub(crate) async fn on_admitted(&self, parcel: &Parcel) {
        self.tally.admitted.fetch_add(1, Ordering::Relaxed);
        self.remembers.begin(&parcel.item.id, self.manifests.of_item(&parcel.item)).await;
    }
}

/// Counts what moves, for the watchdog.
#[derive(Default)]
pub(crate) struct Progress {
    steps: AtomicU64,
    running: AtomicU64,
}

impl Progress {
    /// Something begins to run; it ends when the guard is dropped.
    pub(crate) fn begin(self: &Progress) -> Running<'_> {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(self)
    }

    /// Waits within something that runs: while it does, that does not count as running.
    pub(crate) async fn pause_for<T>(&self, wait: impl Future<Output = T>) -> T {
        let _paused = Paused::begin(self);
        wait.await
    }

    /// (steps so far, running now)
    pub(crate) fn read(&self) -> (u64, u64) {
        (self.steps.load(Ordering::Relaxed), self.running.load(Ordering::Relaxed))
    }
}

/// Something that runs.
pub(crate) struct Running<'a>(&'a Progress);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        self.0.steps.fetch_add(1, Ordering::Relaxed);
    }
}

/// Something that runs and waits for others meanwhile.
struct Paused<'a>(&'a Progress);

impl<'a> Paused<'a> {
    fn begin(progress: &'a Progress) -> Self {
        progress.running.fetch_sub(1, Ordering::Relaxed);
        Self(progress)
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_add(1, Ordering::Relaxed);
        self.0.steps.fetch_add(1, Ordering::Relaxed);
    }
}

/// How many items ended in which way, and what that means for the run.
pub(crate) struct Tally {
    pub(crate) done: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) skipped: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) admitted: AtomicU64,
    /// Of those that were admitted.
    pub(crate) ended: AtomicU64,
    emitter: Emitter,
    remembers: Arc<Memory>,
    max_failures: Option<MaxFailures>,
    stop: Stop,
    first_failure: Mutex<Option<(StageName, String)>>,
    home: Notify,
}

impl Tally {
    pub(crate) fn new(
        emitter: Emitter,
        remembers: Arc<Memory>,
        max_failures: Option<MaxFailures>,
        stop: Stop,
    ) -> Self {
        let zero = AtomicU64::default;
        Self {
            done: zero(),
            failed: zero(),
            skipped: zero(),
            cancelled: zero(),
            admitted: zero(),
            ended: zero(),
            emitter,
            remembers,
            max_failures,
            stop,
            first_failure: Mutex::new(None),
            home: Notify::new(),
        }
    }

    /// Items that were admitted and have not ended.
    pub(crate) fn under_way(&self) -> u64 {
        let ended = self.ended.load(Ordering::Relaxed);
        self.admitted.load(Ordering::Relaxed).saturating_sub(ended)
    }

    /// Waits until nothing is under way.
    pub(crate) async fn all_home(&self) {
        loop {
            let mut home = std::pin::pin!(self.home.notified());
            // Before the count is read, so that an end in between is not missed.
            home.as_mut().enable();
            if self.under_way() == 0 {
                return;
            }
            home.await;
        }
    }

    fn on_failed(&self, item: &ItemId, stage: StageName, failure: Failure) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        self.remembers.on_failed(item, &stage, &failure);
        let mut first = self.first_failure.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| (stage.clone(), failure.message.clone()));
        drop(first);
        self.emitter.emit(|| Event::ItemFailed {
            item: item.clone(),
            stage,
            class: failure.class,
            message: failure.message,
        });
        if self.is_too_many(JUDGED_FROM) {
            let failed = self.failed.load(Ordering::Relaxed);
            self.stop.stop_admission(StopReason::Aborted(format!(
                "{failed} items failed, more than `max-failures`"
            )));
        }
    }

    /// Whether more items failed than the pipeline allows; shares are judged once `from` items have ended.
    pub(crate) fn is_too_many(&self, from: u64) -> bool {
        let failed = self.failed.load(Ordering::Relaxed);
        let ended = failed + self.done.load(Ordering::Relaxed);
        match self.max_failures {
            None => false,
            Some(MaxFailures::Count(most)) => failed > most,
            Some(MaxFailures::Share(share)) => ended >= from && failed as f64 > share.0 * ended as f64,
        }
    }
}

impl Homecoming for Tally {
    fn on_end(&self, item: &ItemId, was_admitted: bool, ending: Ending) {
        match ending {
            Ending::Done => {
                self.done.fetch_add(1, Ordering::Relaxed);
                self.remembers.on_done(item);
                self.emitter.emit(|| Event::ItemFinished { item: item.clone() });
            }
            Ending::Failed(stage, failure) => self.on_failed(item, stage, failure),
            Ending::Cancelled => {
                self.cancelled.fetch_add(1, Ordering::Relaxed);
            }
            Ending::Absorbed => {}
            Ending::Skipped(reason) => {
                self.skipped.fetch_add(1, Ordering::Relaxed);
                self.emitter.emit(|| Event::ItemSkipped { item: item.clone(), reason });
            }
        }
        self.ended.fetch_add(u64::from(was_admitted), Ordering::Relaxed);
        self.home.notify_waiters();
    }
}
