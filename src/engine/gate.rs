//! Admission: the one gate between what is listed and what is worked on, first come first served.
//!
//! Before it an item is metadata and holds nothing. In it an item holds no place, slot or connection: it takes its
//! unit, its headers are read, its way is worked out, and it takes the memory of the whole way. Places follow. Headers
//! are read ahead for `lookahead` items, memory is taken strictly in order.
//!
//! Header reads are tasks of their own: one that holds a connection goes on while another item waits for memory.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::contract::{Failure, Item, Shape, blocking};
use crate::engine::cut::{self, Cut};
use crate::engine::headers;
use crate::engine::journey::{Ending, Parcel};
use crate::engine::path::{self, PathNode};
use crate::engine::queue::{Inlet, Intake};
use crate::engine::run::Shared;
use crate::engine::source::{Join, broods, keep_scratch};
use crate::engine::stage::is_too_late;
use crate::events::Event;
use crate::resources::{ByteLease, LeaseSet, SlotLease, Slots};

/// A parcel before the gate, and the stages that it is to enter.
pub(crate) struct Arrival {
    /// What waits.
    pub(crate) parcel: Parcel,
    /// The stages that it enters, in topological order.
    pub(crate) into: Arc<[usize]>,
}

/// The queues behind the gate, by stage.
pub(crate) type Entrances = Vec<(usize, Inlet<Parcel>)>;

/// The ways of an item into each stage that it enters.
type Ways = Vec<Arc<PathNode>>;

/// How an item is let in.
enum Admission {
    /// Whole.
    Whole(Ways),
    /// Window by window, because memory cannot hold it whole.
    Cut(Cut),
}

/// An item in the gate, its ways being worked out.
struct Candidate {
    parcel: Parcel,
    into: Arc<[usize]>,
    admission: JoinHandle<Result<(Admission, f64), path::PathFailure>>,
    unit_wait: f64,
    _ahead: SlotLease,
}

/// Lets items in until no more arrive. Ends when the queues before it are closed and empty.
///
/// Windows arrive by a queue of their own: behind an item that waits for a unit they would wait for what their own
/// parent holds.
pub(crate) async fn keep(
    shared: Arc<Shared>,
    arrivals: Vec<Intake<Arrival>>,
    entrances: Entrances,
    joins: Vec<Join>,
    lookahead: u64,
) {
    let behind = Behind { entrances, joins };
    let (tx, mut rx) = mpsc::channel::<Candidate>(lookahead.max(1) as usize);
    for intake in arrivals {
        let ahead = Slots::fixed("gate".into(), lookahead);
        tokio::spawn(usher(shared.clone(), intake, tx.clone(), ahead));
    }
    drop(tx);
    while let Some(candidate) = rx.recv().await {
        let journey = candidate.parcel.journey.clone();
        if let Err((stage, failure)) = admit(&shared, candidate, &behind).await {
            shared.fail(&journey, stage, failure);
        }
    }
}

/// What lies behind the gate.
struct Behind {
    entrances: Entrances,
    /// The stages that join windows.
    joins: Vec<Join>,
}

/// Calls the items of one queue up, one after the other.
async fn usher(
    shared: Arc<Shared>,
    mut arrivals: Intake<Arrival>,
    tx: mpsc::Sender<Candidate>,
    ahead: Slots,
) {
    while arrivals.is_ready().await {
        let ahead = ahead.acquire(1).await;
        let Some(Arrival { parcel, into }) = arrivals.pop() else { continue };
        if let Some(candidate) = call_up(&shared, parcel, into, ahead).await
            && tx.send(candidate).await.is_err()
        {
            return;
        }
    }
}

/// Takes the unit and sends for the headers; `None` for items that are not run.
async fn call_up(
    shared: &Arc<Shared>,
    parcel: Parcel,
    into: Arc<[usize]>,
    ahead: SlotLease,
) -> Option<Candidate> {
    let begun = Instant::now();
    if !take_unit(shared, &parcel).await {
        return None;
    }
    let unit_wait = begun.elapsed().as_secs_f64();
    let admission = tokio::spawn(work_out(shared.clone(), parcel.clone(), into.clone()));
    Some(Candidate { parcel, into, admission, unit_wait, _ahead: ahead })
}

