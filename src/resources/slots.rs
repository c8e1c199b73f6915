//! A count of equal places, fixed or found by measuring.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::controller::{Change, Controller};
use super::pool::{Label, Pool, Share};
use crate::events::{Emitter, Event};
use crate::ids::ResourceName;

/// A count of equal places, fixed or found by measuring. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Slots(Arc<Inner>);

struct Inner {
    pool: Arc<Pool>,
    controller: Option<Mutex<Controller>>,
    emitter: OnceLock<Emitter>,
}

/// What one use of a slot taught an adaptive limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// So many bytes in so many seconds.
    Served {
        /// Bytes of the body.
        bytes: u64,
        /// Seconds from the request to the last byte, waiting for slots and rates not counted.
        seconds: f64,
    },
    /// 429, 503 or a timeout.
    Throttled,
    /// Says nothing about the limit.
    Silent,
}

/// Places held; dropping gives them back.
#[derive(Debug)]
pub struct SlotLease {
    slots: Slots,
    share: Share,
    /// Under which limit the use began.
    generation: u64,
}

impl Slots {
    /// A fixed count.
    pub fn fixed(name: ResourceName, capacity: u64) -> Self {
        Self::new(Pool::new(name, capacity), None)
    }

    /// Between `from` (at least 1) and `to`, beginning at `start`: `from`, or what an earlier run found.
    pub fn adaptive(name: ResourceName, from: u64, to: u64, start: u64) -> Self {
        let controller = Controller::new(from, to, start);
        Self::new(Pool::new(name, controller.limit()), Some(Mutex::new(controller)))
    }

    fn new(pool: Arc<Pool>, controller: Option<Mutex<Controller>>) -> Self {
        Self(Arc::new(Inner { pool, controller, emitter: OnceLock::new() }))
    }

    /// Tells every move of an adaptive limit to `emitter`; the first one given stays.
    #[must_use]
    pub fn telling(self, emitter: Emitter) -> Self {
        self.0.emitter.get_or_init(|| emitter);
        self
    }

    /// Its name.
    pub fn name(&self) -> &ResourceName {
        self.0.pool.name()
    }

    /// The count in force now. For an adaptive limit at the end of a run: what it found.
    pub fn limit(&self) -> u64 {
        self.0.pool.limit()
    }

    /// Whether the limit is found by measuring.
    pub fn is_adaptive(&self) -> bool {
        self.0.controller.is_some()
    }

    /// What one lease can hold at most: the fixed count, or `from` of an adaptive one.
    pub fn largest_lease(&self) -> u64 {
        self.0.controller().map_or_else(|| self.limit(), |controller| controller.from())
    }

    /// Held now; above `limit` for a while after an adaptive limit sank.
    pub fn used(&self) -> u64 {
        self.0.pool.used()
    }

    /// The highest `used` so far.
    pub fn peak(&self) -> u64 {
        self.0.pool.peak()
    }

    /// How many wait.
    pub fn waiting(&self) -> u64 {
        self.0.pool.waiting()
    }

    /// Who holds how many places, the largest first: `label (places)`.
    pub fn holders(&self) -> Vec<String> {
        self.0.pool.holders()
    }

    /// Who waits for how many places, the head of the line first: `label (places)`.
    pub fn waiters(&self) -> Vec<String> {
        self.0.pool.waiters()
    }

    /// Takes `amount` places, first come first served: a large request at the head blocks small ones behind it.
    /// Cancel-safe: dropping the future leaves nothing taken.
    ///
    /// # Panics
    /// When `amount` is above [`Slots::largest_lease`]: it would wait for ever, and plans refuse it.
    pub async fn acquire(&self, amount: u64) -> SlotLease {
        self.acquire_as(amount, None).await
    }

    /// As [`Slots::acquire`], naming who asks, for stall messages.
    ///
    /// # Panics
    /// When `amount` is above [`Slots::largest_lease`].
    pub async fn acquire_for(&self, amount: u64, label: Arc<str>) -> SlotLease {
        self.acquire_as(amount, Some(label)).await
    }

    /// Takes `amount` places if they are free and nobody waits.
    pub fn try_acquire(&self, amount: u64) -> Option<SlotLease> {
        self.0.pool.try_acquire(amount, None).map(|share| self.lease(share))
    }

    pub(super) async fn acquire_as(&self, amount: u64, label: Label) -> SlotLease {
        let largest = self.largest_lease();
        assert!(amount <= largest, "`{}` never grants {amount}: a lease is at most {largest}", self.name());
        self.lease(self.0.pool.acquire(amount, label).await)
    }

    fn lease(&self, share: Share) -> SlotLease {
        let generation = self.0.controller().map_or(0, |controller| controller.generation());
        SlotLease { slots: self.clone(), share, generation }
    }
}

impl Inner {
    fn controller(&self) -> Option<MutexGuard<'_, Controller>> {
        // Nothing panics while the lock is held.
        let controller = self.controller.as_ref()?;
        Some(controller.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets the controller learn and moves the pool's limit under the controller's lock, so that two reports at
    /// once cannot leave the older limit in force.
    fn learn(&self, generation: u64, outcome: Outcome) -> Option<Change> {
        let mut controller = self.controller()?;
        let change = controller.observe(generation, outcome, self.pool.is_exhausted())?;
        self.pool.set_limit(change.to);
        Some(change)
    }

    fn tell(&self, change: Change) {
        let Some(emitter) = self.emitter.get() else { return };
        emitter.emit(|| Event::LimitChanged {
            resource: self.pool.name().clone(),
            from: change.from,
            to: change.to,
            reason: change.reason.to_owned(),
        });
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slots")
            .field("pool", &self.pool)
            .field("controller", &self.controller)
            .finish_non_exhaustive()
    }
}

impl SlotLease {
    /// The resource that it is a part of.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Places held.
    pub fn amount(&self) -> u64 {
        self.share.amount()
    }

    /// Tells an adaptive limit what came of the use. Call it while the lease is held.
    pub fn report(&self, outcome: Outcome) {
        if let Some(change) = self.slots.0.learn(self.generation, outcome) {
            self.slots.0.tell(change);
        }
    }
}

#[cfg(test)]
mod tests;
