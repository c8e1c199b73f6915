//! The loop of a stage: take what waits, when there is a place for what comes of it, and work on several at once.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::contract::blocking;
use crate::contract::{Compute, Failure, Item, Transfer};
use crate::engine::attempt::{Attempt, Yield, persist};
use crate::engine::contexts;
use crate::engine::isolation::Crew;
use crate::engine::journey::{Ending, Parcel};
use crate::engine::late;
use crate::engine::outlets::{Outlets, Places};
use crate::engine::queue::Intake;
use crate::engine::run::Shared;
use crate::events::Waits;
use crate::resources::Slots;

/// How a one-to-one stage works.
#[derive(Clone)]
pub(crate) enum Work {
    /// Waits for others.
    Transfer(Arc<dyn Transfer>),
    /// Computes on a blocking thread.
    Compute(Arc<dyn Compute>),
    /// Computes in a worker process.
    Isolated(Arc<Crew>),
}

/// Runs a one-to-one stage until its queue is closed and empty and all its work has ended.
pub(crate) async fn run(
    shared: Arc<Shared>,
    stage: usize,
    work: Work,
    mut intake: Intake<Parcel>,
    outlets: Outlets,
) {
    let plan = &shared.plan.stages[stage];
    let hands = Slots::fixed(format!("hands of {}", plan.name).into(), plan.parallelism.max(1) as u64);
    let mut workers = JoinSet::new();
    loop {
        let hand = hands.acquire(1).await;
        while workers.try_join_next().is_some() {}
        if !intake.is_ready().await {
            break;
        }
        let begun = Instant::now();
        let places = outlets.places().await;
        let Some(parcel) = intake.pop() else { continue };
        let waits = waits_of(&parcel, begun);
        let (shared, work) = (shared.clone(), work.clone());
        workers.spawn(async move {
            step(&shared, stage, &work, parcel, places, waits).await;
            drop(hand);
        });
    }
    while workers.join_next().await.is_some() {}
}

/// The time in the queue and for places, told apart by when the dispatcher turned to the item.
pub(crate) fn waits_of(parcel: &Parcel, begun: Instant) -> Waits {
    let now = Instant::now();
    let turned = begun.max(parcel.since);
    Waits {
        queue: turned.saturating_duration_since(parcel.since).as_secs_f64(),
        places: now.saturating_duration_since(turned).as_secs_f64(),
        ..Waits::default()
    }
}

/// Works on one parcel and sends on what came of it.
pub(crate) async fn step(
    shared: &Arc<Shared>,
    stage: usize,
    work: &Work,
    parcel: Parcel,
    places: Places,
    waits: Waits,
) {
    if parcel.journey.is_lost() {
        return;
    }
    if is_too_late(shared, &parcel) {
        parcel.journey.end(Ending::Cancelled);
        return;
    }
    let journey = parcel.journey.clone();
    let parcel = match late::find_way(shared, stage, parcel).await {
        Ok(parcel) => parcel,
        Err((stage, failure)) => return shared.fail(&journey, stage, failure),
    };
    shared.tell_warnings(stage, &parcel);
    let plan = &shared.plan.stages[stage];
    let result = persist(shared, plan, &parcel, waits, |attempt| {
        let (shared, work, parcel) = (shared.clone(), work.clone(), parcel.clone());
        async move { guarded(&shared, stage, &work, parcel, attempt).await }
    })
    .await;
    match result {
        Ok(Some(item)) => places.send(&Parcel { item, ..parcel }),
        Ok(None) => drop(parcel.journey.end(Ending::Absorbed)),
        Err(failure) => shared.fail(&parcel.journey, stage, failure),
    }
}

/// Whether the run has ended for this parcel: all work, or, for one that was not admitted, admission.
pub(crate) fn is_too_late(shared: &Shared, parcel: &Parcel) -> bool {
    shared.stop.work().is_cancelled()
        || (shared.stop.admission().is_cancelled() && !parcel.journey.is_admitted())
}

/// One try; a panic of asynchronous work becomes a failure as one on a thread does.
async fn guarded(
    shared: &Arc<Shared>,
    stage: usize,
    work: &Work,
    parcel: Parcel,
    attempt: Attempt,
) -> Result<(Option<Item>, Yield), Failure> {
    let Attempt { leases, cancel, .. } = attempt;
    let output = match work {
        Work::Compute(op) => {
            let (op, context) = (op.clone(), contexts::compute(shared, stage, &parcel, &cancel));
            let item = parcel.item;
            blocking::run(&cancel, leases, move || op.compute(item, &context)).await.map(Some)?
        }
        Work::Isolated(crew) => {
            let context = contexts::compute(shared, stage, &parcel, &cancel);
            crew.work(parcel.item, context, leases).await.map(Some)?
        }
        Work::Transfer(op) => {
            let context = contexts::transfer(shared, stage, &parcel, &cancel);
            let (op, item) = (op.clone(), parcel.item);
            let patience = if op.ends_itself() { blocking::PATIENCE } else { Duration::ZERO };
            let work = AssertUnwindSafe(op.transfer(item, context)).catch_unwind();
            let ended = tokio::select! {
                ended = work => ended,
                () = cancelled_for(&cancel, patience) => return Err(Failure::cancelled()),
            };
            drop(leases);
            ended.unwrap_or_else(|panic| Err(blocking::panicked(panic.as_ref())))?
        }
    };
    let made = output.as_ref().map_or(Yield::NOTHING, |item| Yield::one(item.payload.held()));
    Ok((output, made))
}

/// Returns once the work has been cancelled for so long.
async fn cancelled_for(cancel: &CancellationToken, patience: Duration) {
    cancel.cancelled().await;
    if !patience.is_zero() {
        tokio::time::sleep(patience).await;
    }
}
