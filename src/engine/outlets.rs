//! Where a stage's output goes: the queues of its consumers, or the gate.
//!
//! Places are taken in topological order of the consumers, ties by declaration; any other order can deadlock.

use std::sync::Arc;

use tokio::time::Instant;

use crate::engine::gate::Arrival;
use crate::engine::journey::Parcel;
use crate::engine::queue::{Inlet, Place};
use crate::ids::StageName;

/// One way out of a stage.
#[derive(Clone)]
pub(crate) enum Outlet {
    /// Straight into the queue of a stage.
    Stage(usize, Inlet<Parcel>),
    /// Through the gate into these stages.
    Gate(Arc<[usize]>, Inlet<Arrival>),
}

/// All ways out of a stage, in the order in which places are taken.
#[derive(Clone)]
pub(crate) struct Outlets {
    ways: Vec<Outlet>,
    /// Who takes the places, for the watchdog.
    label: Arc<str>,
}

/// A place in every queue that the output goes into.
pub(crate) struct Places(Vec<Reserved>);

enum Reserved {
    Stage(usize, Place<Parcel>),
    Gate(Arc<[usize]>, Place<Arrival>),
}

impl Outlets {
    /// The ways out of a stage.
    pub(crate) fn of(stage: &StageName, ways: Vec<Outlet>) -> Self {
        Self { ways, label: format!("stage `{stage}`").into() }
    }

    /// Takes a place in each, in order. Cancel-safe.
    pub(crate) async fn places(&self) -> Places {
        let mut places = Vec::with_capacity(self.ways.len());
        for outlet in &self.ways {
            places.push(match outlet {
                Outlet::Stage(stage, inlet) => Reserved::Stage(*stage, inlet.place(&self.label).await),
                Outlet::Gate(into, inlet) => Reserved::Gate(into.clone(), inlet.place(&self.label).await),
            });
        }
        Places(places)
    }
}

impl Places {
    /// Sends the output on: to every consumer its own part of the memory and the joins that lie on its way.
    pub(crate) fn send(self, parcel: &Parcel) {
        let now = Instant::now();
        let memory = parcel.memory.clone();
        let path = parcel.path.clone();
        let count = self.0.len();
        if let (0, Some(memory)) = (count, &memory) {
            memory.shrink_to(0);
        }
        for reserved in self.0 {
            let mut parcel = Parcel { since: now, ..parcel.clone() };
            match reserved {
                Reserved::Gate(into, place) => place.put(Arrival { parcel, into }),
                Reserved::Stage(stage, place) => {
                    if let Some(path) = &path {
                        parcel.path = path.way_into(stage).cloned();
                    }
                    if let Some(next) = &parcel.path {
                        parcel.broods.retain(|brood| next.leads_to(brood.stage));
                    }
                    if let (Some(_), Some(memory)) = (&path, &memory) {
                        let held = || parcel.item.payload.held();
                        let demand = parcel.path.as_ref().map_or_else(held, |next| next.demand);
                        parcel.memory = Some(share(memory, demand, count));
                    }
                    place.put(parcel);
                }
            }
        }
    }
}

/// A consumer's part of the memory: all that is left for an only one, its own part of it otherwise.
fn share(memory: &crate::resources::ByteLease, demand: u64, consumers: usize) -> crate::resources::ByteLease {
    if consumers == 1 {
        memory.shrink_to(demand);
        return memory.clone();
    }
    memory.split(demand.min(memory.bytes()))
}
