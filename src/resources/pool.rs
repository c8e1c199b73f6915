//! A count with a limit, given out first come first served: the core of `Slots` and `Bytes`.
//!
//! Invariants, all under one lock: `used` is the sum of what the holders hold; tickets in the line ascend; and
//! whenever the lock is free, the head of the line does not fit. A request at the head that does not fit blocks
//! smaller ones behind it, so that nobody starves.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ids::ResourceName;

/// Who holds or waits, for messages.
pub(super) type Label = Option<Arc<str>>;

/// A count with a limit.
#[derive(Debug)]
pub(super) struct Pool {
    name: ResourceName,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limit: u64,
    used: u64,
    peak: u64,
    next_ticket: u64,
    line: VecDeque<Waiter>,
    holders: HashMap<u64, Holder>,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    amount: u64,
    label: Label,
    bell: Arc<Notify>,
}

#[derive(Debug)]
struct Holder {
    amount: u64,
    label: Label,
    /// What growth took beyond the limit and nobody has asked for yet.
    overdrawn: u64,
}

/// A place in the line that becomes a part of the count; dropping it leaves the line or gives the part back.
#[derive(Debug)]
pub(super) struct Share {
    pool: Arc<Pool>,
    ticket: u64,
}

impl Pool {
    pub(super) fn new(name: ResourceName, limit: u64) -> Arc<Self> {
        let state =
            State { limit, used: 0, peak: 0, next_ticket: 0, line: VecDeque::new(), holders: HashMap::new() };
        Arc::new(Self { name, state: Mutex::new(state) })
    }

    pub(super) fn name(&self) -> &ResourceName {
        &self.name
    }

    pub(super) fn limit(&self) -> u64 {
        self.lock().limit
    }

    pub(super) fn used(&self) -> u64 {
        self.lock().used
    }

    pub(super) fn peak(&self) -> u64 {
        self.lock().peak
    }

    pub(super) fn waiting(&self) -> u64 {
        self.lock().line.len() as u64
    }

    /// Whether the limit keeps somebody from more.
    pub(super) fn is_exhausted(&self) -> bool {
        let state = self.lock();
        state.used >= state.limit || !state.line.is_empty()
    }

    /// `label (amount)` of every holder, the largest first, the oldest first among equals.
    pub(super) fn holders(&self) -> Vec<String> {
        let state = self.lock();
        let mut holders: Vec<_> = state.holders.iter().collect();
        holders.sort_by_key(|(ticket, holder)| (std::cmp::Reverse(holder.amount), **ticket));
        holders.into_iter().map(|(_, holder)| described(&holder.label, holder.amount)).collect()
    }

    /// `label (amount)` of all that wait, the head first.
    pub(super) fn waiters(&self) -> Vec<String> {
        self.lock().line.iter().map(|waiter| described(&waiter.label, waiter.amount)).collect()
    }

    /// Moves the limit. A lower one takes nothing from holders: it holds back what they return.
    pub(super) fn set_limit(&self, limit: u64) {
        self.change(|state| state.limit = limit);
    }

    /// Waits in line for `amount`. Cancel-safe: the share leaves the line, or gives back, wherever it is dropped.
    pub(super) async fn acquire(self: &Arc<Self>, amount: u64, label: Label) -> Share {
        let (share, bell) = self.enter(amount, label);
        if let Some(bell) = bell {
            bell.notified().await;
        }
        share
    }

    /// Takes `amount` if it fits and nobody waits.
    pub(super) fn try_acquire(self: &Arc<Self>, amount: u64, label: Label) -> Option<Share> {
        let mut state = self.lock();
        let is_free = state.line.is_empty() && state.fits(amount);
        is_free.then(|| self.share(state.grant_new(amount, label)))
    }

    /// Takes `amount` past the line and past the limit.
    pub(super) fn seize(self: &Arc<Self>, amount: u64, label: Label) -> Share {
        self.share(self.lock().grant_new(amount, label))
    }

    /// A share that is granted, or stands in line until the bell rings.
    fn enter(self: &Arc<Self>, amount: u64, label: Label) -> (Share, Option<Arc<Notify>>) {
        let mut state = self.lock();
        if state.line.is_empty() && state.fits(amount) {
            return (self.share(state.grant_new(amount, label)), None);
        }
        let (ticket, bell) = state.queue(amount, label);
        (self.share(ticket), Some(bell))
    }

    fn share(self: &Arc<Self>, ticket: u64) -> Share {
        Share { pool: Arc::clone(self), ticket }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, so a poisoned state is a whole one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and lets in whoever fits now. Bells ring after the lock is free.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let (result, bells) = {
            let mut state = self.lock();
            let result = change(&mut state);
            (result, state.advance())
        };
        for bell in bells {
            bell.notify_one();
        }
        result
    }
}

