//! A budget of bytes, reserved first come first served, with overdrafts that later reservations repay.
//!
//! A large reservation at the head of the line blocks smaller ones behind it, so that it never starves.

use std::sync::Arc;

use super::pool::{Label, Pool, Share};
use crate::ids::ResourceName;

/// A budget of bytes. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Bytes {
    pool: Arc<Pool>,
}

/// More than the budget will ever hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
pub struct ByteLease {
    share: Arc<Share>,
}

impl Bytes {
    /// A budget of `capacity` bytes.
    pub fn new(name: ResourceName, capacity: u64) -> Self {
        Self { pool: Pool::new(name, capacity) }
    }

    /// Its name.
    pub fn name(&self) -> &ResourceName {
        self.pool.name()
    }

    /// The whole budget.
    pub fn capacity(&self) -> u64 {
        self.pool.limit()
    }

    /// Held now; above `capacity` while an overdraft stands.
    pub fn used(&self) -> u64 {
        self.pool.used()
    }

    /// The highest `used` so far.
    pub fn peak(&self) -> u64 {
        self.pool.peak()
    }

    /// How many wait.
    pub fn waiting(&self) -> u64 {
        self.pool.waiting()
    }

    /// Who holds how many bytes, the largest first: `label (bytes)`.
    pub fn holders(&self) -> Vec<String> {
        self.pool.holders()
    }

    /// Who waits for how many bytes, the head of the line first: `label (bytes)`.
    pub fn waiters(&self) -> Vec<String> {
        self.pool.waiters()
    }

    /// Reserves, first come first served; waits while an overdraft stands. Cancel-safe: dropping the future leaves
    /// nothing reserved.
    ///
    /// # Errors
    /// A demand above the capacity is refused at once.
    pub async fn reserve(&self, bytes: u64) -> Result<ByteLease, NeverGranted> {
        self.reserve_as(bytes, None).await
    }

    /// As [`Bytes::reserve`], naming who asks, for stall messages.
    ///
    /// # Errors
    /// A demand above the capacity is refused at once.
    pub async fn reserve_for(&self, bytes: u64, label: Arc<str>) -> Result<ByteLease, NeverGranted> {
        self.reserve_as(bytes, Some(label)).await
    }

    /// Reserves without waiting, into an overdraft if need be.
    pub fn overdraw(&self, bytes: u64) -> ByteLease {
        ByteLease::new(self.pool.seize(bytes, None))
    }

    async fn reserve_as(&self, bytes: u64, label: Label) -> Result<ByteLease, NeverGranted> {
        let capacity = self.capacity();
        if bytes > capacity {
            return Err(NeverGranted { name: self.name().clone(), demand: bytes, capacity });
        }
        Ok(ByteLease::new(self.pool.acquire(bytes, label).await))
    }
}

impl ByteLease {
    fn new(share: Share) -> Self {
        Self { share: Arc::new(share) }
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.share.amount()
    }

    /// The budget that it is a part of.
    pub fn budget(&self) -> Bytes {
        Bytes { pool: Arc::clone(self.share.pool()) }
    }

    /// Gives back all but `bytes`; never grows.
    pub fn shrink_to(&self, bytes: u64) {
        self.share.shrink_to(bytes);
    }

    /// Moves `bytes` of this reservation (at most what it holds) into one of its own.
    #[must_use]
    pub fn split(&self, bytes: u64) -> ByteLease {
        Self::new(self.share.split(bytes))
    }

    /// Grows to `bytes` without waiting and never shrinks; returns how many bytes of the growth are overdrawn
    /// (0 when all of it was free).
    pub fn grow_to(&self, bytes: u64) -> u64 {
        self.share.grow_to(bytes)
    }

    /// How many bytes growth has overdrawn since this was asked last, through any clone.
    pub fn take_overdrawn(&self) -> u64 {
        self.share.take_overdrawn()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_secs(1);

    fn budget() -> Bytes {
        Bytes::new("memory".into(), 100)
    }

    #[tokio::test(start_paused = true)]
    async fn a_demand_above_the_capacity_is_refused_at_once() {
        let refused = budget().reserve(101).await.unwrap_err();
        assert_eq!(refused.to_string(), "`memory` needs 101 bytes and the budget is 100");
        assert_eq!(budget().reserve(100).await.unwrap().bytes(), 100);
    }

    #[tokio::test(start_paused = true)]
    async fn an_overdraft_holds_back_new_reservations_until_it_is_repaid() {
        let memory = budget();
        let (grown, other) = (memory.reserve(60).await.unwrap(), memory.reserve(30).await.unwrap());
        assert_eq!(grown.grow_to(65), 0, "5 of the 10 free bytes");
        assert_eq!(grown.grow_to(90), 20, "90 + 30 is 20 above 100");
        assert_eq!((memory.used(), memory.peak()), (120, 120));
        assert!(timeout(SOON, memory.reserve(0)).await.is_err(), "even nothing waits for an overdraft");
        drop(other);
        assert_eq!(timeout(SOON, memory.reserve(10)).await.unwrap().unwrap().bytes(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn an_overdraft_counts_only_what_the_growth_added() {
        let memory = budget();
        let _far = memory.overdraw(130);
        assert_eq!(memory.reserve(101).await.unwrap_err().demand, 101);
        let small = memory.overdraw(0);
        assert_eq!(small.grow_to(7), 7);
        assert_eq!(small.grow_to(3), 0, "growing to less changes nothing");
        assert_eq!((small.clone().take_overdrawn(), small.take_overdrawn()), (7, 0), "told once");
        assert_eq!((small.bytes(), memory.used()), (7, 137));
    }

    #[tokio::test(start_paused = true)]
    async fn shrinking_lets_the_next_in_and_never_grows() {
        let memory = budget();
        let lease = memory.reserve(80).await.unwrap();
        let waiting = tokio::spawn({
            let memory = memory.clone();
            async move { memory.reserve(50).await.unwrap().bytes() }
        });
        tokio::task::yield_now().await;
        assert_eq!(memory.waiting(), 1);
        lease.shrink_to(90);
        assert_eq!((lease.bytes(), memory.waiting()), (80, 1));
        lease.shrink_to(50);
        assert_eq!(waiting.await.unwrap(), 50);
    }

    #[tokio::test(start_paused = true)]
    async fn a_split_moves_bytes_exactly() {
        let memory = budget();
        let whole = memory.reserve(80).await.unwrap();
        let part = whole.split(30);
        assert_eq!((whole.bytes(), part.bytes(), memory.used()), (50, 30, 80));
        let rest = whole.split(999);
        assert_eq!((whole.bytes(), rest.bytes(), memory.used()), (0, 50, 80));
        drop((whole, rest));
        assert_eq!(memory.used(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn clones_share_one_reservation_and_the_last_gives_back() {
        let memory = budget();
        let lease = memory.reserve(40).await.unwrap();
        let shared = lease.clone();
        drop(lease);
        assert_eq!(memory.used(), 40);
        shared.shrink_to(10);
        assert_eq!(memory.used(), 10);
        drop(shared);
        assert_eq!(memory.used(), 0);
    }
}
