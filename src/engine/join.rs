//! The loops of stages that join: the windows of a parent into one item, all items into one table.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::contract::blocking;
use crate::contract::{Assemble, Assembly, Failure, Gather, Item, Payload};
use crate::engine::attempt::{Attempt, Yield, persist};
use crate::engine::contexts;
use crate::engine::journey::{Ending, Journey, Parcel};
use crate::engine::outlets::Outlets;
use crate::engine::queue::Intake;
use crate::engine::run::Shared;
use crate::engine::stage::{self, Work, is_too_late, waits_of};
use crate::engine::stop::StopReason;
use crate::events::Waits;
use crate::ids::ItemId;
use crate::resources::Slots;

/// The parents whose windows have all gone by; filled when the last window is dropped, emptied by the stage.
#[derive(Default)]
pub(crate) struct Completed {
    parents: Mutex<Vec<ItemId>>,
    arrived: Notify,
}

impl Completed {
    /// No window of this parent is on its way any more.
    pub(crate) fn push(&self, parent: &ItemId) {
        self.lock().push(parent.clone());
        self.arrived.notify_one();
    }

    fn take(&self) -> Vec<ItemId> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ItemId>> {
        self.parents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Made by the first window that arrives, shared by all, taken out when the last has been added.
type AssemblySlot = Arc<Mutex<Option<Arc<Box<dyn Assembly>>>>>;

/// A parent under assembly, and the journey that it is a part of.
struct Pending {
    assembly: AssemblySlot,
    journey: Arc<Journey>,
    item: Item,
    /// What goes on where the engine cut it.
    whole: Option<Item>,
}

/// A stage that joins windows, and what it does with items that are whole.
pub(crate) struct Joiner {
    pub(crate) join: Arc<dyn Assemble>,
    /// `None` for a stage below `window`, where there are none.
    pub(crate) whole: Option<Work>,
    pub(crate) completed: Arc<Completed>,
}

type Parents = Arc<Mutex<HashMap<ItemId, Pending>>>;

/// Runs a stage that joins windows. A parent's output takes its place when the last window has been added.
///
/// Where whole items come in too, a place is held before any item is taken, as in every stage that gives one for one; a
/// window gives its place back.
pub(crate) async fn assemble(
    shared: Arc<Shared>,
    stage: usize,
    joiner: Joiner,
    mut intake: Intake<Parcel>,
    outlets: Outlets,
) {
    let Joiner { join: op, whole, completed } = joiner;
    let plan = &shared.plan.stages[stage];
    let hands = Slots::fixed(format!("hands of {}", plan.name).into(), plan.parallelism.max(1) as u64);
    let parents = Parents::default();
    let mut workers = JoinSet::new();
    loop {
        while workers.try_join_next().is_some() {}
        for parent in completed.take() {
            let (shared, parents, outlets) = (shared.clone(), parents.clone(), outlets.clone());
            workers.spawn(async move { finish(&shared, stage, &parents, &parent, &outlets).await });
        }
        let hand = tokio::select! {
            biased;
            () = completed.arrived.notified() => continue,
            hand = hands.acquire(1) => hand,
        };
        tokio::select! {
            biased;
            () = completed.arrived.notified() => continue,
            is_ready = intake.is_ready() => if !is_ready { break },
        }
        let begun = Instant::now();
        let places = match &whole {
            Some(work) => Some((work.clone(), outlets.places().await)),
            None => None,
        };
        let Some(parcel) = intake.pop() else { continue };
        let (shared, op, parents) = (shared.clone(), op.clone(), parents.clone());
        workers.spawn(async move {
            match places {
                Some((work, places)) if !is_window(&parcel, stage) => {
                    let waits = waits_of(&parcel, begun);
                    stage::step(&shared, stage, &work, parcel, places, waits).await;
                }
                places => {
                    drop(places);
                    add(&shared, stage, &op, &parents, parcel).await;
                }
            }
            drop(hand);
        });
    }
    while workers.join_next().await.is_some() {}
    for parent in completed.take() {
        finish(&shared, stage, &parents, &parent, &outlets).await;
    }
}

/// Whether a parcel is a window that this stage joins.
fn is_window(parcel: &Parcel, stage: usize) -> bool {
    parcel.broods.iter().any(|brood| brood.stage == stage)
}

async fn add(shared: &Arc<Shared>, stage: usize, op: &Arc<dyn Assemble>, parents: &Parents, parcel: Parcel) {
    if parcel.journey.is_lost() {
        return;
    }
    if is_too_late(shared, &parcel) {
        parcel.journey.end(Ending::Cancelled);
        return;
    }
    let plan = &shared.plan.stages[stage];
    let assembly = assembly_of(parents, stage, &parcel);
    let waits = waits_of(&parcel, Instant::now());
    let added = persist(shared, plan, &parcel, waits, |attempt| {
        let Attempt { leases, cancel, .. } = attempt;
        let context = contexts::compute(shared, stage, &parcel, &cancel);
        let (op, assembly, item) = (op.clone(), assembly.clone(), parcel.item.clone());
        async move {
            blocking::run(&cancel, leases, move || {
                let assembly = begun(&assembly, || op.begin(&item, &context))?;
                assembly.add(item, &context)
            })
            .await?;
            Ok(((), Yield::NOTHING))
        }
    });
    if let Err(failure) = added.await {
        shared.fail(&parcel.journey, stage, failure);
    }
}

/// The slot of the parent's assembly, made when its first window arrives.
fn assembly_of(parents: &Parents, stage: usize, parcel: &Parcel) -> AssemblySlot {
    let parent = parcel.item.reported_id().clone();
    let brood = parcel.broods.iter().find(|brood| brood.stage == stage);
    let mut parents = parents.lock().unwrap_or_else(PoisonError::into_inner);
    let id = parent.clone();
    let pending = parents.entry(parent).or_insert_with(|| Pending {
        assembly: Arc::default(),
        journey: parcel.journey.clone(),
        item: Item { id, payload: Payload::Assets(Vec::new()), ..parcel.item.clone() },
        whole: brood.and_then(|brood| brood.whole.clone()),
    });
    pending.assembly.clone()
}

/// The assembly, begun by the first who comes; the others wait for him on their threads.
fn begun(
    slot: &AssemblySlot,
    begin: impl FnOnce() -> Result<Box<dyn Assembly>, Failure>,
) -> Result<Arc<Box<dyn Assembly>>, Failure> {
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(assembly) = &*slot {
        return Ok(assembly.clone());
    }
    let assembly = Arc::new(begin()?);
    *slot = Some(assembly.clone());
    Ok(assembly)
}

/// Puts a parent together and sends it on, unless one of its windows was lost.
async fn finish(shared: &Arc<Shared>, stage: usize, parents: &Parents, parent: &ItemId, outlets: &Outlets) {
    let pending = parents.lock().unwrap_or_else(PoisonError::into_inner).remove(parent);
    let Some(Pending { assembly, journey, item, whole }) = pending else { return };
    let assembly = assembly.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A thread that was given up on may still hold it; its window has failed the journey then.
    let Some(assembly) = assembly.filter(|_| !journey.is_lost()).and_then(Arc::into_inner) else { return };
    let plan = &shared.plan.stages[stage];
    let places = outlets.places().await;
    let parcel = Parcel::new(item, journey);
    let mut assembly = Some(assembly);
    let finished = persist(shared, plan, &parcel, Waits::default(), |attempt| {
        let Attempt { leases, cancel, .. } = attempt;
        let context = contexts::compute(shared, stage, &parcel, &cancel);
        let assembly = assembly.take();
        async move {
            let finish = move || assembly.ok_or_else(Failure::cancelled)?.finish(&context);
            let item = blocking::run(&cancel, leases, finish).await?;
            let made = Yield::one(item.payload.held());
            Ok((item, made))
        }
    });
    match finished.await {
        Ok(joined) => {
            let item = match whole {
                Some(whole) => Item { payload: joined.payload, ..whole },
                None => joined,
            };
            places.send(&Parcel { item, ..parcel });
        }
        Err(failure) => shared.fail(&parcel.journey, stage, failure),
    }
}

/// Runs a stage that collects all items: keeps the rows of each, and writes the table when the last has ended.
pub(crate) async fn gather(
    shared: Arc<Shared>,
    stage: usize,
    op: Arc<dyn Gather>,
    mut intake: Intake<Parcel>,
    outlets: Outlets,
) {
    while intake.is_ready().await {
        let Some(parcel) = intake.pop() else { continue };
        if parcel.journey.is_lost() {
            continue;
        }
        if let Err(failure) = keep(&shared, stage, &op, &parcel).await {
            shared.fail(&parcel.journey, stage, failure);
        }
    }
    // Other branches may still fail an item whose rows are here; only what is done stands in the table.
    shared.tally.all_home().await;
    if shared.stop.work().is_cancelled() {
        return;
    }
    if let Err(failure) = write(&shared, stage, &op, &outlets).await {
        let name = &shared.plan.stages[stage].name;
        shared.stop.stop_admission(StopReason::Aborted(format!("stage `{name}`: {failure}")));
    }
}

/// Keeps the rows of one item or window, before it can count as done.
async fn keep(
    shared: &Arc<Shared>,
    stage: usize,
    op: &Arc<dyn Gather>,
    parcel: &Parcel,
) -> Result<(), Failure> {
    let plan = &shared.plan.stages[stage];
    persist(shared, plan, parcel, waits_of(parcel, Instant::now()), |attempt| {
        let context = contexts::transfer(shared, stage, parcel, &attempt.cancel);
        let rows = op.rows(parcel.item.clone(), context);
        async move {
            let rows = rows.await?;
            drop(attempt);
            shared.remembers.keep_rows(&plan.name, &parcel.item, &rows).await?;
            Ok(((), Yield::NOTHING))
        }
    })
    .await
}

/// Writes the table of all rows that stand, and sends it on.
async fn write(
    shared: &Arc<Shared>,
    stage: usize,
    op: &Arc<dyn Gather>,
    outlets: &Outlets,
) -> Result<(), Failure> {
    let plan = &shared.plan.stages[stage];
    let memory = &shared.remembers;
    memory.settle().await;
    memory.forget_stale_rows(&plan.name).await?;
    let rows = memory.rows_of(&plan.name, shared.manifests.options());
    let home: Arc<dyn crate::engine::journey::Homecoming> = shared.tally.clone();
    let journey = Journey::begin(plan.name.as_str().into(), home);
    journey.end(Ending::Absorbed);
    let table = Parcel::new(Item::placeholder(plan.name.as_str()), journey);
    let written = persist(shared, plan, &table, Waits::default(), |attempt| {
        let context = contexts::transfer(shared, stage, &table, &attempt.cancel);
        let written = op.write(rows.clone(), context);
        async move {
            let item = written.await?;
            drop(attempt);
            let made = item.as_ref().map_or(Yield::NOTHING, |item| Yield::one(item.payload.held()));
            Ok((item, made))
        }
    });
    if let Some(item) = written.await? {
        outlets.places().await.send(&Parcel { item, ..table });
    }
    Ok(())
}