impl State {
    fn fits(&self, amount: u64) -> bool {
        self.used.checked_add(amount).is_some_and(|used| used <= self.limit)
    }

    fn ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket
    }

    fn grant_new(&mut self, amount: u64, label: Label) -> u64 {
        let ticket = self.ticket();
        self.grant(ticket, amount, label);
        ticket
    }

    fn grant(&mut self, ticket: u64, amount: u64, label: Label) {
        self.holders.insert(ticket, Holder { amount, label, overdrawn: 0 });
        self.add(amount);
    }

    fn add(&mut self, amount: u64) {
        self.used = self.used.saturating_add(amount);
        self.peak = self.peak.max(self.used);
    }

    fn queue(&mut self, amount: u64, label: Label) -> (u64, Arc<Notify>) {
        let (ticket, bell) = (self.ticket(), Arc::new(Notify::new()));
        self.line.push_back(Waiter { ticket, amount, label, bell: Arc::clone(&bell) });
        (ticket, bell)
    }

    /// Grants the head while it fits; the bells of those that were granted.
    fn advance(&mut self) -> Vec<Arc<Notify>> {
        let mut bells = Vec::new();
        while let Some(head) = self.pop_fitting_head() {
            self.grant(head.ticket, head.amount, head.label);
            bells.push(head.bell);
        }
        bells
    }

    fn pop_fitting_head(&mut self) -> Option<Waiter> {
        let amount = self.line.front()?.amount;
        if self.fits(amount) { self.line.pop_front() } else { None }
    }

    fn remove(&mut self, ticket: u64) {
        if let Some(holder) = self.holders.remove(&ticket) {
            self.used -= holder.amount;
        } else if let Ok(at) = self.line.binary_search_by_key(&ticket, |waiter| waiter.ticket) {
            self.line.remove(at);
        }
    }

    fn amount(&self, ticket: u64) -> u64 {
        self.holders.get(&ticket).map_or(0, |holder| holder.amount)
    }

    /// Sets what a holder holds.
    fn resize(&mut self, ticket: u64, amount: u64) {
        let Some(holder) = self.holders.get_mut(&ticket) else { return };
        let before = std::mem::replace(&mut holder.amount, amount);
        self.used -= before;
        self.add(amount);
    }

    /// Moves a part of what a holder holds to a new ticket; `used` stays.
    fn split(&mut self, ticket: u64, amount: u64) -> u64 {
        let part = self.ticket();
        if let Some(holder) = self.holders.get_mut(&ticket) {
            let amount = amount.min(holder.amount);
            holder.amount -= amount;
            let label = holder.label.clone();
            self.holders.insert(part, Holder { amount, label, overdrawn: 0 });
        }
        part
    }

    fn red(&self) -> u64 {
        self.used.saturating_sub(self.limit)
    }
}

impl Share {
    pub(super) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    pub(super) fn amount(&self) -> u64 {
        self.pool.lock().amount(self.ticket)
    }

    /// Gives back all but `amount`; never grows.
    pub(super) fn shrink_to(&self, amount: u64) {
        self.pool.change(|state| state.resize(self.ticket, amount.min(state.amount(self.ticket))));
    }

    /// Grows to `amount` past the line and past the limit; never shrinks. How much of the growth was not there.
    pub(super) fn grow_to(&self, amount: u64) -> u64 {
        let mut state = self.pool.lock();
        let before = state.red();
        let amount = amount.max(state.amount(self.ticket));
        state.resize(self.ticket, amount);
        let overdrawn = state.red() - before;
        if let Some(holder) = state.holders.get_mut(&self.ticket) {
            holder.overdrawn += overdrawn;
        }
        overdrawn
    }

    /// What growth took beyond the limit since this was asked last.
    pub(super) fn take_overdrawn(&self) -> u64 {
        self.pool
            .lock()
            .holders
            .get_mut(&self.ticket)
            .map_or(0, |holder| std::mem::take(&mut holder.overdrawn))
    }

    /// Moves `amount`, at most what it holds, into a share of its own.
    pub(super) fn split(&self, amount: u64) -> Share {
        self.pool.share(self.pool.lock().split(self.ticket, amount))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.change(|state| state.remove(self.ticket));
    }
}

fn described(label: &Label, amount: u64) -> String {
    format!("{} ({amount})", label.as_deref().unwrap_or("unnamed"))
}

#[cfg(test)]
mod tests;
