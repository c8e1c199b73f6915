//! A count of equal places.
use std::sync::Arc;

use crate::ids::ResourceName;

/// A count of equal places, fixed or found by measuring. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Slots(Arc<ResourceName>);

/// What one use of a slot taught an adaptive limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// So many bytes in so many seconds.
    Served { bytes: u64, seconds: f64 },
    /// 429, 503 or a timeout.
    Throttled,
    /// Says nothing about the limit.
    Silent,
}

/// Places held; dropping gives them back.
#[derive(Debug)]
pub struct SlotLease {
    _slots: Slots,
}

impl Slots {
    /// A fixed count.
    pub fn fixed(name: ResourceName, _capacity: u64) -> Self {
        Self(Arc::new(name))
    }

    /// Between `from` and `to`, beginning at `start`.
    pub fn adaptive(name: ResourceName, _from: u64, _to: u64, _start: u64) -> Self {
        Self(Arc::new(name))
    }

    /// Its name.
    pub fn name(&self) -> &ResourceName {
        &self.0
    }

    /// The count in force now.
    pub fn limit(&self) -> u64 {
        todo!()
    }

    /// What one lease can hold at most: the fixed count, or `from` of an adaptive one.
    pub fn largest_lease(&self) -> u64 {
        todo!()
    }

    /// Held now.
    pub fn used(&self) -> u64 {
        todo!()
    }

    /// How many wait.
    pub fn waiting(&self) -> u64 {
        todo!()
    }

    /// Takes `amount` places, first come first served. Cancel-safe: dropping the future leaves nothing taken.
    pub async fn acquire(&self, _amount: u64) -> SlotLease {
        todo!()
    }

    /// Takes `amount` places if they are free and nobody waits.
    pub fn try_acquire(&self, _amount: u64) -> Option<SlotLease> {
        todo!()
    }
}

impl SlotLease {
    /// Tells an adaptive limit what came of the use.
    pub fn report(&self, _outcome: Outcome) {
        todo!()
    }
}
