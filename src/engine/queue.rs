//! The bounded queue between two stages: whoever puts something in holds a place first.
//!
//! The feeder takes a [`Place`] before it works, so what it makes always fits; the consumer looks whether something
//! waits before it takes places of its own, so a stage without work never holds a place of another.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ids::StageName;
use crate::resources::{SlotLease, Slots};

/// A queue of `places` places into `stage`: the end that feeds it and the end that empties it.
pub(crate) fn queue<T>(stage: &StageName, places: usize) -> (Inlet<T>, Intake<T>) {
    let shared = Arc::new(Shared {
        places: Slots::fixed(format!("queue into {stage}").into(), places as u64),
        state: Mutex::new(State { waiting: VecDeque::new(), feeders: 1 }),
        arrived: Notify::new(),
    });
    (Inlet { shared: shared.clone() }, Intake { shared })
}

struct Shared<T> {
    places: Slots,
    state: Mutex<State<T>>,
    arrived: Notify,
}

struct State<T> {
    waiting: VecDeque<(T, SlotLease)>,
    feeders: usize,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that feeds a queue. The queue closes when the last clone is dropped.
pub(crate) struct Inlet<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Inlet<T> {
    /// Waits for a place, first come first served; `label` tells the watchdog for whom. Cancel-safe.
    pub(crate) async fn place(&self, label: &Arc<str>) -> Place<T> {
        let lease = self.shared.places.acquire_for(1, label.clone()).await;
        Place { lease, shared: self.shared.clone() }
    }

    /// A view of the queue for samples.
    pub(crate) fn gauge(&self) -> Gauge
    where
        T: Send + 'static,
    {
        let shared = self.shared.clone();
        Gauge {
            places: self.shared.places.clone(),
            depth: Arc::new(move || shared.state().waiting.len() as u64),
        }
    }
}

impl<T> Clone for Inlet<T> {
    fn clone(&self) -> Self {
        self.shared.state().feeders += 1;
        Self { shared: self.shared.clone() }
    }
}

impl<T> Drop for Inlet<T> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.feeders -= 1;
        if state.feeders == 0 {
            self.shared.arrived.notify_one();
        }
    }
}

/// A place in a queue, held for one thing to come; dropping it gives it back.
pub(crate) struct Place<T> {
    lease: SlotLease,
    shared: Arc<Shared<T>>,
}

impl<T> Place<T> {
    /// Puts the thing in.
    pub(crate) fn put(self, thing: T) {
        self.shared.state().waiting.push_back((thing, self.lease));
        self.shared.arrived.notify_one();
    }
}

/// The end that empties a queue; there is one.
pub(crate) struct Intake<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Intake<T> {
    /// Waits until something is there; `false` when the queue is empty and every feeder has ended. Cancel-safe.
    pub(crate) async fn is_ready(&mut self) -> bool {
        loop {
            let arrived = self.shared.arrived.notified();
            {
                let state = self.shared.state();
                if !state.waiting.is_empty() {
                    return true;
                }
                if state.feeders == 0 {
                    return false;
                }
            }
            arrived.await;
        }
    }

    /// Takes the oldest thing out and frees its place.
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.shared.state().waiting.pop_front().map(|(thing, _place)| thing)
    }
}

/// What a sample tells of a queue.
#[derive(Clone)]
pub(crate) struct Gauge {
    places: Slots,
    depth: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl Gauge {
    /// Things waiting in the queue.
    pub(crate) fn depth(&self) -> u64 {
        (self.depth)()
    }

    /// The places, taken and free.
    pub(crate) fn places(&self) -> &Slots {
        &self.places
    }
}
