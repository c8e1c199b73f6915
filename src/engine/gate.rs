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

use crate::contract::{Failure, blocking};
use crate::engine::headers;
use crate::engine::journey::{Ending, Parcel};
use crate::engine::path::{self, PathNode};
use crate::engine::queue::{Inlet, Intake};
use crate::engine::run::Shared;
use crate::events::Event;
use crate::resources::{ByteLease, LeaseSet, NeverGranted, SlotLease, Slots};

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

/// An item in the gate, its ways being worked out.
struct Candidate {
    parcel: Parcel,
    ways: JoinHandle<Result<(Ways, f64), path::PathFailure>>,
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
    lookahead: u64,
) {
    let (tx, mut rx) = mpsc::channel::<Candidate>(lookahead.max(1) as usize);
    for intake in arrivals {
        let ahead = Slots::fixed("gate".into(), lookahead);
        tokio::spawn(usher(shared.clone(), intake, tx.clone(), ahead));
    }
    drop(tx);
    while let Some(candidate) = rx.recv().await {
        let journey = candidate.parcel.journey.clone();
        if let Err((stage, failure)) = admit(&shared, candidate, &entrances).await {
            shared.fail(&journey, stage, failure);
        }
    }
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
    let ways = tokio::spawn(work_out(shared.clone(), parcel.clone(), into));
    Some(Candidate { parcel, ways, unit_wait, _ahead: ahead })
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
) -> Result<(Ways, f64), path::PathFailure> {
    let _running = shared.progress.begin();
    let begun = Instant::now();
    let files = tokio::select! {
        files = headers::read(&shared, &parcel.item, &into) => files?,
        () = shared.stop.work().cancelled() => return Err((into[0], Failure::cancelled())),
    };
    let item = parcel.item.clone();
    let plan = shared.plan.clone();
    let first = into[0];
    let needs_gdal = files.assets.iter().any(|file| file.header.is_some());
    let trace = move || {
        into.iter().map(|stage| path::trace(&plan, *stage, &item, &files)).collect::<Result<Ways, _>>()
    };
    let ways = if needs_gdal {
        let traced = blocking::run(shared.stop.work(), (), move || Ok(trace())).await;
        traced.map_err(|failure| (first, failure))??
    } else {
        trace()?
    };
    Ok((ways, begun.elapsed().as_secs_f64()))
}

/// Takes the memory of all ways, then a place in each entrance, and lets the item in.
async fn admit(
    shared: &Arc<Shared>,
    candidate: Candidate,
    entrances: &Entrances,
) -> Result<(), path::PathFailure> {
    let Candidate { parcel, ways, unit_wait, _ahead } = candidate;
    let (ways, header_wait) = ways.await.unwrap_or_else(|error| Err((0, joined(error))))?;
    let begun = Instant::now();
    let demand = ways.iter().map(|way| way.demand).sum::<u64>();
    let memory = tokio::select! {
        () = shared.stop.work().cancelled() => {
            parcel.journey.end(Ending::Cancelled);
            return Ok(());
        }
        memory = reserve(shared, &parcel, &ways, demand) => memory?,
    };
    shared.emitter.emit(|| Event::ItemAdmitted {
        item: parcel.item.id.clone(),
        unit: unit_wait,
        header: header_wait,
        memory: begun.elapsed().as_secs_f64(),
        reserved: demand,
    });
    let label: Arc<str> = label_of(&parcel).into();
    for way in &ways {
        let entrance = entrances.iter().find(|(stage, _)| *stage == way.stage);
        let (_, inlet) = entrance.expect("every stage behind the gate has an entrance");
        let place = inlet.place(&label).await;
        place.put(enter(&parcel, way, &memory));
    }
    Ok(())
}

/// Who waits in the gate, and who holds what it gave, for the watchdog.
fn label_of(parcel: &Parcel) -> String {
    format!("item `{}`", parcel.item.id)
}

/// The parcel as it enters one stage, with its part of the memory.
fn enter(parcel: &Parcel, way: &Arc<PathNode>, memory: &ByteLease) -> Parcel {
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
        let (stage, at) =
            ways.iter().max_by_key(|way| way.demand).map_or((0, demand), |way| (way.stage, way.demand));
        (stage, above_budget(at, &refusal))
    })
}

/// The failure of an item whose way from a stage on needs `bytes`, more than the budget will ever have.
pub(crate) fn above_budget(bytes: u64, refusal: &NeverGranted) -> Failure {
    let NeverGranted { name, capacity, .. } = refusal;
    Failure::item(format!(
        "needs {bytes} bytes of memory and `{name}` has {capacity}: raise `memory.bytes`, or cut the item with a \
         `window` stage"
    ))
}

fn joined(error: tokio::task::JoinError) -> Failure {
    match error.try_into_panic() {
        Ok(panic) => blocking::panicked(panic.as_ref()),
        Err(_) => Failure::cancelled(),
    }
}
