//! What one piece of work takes at once: several slots in one order, and tokens of rates.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::pool::Label;
use super::rate::{Rank, Tokens};
use super::{Rate, SlotLease, Slots};
use crate::ids::ResourceName;

/// Shorter waits are not told: they are the price of asking.
const TOLD: Duration = Duration::from_micros(100);

/// Slots in canonical order, and rates that grant the start.
#[derive(Clone, Debug, Default)]
pub struct Requirement {
    /// Slots with amounts, in canonical order.
    pub slots: Vec<(Slots, u64)>,
    /// Rates with tokens; one token each a piece of work.
    pub rates: Vec<Rate>,
    /// Rates that count bytes: they must be out of debt at the start, and are charged for what came.
    pub byte_rates: Vec<Rate>,
}

/// All that one piece of work holds.
#[derive(Debug, Default)]
pub struct LeaseSet {
    /// The slots held.
    pub slots: Vec<SlotLease>,
    /// Seconds waited, by resource; waits under a tenth of a millisecond are left out.
    pub waited: BTreeMap<ResourceName, f64>,
}

impl Requirement {
    /// Waits until every rate would grant, takes the slots in order, takes the tokens if they are still there,
    /// else gives the slots back and waits again, keeping its rank. So a slot is never held while a rate is awaited,
    /// and a token is never spent while a slot is. Cancel-safe: dropping the future leaves nothing taken.
    pub async fn take(&self) -> LeaseSet {
        self.take_as(None).await
    }

    /// As [`Requirement::take`], naming who asks, for stall messages.
    pub async fn take_for(&self, label: Arc<str>) -> LeaseSet {
        self.take_as(Some(label)).await
    }

    /// Charges the byte rates after the fact, and waits until the bytes are paid for. Dropping the future leaves
    /// them charged.
    pub async fn charge(&self, bytes: u64) {
        for rate in &self.byte_rates {
            rate.charge(bytes).await;
        }
    }

    async fn take_as(&self, label: Label) -> LeaseSet {
        let ranks: Vec<Rank> = self.rates.iter().map(Rate::rank).collect();
        let mut waited = Waited::default();
        loop {
            self.wait_for_rates(&ranks, &mut waited).await;
            let slots = self.take_slots(&label, &mut waited).await;
            if self.spend_tokens(&ranks) {
                return LeaseSet { slots, waited: waited.told() };
            }
        }
    }

    async fn wait_for_rates(&self, ranks: &[Rank], waited: &mut Waited) {
        for (rate, rank) in self.rates.iter().zip(ranks) {
            waited.time(rate.name(), rate.ready_at(*rank, 1)).await;
        }
        for rate in &self.byte_rates {
            waited.time(rate.name(), rate.ready(1)).await;
        }
    }

    async fn take_slots(&self, label: &Label, waited: &mut Waited) -> Vec<SlotLease> {
        let mut leases = Vec::with_capacity(self.slots.len());
        for (slots, amount) in &self.slots {
            leases.push(waited.time(slots.name(), slots.acquire_as(*amount, label.clone())).await);
        }
        leases
    }

    /// Takes one token of every rate, or none of any.
    fn spend_tokens(&self, ranks: &[Rank]) -> bool {
        let tokens: Option<Vec<Tokens>> =
            self.rates.iter().zip(ranks).map(|(rate, rank)| rate.try_take_at(*rank, 1)).collect();
        tokens.map(|tokens| tokens.into_iter().for_each(Tokens::spend)).is_some()
    }
}

/// Time waited, by resource.
#[derive(Default)]
struct Waited(BTreeMap<ResourceName, Duration>);

impl Waited {
    async fn time<T>(&mut self, resource: &ResourceName, wait: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let result = wait.await;
        let took = began.elapsed();
        if took >= TOLD {
            *self.0.entry(resource.clone()).or_default() += took;
        }
        result
    }

