//! The loops of stages that make items: sources, windows of a parent, groups of many.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::time::Instant;

use crate::contract::{
    Expand, Failure, Item, Regroup, Regrouped, Source, SourceContext, TransferContext, blocking,
};
use crate::engine::attempt::{Attempt, Yield, persist};
use crate::engine::journey::{Brood, Ending, Homecoming, Journey, Parcel};
use crate::engine::outlets::{Outlets, Places};
use crate::engine::path::{self, Survey};
use crate::engine::queue::Intake;
use crate::engine::run::Shared;
use crate::engine::stage::{is_too_late, waits_of};
use crate::engine::stop::StopReason;
use crate::engine::{contexts, gate, headers};
use crate::events::{Event, FailureClass};
use crate::resources::Slots;

/// So many items that are done are passed over before others have their turn on this thread.
const SKIPPED_AT_ONCE: u64 = 64;

/// Runs a source until its list ends or admission stops. A place is held before the next item is asked for.
pub(crate) async fn list(shared: Arc<Shared>, stage: usize, source: Arc<dyn Source>, outlets: Outlets) {
    let plan = &shared.plan.stages[stage];
    let admission = shared.stop.admission().clone();
    let context = SourceContext {
        stage: plan.name.clone(),
        client: shared.client_of(stage, &"".into()),
        cancel: admission.clone(),
    };
    let mut items = source.list(context);
    let mut seen = Seen::default();
    let (mut listed, mut skipped) = (0, 0);
    loop {
        let next = tokio::select! {
            biased;
            () = admission.cancelled() => break,
            next = next_with_place(&shared, &mut items, &outlets) => next,
        };
        match next {
            None => break,
            Some((Ok(item), places)) => {
                listed += 1;
                shared.emitter.emit(|| Event::ItemListed { stage: plan.name.clone(), item: item.id.clone() });
                let parcel = seen.begin(&shared, stage, item);
                if let Some(parcel) = parcel.and_then(|parcel| not_done(&shared, parcel)) {
                    places.send(&parcel);
                } else {
                    skipped += 1;
                    if skipped % SKIPPED_AT_ONCE == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            }
            Some((Err(failure), _)) => {
                let message = format!("stage `{}`: {failure}", plan.name);
                let reason = if failure.is_bad_input { StopReason::BadInput } else { StopReason::Aborted };
                shared.stop.stop_admission(reason(message));
                break;
            }
        }
    }
    shared.emitter.emit(|| Event::SourceEnded { stage: plan.name.clone(), items: listed });
}

async fn next_with_place(
    shared: &Shared,
    items: &mut BoxStream<'static, Result<Item, Failure>>,
    outlets: &Outlets,
) -> Option<(Result<Item, Failure>, Places)> {
    let places = outlets.places().await;
    let _running = shared.progress.begin();
    Some((items.next().await?, places))
}

/// The ids that a stage gave, as hashes: 8 bytes an item.
#[derive(Default)]
struct Seen(HashSet<u64>);

impl Seen {
    /// Begins an item's journey; one whose id was given before fails, and the first stands.
    fn begin(&mut self, shared: &Arc<Shared>, stage: usize, mut item: Item) -> Option<Parcel> {
        item.lineage.inputs = item.payload.locations();
        let home: Arc<dyn Homecoming> = shared.tally.clone();
        let journey = Journey::begin(item.id.clone(), home);
        let mut hasher = DefaultHasher::new();
        item.id.hash(&mut hasher);
        if self.0.insert(hasher.finish()) {
            return Some(Parcel::new(item, journey));
        }
        let message = format!("two items have the id `{}`; the first stands", item.id);
        shared.fail(&journey, stage, Failure::item(message));
        None
    }
}

/// A listed item that is to run. One that is done ends here, before it takes a turn at the gate: to hand it there and back
/// would cost more than to look it up.
fn not_done(shared: &Shared, parcel: Parcel) -> Option<Parcel> {
    if !shared.recalls_listed {
        return Some(parcel);
    }
    let Some(reason) = shared.recall(&parcel) else { return Some(parcel) };
    parcel.journey.end(Ending::Skipped(reason));
    None
}

/// Runs a stage that makes windows: one parent after the other, each with its unit, a place before each window.
pub(crate) async fn expand(
    shared: Arc<Shared>,
    stage: usize,
    op: Arc<dyn Expand>,
    mut intake: Intake<Parcel>,
    outlets: Outlets,
    joins: Vec<Join>,
) {
    let plan = &shared.plan.stages[stage];
    let hands = Slots::fixed(format!("hands of {}", plan.name).into(), plan.parallelism.max(1) as u64);
    let mut parents = tokio::task::JoinSet::new();
    loop {
        let hand = hands.acquire(1).await;
        while parents.try_join_next().is_some() {}
        if !intake.is_ready().await {
            break;
        }
        let Some(parcel) = intake.pop() else { continue };
        if !gate::take_unit(&shared, &parcel).await {
            continue;
        }
        let (shared, op, outlets, joins) = (shared.clone(), op.clone(), outlets.clone(), joins.clone());
        parents.spawn(async move {
            let journey = parcel.journey.clone();
            if let Err(failure) = windows_of(&shared, stage, op, parcel, &outlets, &joins).await {
                shared.fail(&journey, stage, failure);
            }
            drop(hand);
        });
    }
    while parents.join_next().await.is_some() {}
}

/// A stage below that joins the windows of a parent.
#[derive(Clone)]
pub(crate) struct Join {
    /// Its index.
    pub(crate) stage: usize,
    /// Told when no window of a parent is on its way any more.
    pub(crate) on_complete: Arc<dyn Fn(&crate::ids::ItemId) + Send + Sync>,
}

async fn windows_of(
    shared: &Arc<Shared>,
    stage: usize,
    op: Arc<dyn Expand>,
    parent: Parcel,
    outlets: &Outlets,
    joins: &[Join],
) -> Result<(), Failure> {
    let plan = &shared.plan.stages[stage];
    let broods = broods(&parent.item, joins, None);
    let mut parent = parent;
    parent.item.lineage.shared.get_or_insert_default();
    let survey = survey(shared, stage, &parent).await?;
    let raster = Arc::new(survey.raster);
    let waits = waits_of(&parent, Instant::now());
    persist(shared, plan, &parent, waits, |attempt| {
        let raster = raster.clone();
        let (shared, op, parent) = (shared.clone(), op.clone(), parent.clone());
        let (outlets, broods) = (outlets.clone(), broods.clone());
        async move {
            let Attempt { leases, cancel, .. } = attempt;
            let context = contexts::transfer(&shared, stage, &parent, &cancel);
            let mut windows = op.expand(parent.item.clone(), TransferContext { output: raster, ..context });
            let mut windows_given = 0;
            loop {
                let places = shared.progress.pause_for(outlets.places()).await;
                let Some(window) = windows.next().await.transpose()? else { break };
                if parent.journey.is_lost() || is_too_late(&shared, &parent) {
                    return Err(Failure::cancelled());
                }
                let parcel = Parcel::new(window, parent.journey.clone());
                places.send(&Parcel { broods: broods.clone(), ..parcel });
                windows_given += 1;
            }
            drop(leases);
            Ok(((), Yield { bytes: 0, items: windows_given }))
        }
    })
    .await
}

/// Follows a parent to the raster that is cut, and takes the scratch that joining its windows needs.
async fn survey(shared: &Arc<Shared>, stage: usize, parent: &Parcel) -> Result<Survey, Failure> {
    let surveyed = tokio::select! {
        biased;
        () = shared.stop.work().cancelled() => return Err(Failure::cancelled()),
        surveyed = follow(shared, stage, parent) => surveyed?,
    };
    let label = format!("stage `{}`, item `{}`", shared.plan.stages[stage].name, parent.item.id);
    keep_scratch(shared, parent, surveyed.spool, label).await?;
    Ok(surveyed)
}

/// Reads a parent's headers, bringing the files whose header comes only after the body, and works its path out.
async fn follow(shared: &Arc<Shared>, stage: usize, parent: &Parcel) -> Result<Survey, Failure> {
    let _running = shared.progress.begin();
    let files = headers::read_all(shared, parent, stage).await.map_err(|(_, failure)| failure)?;
    let (plan, item) = (shared.plan.clone(), parent.item.clone());
    blocking::run(shared.stop.work(), (), move || {
        path::survey(&plan.stages, &plan.stages[stage].to, &item, &files).map_err(|(_, failure)| failure)
    })
    .await
}

/// Takes the scratch that joining the windows of a parent needs, until the end of its journey.
///
/// # Errors
/// More than there will ever be.
pub(crate) async fn keep_scratch(
    shared: &Shared,
    parent: &Parcel,
    bytes: u64,
    label: String,
) -> Result<(), Failure> {
    if bytes == 0 {
        return Ok(());
    }
    let reserved = shared.scratch.reserve_for(bytes, label.into()).await.map_err(|refusal| {
        Failure::item(format!("{refusal}: free disk, or set `[run] scratch` to a larger one"))
    });
    parent.journey.keep(reserved?);
    Ok(())
}

/// The broods of a parent, one a stage that joins its windows. `whole` is what goes on where the engine cut it.
pub(crate) fn broods(parent: &Item, joins: &[Join], whole: Option<&Item>) -> Vec<Arc<Brood>> {
    let brood = |join: &Join| Brood {
        parent: parent.id.clone(),
        stage: join.stage,
        whole: whole.cloned(),
        on_complete: join.on_complete.clone(),
    };
    joins.iter().map(|join| Arc::new(brood(join))).collect()
}

/// Runs a stage that makes groups: collects every item's metadata, then sends the groups on.
pub(crate) async fn regroup(
    shared: Arc<Shared>,
    stage: usize,
    op: Arc<dyn Regroup>,
    mut intake: Intake<Parcel>,
    outlets: Outlets,
) {
    let plan = &shared.plan.stages[stage];
    let mut members = Vec::new();
    while intake.is_ready().await {
        members.extend(intake.pop());
    }
    if members.is_empty() || shared.stop.admission().is_cancelled() {
        for member in &members {
            member.journey.end(Ending::Cancelled);
        }
        return;
    }
    let items: Vec<Item> = members.iter().map(|member| member.item.clone()).collect();
    let parcel = members[0].clone();
    let made = persist(&shared, plan, &parcel, waits_of(&parcel, Instant::now()), |attempt| {
        let context = contexts::transfer(&shared, stage, &parcel, &attempt.cancel);
        let work = op.regroup(items.clone(), context);
        async move {
            let regrouped = work.await?;
            drop(attempt);
            let made = Yield { bytes: 0, items: regrouped.groups.len() as u64 };
            Ok((regrouped, made))
        }
    })
    .await;
    drop(parcel);
    match made {
        Ok(Regrouped { groups, failed }) => {
            for (index, failure) in failed {
                shared.fail(&members[index].journey, stage, failure);
            }
            for member in members.drain(..) {
                member.journey.end(Ending::Absorbed);
            }
            let mut seen = Seen::default();
            for group in groups {
                let places = outlets.places().await;
                if let Some(parcel) = seen.begin(&shared, stage, group) {
                    places.send(&parcel);
                }
            }
        }
        Err(failure) if failure.class == FailureClass::Cancelled => {}
        Err(failure) => {
            for member in &members {
                shared.fail(&member.journey, stage, failure.clone());
            }
        }
    }
}