/// Gives the journey its unit, unless it has one. `false` when the item is not to run.
pub(crate) async fn take_unit(shared: &Arc<Shared>, parcel: &Parcel) -> bool {
    let journey = &parcel.journey;
    if journey.is_lost() {
        return false;
    }
    if journey.is_admitted() {
        return true;
    }
    let recalled = if shared.recalls_listed { None } else { shared.recall(parcel) };
    if let Some(reason) = recalled {
        journey.end(Ending::Skipped(reason));
        return false;
    }
    tokio::select! {
        biased;
        () = shared.stop.admission().cancelled() => {
            journey.end(Ending::Cancelled);
            false
        }
        () = journey.admit(unit(shared, parcel)) => true,
    }
}

async fn unit(shared: &Shared, parcel: &Parcel) -> LeaseSet {
    let unit = shared.unit.take_for(label_of(parcel).into()).await;
    shared.on_admitted(parcel).await;
    unit
}

/// Reads the headers and works the ways out; also the seconds that took.
async fn work_out(
    shared: Arc<Shared>,
    parcel: Parcel,
    into: Arc<[usize]>,
) -> Result<(Admission, f64), path::PathFailure> {
    let _running = shared.progress.begin();
    let begun = Instant::now();
    let files = tokio::select! {
        files = headers::read(&shared, &parcel.item, &into) => files?,
        () = shared.stop.work().cancelled() => return Err((into[0], Failure::cancelled())),
    };
    let (first, work) = (into[0], shared.stop.work().clone());
    let needs_gdal = files.assets.iter().any(|file| file.header.is_some());
    let within = shared.clone();
    let decide = move || decide(&within, &parcel.item, &into, &files);
    let admission = if needs_gdal {
        let decided = blocking::run(&work, (), move || Ok(decide())).await;
        decided.map_err(|failure| (first, failure))??
    } else {
        decide()?
    };
    Ok((admission, begun.elapsed().as_secs_f64()))
}

/// The ways of an item; where they need more than there will ever be, how it is cut.
fn decide(
    shared: &Shared,
    item: &Item,
    into: &Arc<[usize]>,
    files: &Shape,
) -> Result<Admission, path::PathFailure> {
    let trace = |stage: &usize| path::trace(&shared.plan, *stage, item, files);
    let ways = into.iter().map(trace).collect::<Result<Ways, _>>()?;
    let (needed, budget) = (demand(&ways), shared.memory.capacity());
    if needed <= budget {
        return Ok(Admission::Whole(ways));
    }
    let cut = cut::cut(shared, item, into, files, budget);
    cut.map(Admission::Cut).map_err(|why| (largest(&ways), cut::refusal(needed, budget, &why)))
}

/// The stage whose way needs the most.
fn largest(ways: &Ways) -> usize {
    ways.iter().max_by_key(|way| way.demand).map_or(0, |way| way.stage)
}

fn demand(ways: &Ways) -> u64 {
    ways.iter().map(|way| way.demand).sum()
}

async fn admit(shared: &Arc<Shared>, candidate: Candidate, behind: &Behind) -> Result<(), path::PathFailure> {
    let Candidate { parcel, into, admission, unit_wait, _ahead } = candidate;
    let (admission, header_wait) = admission.await.unwrap_or_else(|error| Err((0, joined(error))))?;
    match admission {
        Admission::Whole(ways) => enter(shared, &parcel, &ways, (unit_wait, header_wait), behind).await,
        Admission::Cut(cut) => admit_windows(shared, &parcel, cut, into[0], behind).await,
    }
}

