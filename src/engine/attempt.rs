//! One stage's work on one item: tries, waits between them, timeouts, and the events that tell of them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::contract::{Failure, Item};
use crate::engine::journey::Parcel;
use crate::engine::run::Shared;
use crate::events::{Event, FailureClass, Waits};
use crate::ids::{ItemId, StageName};
use crate::plan::StagePlan;
use crate::remote::{Next, Tries};
use crate::resources::{LeaseSet, Requirement};

/// One try: the leases it holds, what cancels it, and which try it is.
pub(crate) struct Attempt {
    /// What it holds; travels with the work and comes back when that ends.
    pub(crate) leases: LeaseSet,
    /// Cancelled by the run's abort and by the try's timeout.
    pub(crate) cancel: CancellationToken,
    /// Counted from 1.
    pub(crate) number: u32,
}

/// What one try gave, beside its output itself.
#[derive(Clone, Copy)]
pub(crate) struct Yield {
    /// Bytes that the output holds.
    pub(crate) bytes: u64,
    /// How many items go on.
    pub(crate) items: u64,
}

impl Yield {
    /// Nothing goes on.
    pub(crate) const NOTHING: Self = Self { bytes: 0, items: 0 };

    /// One item goes on that holds so many bytes.
    pub(crate) fn one(bytes: u64) -> Self {
        Self { bytes, items: 1 }
    }
}

/// The bytes that an item's payload holds.
pub(crate) fn held_by(item: &Item) -> u64 {
    item.payload.held()
}

/// Works until it succeeds, fails for good, or has no tries left. No slot is held while a retry sleeps.
///
/// # Errors
/// The last try's failure.
pub(crate) async fn persist<T, F>(
    shared: &Arc<Shared>,
    stage: &StagePlan,
    parcel: &Parcel,
    mut waits: Waits,
    mut work: impl FnMut(Attempt) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<(T, Yield), Failure>>,
{
    let requirement =
        if stage.is_per_request { Requirement::default() } else { shared.pools.requirement(stage) };
    let mut tries = Tries::begin(&stage.retry);
    loop {
        let number = tries.made();
        let leases = tokio::select! {
            biased;
            () = shared.stop.work().cancelled() => return Err(Failure::cancelled()),
            leases = requirement.take_for(label_of(stage, parcel)) => leases,
        };
        waits.resources.clone_from(&leases.waited);
        let attempt = Attempt { leases, cancel: shared.stop.work().child_token(), number };
        let (worked, failure) = match try_once(shared, stage, parcel, waits, attempt, &mut work).await {
            Ok(result) => return Ok(result),
            Err(failed) => failed,
        };
        let delay = pause_before_next(stage, &failure, &mut tries);
        let ended = Ended { number, worked, delay };
        shared.emitter.emit(|| ended.event(stage.name.clone(), parcel.item.id.clone(), &failure));
        let Some(delay) = delay else { return Err(failure) };
        // A pause that ends by itself is no standstill.
        let _running = shared.progress.begin();
        tokio::select! {
            () = shared.stop.work().cancelled() => return Err(Failure::cancelled()),
            () = tokio::time::sleep(delay) => {}
        }
        waits = Waits { retry: delay.as_secs_f64(), ..Waits::default() };
    }
}

/// Who waits and who holds, for the watchdog.
fn label_of(stage: &StagePlan, parcel: &Parcel) -> Arc<str> {
    format!("stage `{}`, item `{}`", stage.name, parcel.item.id).into()
}

/// A try that failed.
struct Ended {
    number: u32,
    worked: f64,
    /// Until the next one, if there is one.
    delay: Option<Duration>,
}

impl Ended {
    /// The one event that ends the try.
    fn event(&self, stage: StageName, item: ItemId, failure: &Failure) -> Event {
        let (attempt, worked, message) = (self.number, self.worked, failure.message.clone());
        match self.delay {
            Some(delay) => {
                Event::StageRetried { stage, item, attempt, worked, delay: delay.as_secs_f64(), message }
            }
            None if failure.class == FailureClass::Cancelled => {
                Event::StageCancelled { stage, item, attempt, worked }
            }
            None => Event::StageFailed { stage, item, attempt, worked, class: failure.class, message },
        }
    }
}

/// One try; tells its start and its good end. A failure comes with the seconds that it worked.
async fn try_once<T, F>(
    shared: &Arc<Shared>,
    stage: &StagePlan,
    parcel: &Parcel,
    waited: Waits,
    attempt: Attempt,
    work: &mut impl FnMut(Attempt) -> F,
) -> Result<T, (f64, Failure)>
where
    F: Future<Output = Result<(T, Yield), Failure>>,
{
    let _running = shared.progress.begin();
    let number = attempt.number;
    let (name, item) = (&stage.name, &parcel.item.id);
    shared.emitter.emit(|| Event::StageStarted {
        stage: name.clone(),
        item: item.clone(),
        attempt: number,
        waited,
    });
    let begun = Instant::now();
    let cancel = attempt.cancel.clone();
    let result = within(stage, &cancel, work(attempt)).await;
    let worked = begun.elapsed().as_secs_f64();
    shared.tell_overdraft(parcel);
    let (output, made) = result.map_err(|failure| (worked, failure))?;
    shared.emitter.emit(|| Event::StageFinished {
        stage: name.clone(),
        item: item.clone(),
        attempt: number,
        worked,
        bytes_in: held_by(&parcel.item),
        bytes_out: made.bytes,
        outputs: made.items,
    });
    Ok(output)
}

/// The work under the stage's timeout; where requests are made, each has the timeout for itself.
async fn within<T>(
    stage: &StagePlan,
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let Some(limit) = stage.timeout.filter(|_| !stage.is_per_request) else { return work.await };
    tokio::pin!(work);
    tokio::select! {
        result = &mut work => result,
        () = tokio::time::sleep(limit) => {
            cancel.cancel();
            match work.await {
                Err(failure) if failure.class != FailureClass::Cancelled => Err(failure),
                _ => Err(Failure::transient(format!("took longer than its timeout of {limit:?}"))),
            }
        }
    }
}

/// How long to sleep before the next try, if there is one; where requests are made, each is tried again for itself.
fn pause_before_next(stage: &StagePlan, failure: &Failure, tries: &mut Tries) -> Option<Duration> {
    if failure.class != FailureClass::Transient || stage.is_per_request {
        return None;
    }
    match tries.next(failure.retry_after) {
        Next::After(delay) => Some(delay),
        Next::GiveUp | Next::AskedTooMuch => None,
    }
}