    fn told(self) -> BTreeMap<ResourceName, f64> {
        self.0.into_iter().map(|(name, time)| (name, time.as_secs_f64())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::time::{sleep, timeout};

    use super::*;

    fn connections(count: u64) -> Slots {
        Slots::fixed("connections".into(), count)
    }

    fn requirement(slots: &Slots, rates: &[&Rate]) -> Requirement {
        Requirement {
            slots: vec![(slots.clone(), 1)],
            rates: rates.iter().map(|rate| (*rate).clone()).collect(),
            byte_rates: Vec::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_slot_is_held_while_a_rate_is_awaited() {
        let (slots, rate) = (connections(4), Rate::new("provider".into(), 1.0, 1));
        let requirement = requirement(&slots, &[&rate]);
        let _first = requirement.take().await;
        let second = tokio::spawn(async move { requirement.take().await.waited });
        sleep(Duration::from_millis(500)).await;
        assert_eq!((slots.used(), rate.waiting()), (1, 1));
        let waited = second.await.unwrap();
        assert!((waited["provider"] - 1.0).abs() < 0.002);
        assert!(!waited.contains_key("connections"));
    }

    #[tokio::test(start_paused = true)]
    async fn no_token_is_spent_while_a_slot_is_awaited() {
        let (slots, rate) = (connections(1), Rate::new("provider".into(), 1.0, 1));
        let held = slots.acquire(1).await;
        let blocked = tokio::spawn({
            let requirement = requirement(&slots, &[&rate]);
            async move { requirement.take().await.waited }
        });
        sleep(Duration::from_secs(5)).await;
        assert!(rate.try_take(1), "another stage with free slots may start");
        drop(held);
        let waited = blocked.await.unwrap();
        assert_eq!(waited["connections"], 5.0);
        assert!((waited["provider"] - 1.0).abs() < 0.002, "the token was gone, so it waited for the next");
    }

    #[tokio::test(start_paused = true)]
    async fn of_several_rates_a_token_of_each_or_of_none() {
        let (slots, fast, slow) =
            (connections(1), Rate::new("fast".into(), 10.0, 1), Rate::new("slow".into(), 1.0, 1));
        let both = requirement(&slots, &[&fast, &slow]);
        assert!(slow.try_take(1));
        assert!(!both.spend_tokens(&[fast.rank(), slow.rank()]));
        assert_eq!((fast.taken(), slow.taken()), (0, 1));
        drop(both.take().await);
        assert_eq!((fast.taken(), slow.taken()), (1, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_for_tokens_start_in_the_order_of_asking() {
        let (slots, rate) = (connections(2), Rate::new("provider".into(), 10.0, 1));
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = (0..20)
            .map(|number| {
                let (requirement, order) = (requirement(&slots, &[&rate]), Arc::clone(&order));
                tokio::spawn(async move {
                    let _leases = requirement.take().await;
                    order.lock().unwrap().push(number);
                    sleep(Duration::from_millis(350)).await;
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert!(order.lock().unwrap().is_sorted(), "{order:?}");
        assert_eq!((slots.used(), rate.taken()), (0, 20));
    }

    #[tokio::test(start_paused = true)]
    async fn dropping_it_anywhere_leaves_nothing_taken() {
        let (slots, rate) = (connections(1), Rate::new("provider".into(), 1.0, 1));
        let requirement = requirement(&slots, &[&rate]);
        drop(requirement.take().await);
        for millis in (0..3000).step_by(50) {
            let taken = rate.taken();
            let outcome = timeout(Duration::from_millis(millis), requirement.take()).await;
            assert_eq!(rate.taken() - taken, u64::from(outcome.is_ok()));
            drop(outcome);
            assert_eq!((slots.used(), slots.waiting(), rate.waiting()), (0, 0, 0));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_that_came_hold_back_the_next_start() {
        let line = Rate::new("line".into(), 100.0, 100);
        let requirement = Requirement { byte_rates: vec![line.clone()], ..Requirement::default() };
        requirement.take().await;
        assert!(timeout(Duration::from_millis(1), requirement.charge(300)).await.is_err());
        let waited = requirement.take().await.waited;
        assert!((waited["line"] - 2.009).abs() < 0.002, "2 s of debt and one byte, less 1 ms: {waited:?}");
    }
}