/// Takes the memory of all ways, then a place in each entrance, and lets the item in.
async fn enter(
    shared: &Arc<Shared>,
    parcel: &Parcel,
    ways: &Ways,
    (unit, header): (f64, f64),
    behind: &Behind,
) -> Result<(), path::PathFailure> {
    let begun = Instant::now();
    let reserved = demand(ways);
    let memory = tokio::select! {
        () = shared.stop.work().cancelled() => {
            parcel.journey.end(Ending::Cancelled);
            return Ok(());
        }
        memory = reserve(shared, parcel, ways, reserved) => memory?,
    };
    shared.emitter.emit(|| Event::ItemAdmitted {
        item: parcel.item.id.clone(),
        unit,
        header,
        memory: begun.elapsed().as_secs_f64(),
        reserved,
    });
    let label: Arc<str> = label_of(parcel).into();
    for way in ways {
        let entrance = behind.entrances.iter().find(|(stage, _)| *stage == way.stage);
        let (_, inlet) = entrance.expect("every stage behind the gate has an entrance");
        let place = inlet.place(&label).await;
        place.put(part_of(parcel, way, &memory));
    }
    Ok(())
}

/// Lets the windows of an item in, one after the other; their memory comes back as they are joined.
async fn admit_windows(
    shared: &Arc<Shared>,
    whole: &Parcel,
    cut: Cut,
    first: usize,
    behind: &Behind,
) -> Result<(), path::PathFailure> {
    let (windows, edge) = (cut.count(), cut.edge());
    shared.emitter.emit(|| Event::ItemCut { item: whole.item.id.clone(), windows, edge });
    let label = label_of(whole);
    keep_scratch(shared, whole, cut.spool, label).await.map_err(|failure| (first, failure))?;
    let broods = broods(&whole.item, &behind.joins, Some(&cut::whole(&whole.item)));
    let cut = Arc::new(cut);
    for item in cut.windows(&whole.item) {
        if whole.journey.is_lost() || is_too_late(shared, whole) {
            whole.journey.end(Ending::Cancelled);
            return Ok(());
        }
        let begun = Instant::now();
        let ways = ways_of(shared, &cut, &item).await.map_err(|failure| (first, failure))??;
        let window = Parcel { broods: broods.clone(), ..Parcel::new(item, whole.journey.clone()) };
        enter(shared, &window, &ways, (0.0, begun.elapsed().as_secs_f64()), behind).await?;
    }
    Ok(())
}

async fn ways_of(
    shared: &Arc<Shared>,
    cut: &Arc<Cut>,
    window: &Item,
) -> Result<Result<Ways, path::PathFailure>, Failure> {
    let (within, cut, window) = (shared.clone(), cut.clone(), window.clone());
    blocking::run(shared.stop.work(), (), move || Ok(cut.ways(&within, &window))).await
}

/// Who waits in the gate, and who holds what it gave, for the watchdog.
fn label_of(parcel: &Parcel) -> String {
    format!("item `{}`", parcel.item.id)
}

/// The parcel as it enters one stage, with its part of the memory.
fn part_of(parcel: &Parcel, way: &Arc<PathNode>, memory: &ByteLease) -> Parcel {
    let mut parcel = parcel.clone();
    parcel.broods.retain(|brood| way.leads_to(brood.stage));
    Parcel {
        path: Some(way.clone()),
        memory: Some(memory.split(way.demand)),
        since: Instant::now(),
        ..parcel
    }
}

async fn reserve(
    shared: &Arc<Shared>,
    parcel: &Parcel,
    ways: &Ways,
    demand: u64,
) -> Result<ByteLease, path::PathFailure> {
    shared.memory.reserve_for(demand, label_of(parcel).into()).await.map_err(|refusal| {
        (largest(ways), cut::refusal(demand, refusal.capacity, "; a smaller window may do"))
    })
}

fn joined(error: tokio::task::JoinError) -> Failure {
    match error.try_into_panic() {
        Ok(panic) => blocking::panicked(panic.as_ref()),
        Err(_) => Failure::cancelled(),
    }
}
