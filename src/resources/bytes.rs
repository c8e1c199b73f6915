//! A budget of bytes.
use std::sync::Arc;

use crate::ids::ResourceName;

/// A budget of bytes. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Bytes(Arc<ResourceName>);

/// More than the budget will ever hold.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{name}` needs {demand} bytes and the budget is {capacity}")]
pub struct NeverGranted {
    /// The budget.
    pub name: ResourceName,
    /// What was asked.
    pub demand: u64,
    /// What it holds in all.
    pub capacity: u64,
}

/// Bytes held. Cloning shares the one reservation; the last drop gives it back.
#[derive(Clone, Debug)]
pub struct ByteLease(Arc<Bytes>);

impl Bytes {
    /// A budget.
    pub fn new(name: ResourceName, _capacity: u64) -> Self {
        Self(Arc::new(name))
    }

    /// Its name.
    pub fn name(&self) -> &ResourceName {
        &self.0
    }

    /// The whole budget.
    pub fn capacity(&self) -> u64 {
        todo!()
    }

    /// Held now; above `capacity` while an overdraft stands.
    pub fn used(&self) -> u64 {
        todo!()
    }

    /// The highest `used` so far.
    pub fn peak(&self) -> u64 {
        todo!()
    }

    /// How many wait.
    pub fn waiting(&self) -> u64 {
        todo!()
    }

    /// Reserves, first come first served; waits while an overdraft stands. Cancel-safe.
    ///
    /// # Errors
    /// A demand above the capacity is refused at once.
    pub async fn reserve(&self, _bytes: u64) -> Result<ByteLease, NeverGranted> {
        todo!()
    }

    /// Reserves without waiting, into an overdraft if need be.
    pub fn overdraw(&self, _bytes: u64) -> ByteLease {
        todo!()
    }
}

impl ByteLease {
    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        todo!()
    }

    /// Gives back all but `bytes`; never grows.
    pub fn shrink_to(&self, _bytes: u64) {
        todo!()
    }

    /// Moves `bytes` of this reservation (at most what it holds) into one of its own.
    pub fn split(&self, _bytes: u64) -> ByteLease {
        todo!()
    }

    /// Grows to `bytes` without waiting; returns how far that went into the red (0 when it was free).
    pub fn grow_to(&self, _bytes: u64) -> u64 {
        todo!()
    }
}
