//! A token bucket on tokio's clock: GCRA, the generic cell rate algorithm (ITU-T I.371), in the order of asking.
//!
//! One number is the whole bucket: when it will be full again (`full_at`, the theoretical arrival time). A grant of n
//! tokens moves it n intervals on; a grant may be made while it lies less than a burst ahead. More than a burst is
//! granted from a full bucket, into a debt that those behind wait out, so the rate holds for any amount.
//! A timer that fires late costs nothing, up to `LATENESS`: the head of the line is granted as of when it could have
//! been, and who asks right after it counts as having asked then.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::ids::ResourceName;

/// How late a grant may be made up for: tokio's timers tick in milliseconds. More would let a stalled process send
/// a volley.
const LATENESS: f64 = 0.005;

/// Below a nanosecond nobody waits.
const INSTANT: f64 = 1e-9;

/// So many tokens a second, first come first served, pausable. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Rate(Arc<Bucket>);

#[derive(Debug)]
struct Bucket {
    name: ResourceName,
    per_second: f64,
    burst: u64,
    origin: Instant,
    state: Mutex<State>,
}

/// Times are seconds since the bucket's origin.
#[derive(Debug, Default)]
struct State {
    full_at: f64,
    paused_until: f64,
    /// How late the last grant came, and when.
    late: (f64, f64),
    next_ticket: u64,
    line: BTreeMap<u64, Arc<Notify>>,
    taken: u64,
}

/// A rank in the order of asking; it outlives a place in the line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rank {
    ticket: u64,
    asked_at: f64,
}

/// A place in the line; dropping it leaves the line and wakes the next.
struct Place<'a> {
    rate: &'a Rate,
    ticket: u64,
    bell: Arc<Notify>,
}

/// Tokens taken on approval; dropping gives them back.
#[must_use]
pub(super) struct Tokens {
    rate: Rate,
    amount: u64,
}

/// What the one who asks has to do next.
enum Turn {
    Granted,
    WaitUntil(Instant),
    WaitForBell,
}

impl Rate {
    /// `per_second` tokens (above 0), `burst` of them (at least 1) at once after a pause.
    pub fn new(name: ResourceName, per_second: f64, burst: u64) -> Self {
        Self(Arc::new(Bucket {
            name,
            per_second,
            burst: burst.max(1),
            origin: Instant::now(),
            state: Mutex::default(),
        }))
    }

    /// Its name.
    pub fn name(&self) -> &ResourceName {
        &self.0.name
    }

    /// A full bucket with the same figures.
    pub(super) fn anew(&self) -> Self {
        Self::new(self.0.name.clone(), self.0.per_second, self.0.burst)
    }

    /// Waits until `amount` tokens would be granted, in the order of asking; takes nothing. Cancel-safe.
    pub async fn ready(&self, amount: u64) {
        self.ready_at(self.rank(), amount).await;
    }

    /// Takes `amount` tokens if they are there and nobody waits.
    pub fn try_take(&self, amount: u64) -> bool {
        self.try_take_at(self.rank(), amount).map(Tokens::spend).is_some()
    }

    /// Waits and takes. Cancel-safe: dropping the future leaves nothing taken.
    pub async fn take(&self, amount: u64) {
        let rank = self.rank();
        self.wait(rank, |state| self.0.try_grant(state, rank, amount)).await;
    }

    /// Takes `amount` tokens at once, into a debt if need be, and waits until that is paid: for what was used before
    /// it could be counted. Dropping the future leaves the tokens taken.
    pub async fn charge(&self, amount: u64) {
        let paid_at = {
            let mut state = self.lock();
            let asked_at = self.0.asked_at(&state);
            self.0.debit(&mut state, asked_at, amount);
            state.full_at - self.0.seconds(self.0.burst)
        };
        if paid_at > self.0.now() {
            sleep_until(self.0.instant(paid_at)).await;
            self.0.note_lateness(&mut self.lock(), paid_at);
        }
    }

    /// Grants nothing for so long, to anybody: `Retry-After`. Of several pauses the one that ends last counts.
    pub fn pause(&self, time: Duration) {
        let until = self.0.now() + time.as_secs_f64();
        let mut state = self.lock();
        state.paused_until = state.paused_until.max(until);
    }

    /// How long it still grants nothing because of a pause.
    pub fn paused_for(&self) -> Option<Duration> {
        let left = self.lock().paused_until - self.0.now();
        (left > INSTANT).then(|| Duration::from_secs_f64(left))
    }

    /// How many wait.
    pub fn waiting(&self) -> u64 {
        self.lock().line.len() as u64
    }

    /// Tokens taken since the run began.
    pub fn taken(&self) -> u64 {
        self.lock().taken
    }

    /// Tokens per second.
    pub fn per_second(&self) -> f64 {
        self.0.per_second
    }

    /// A rank behind all that asked before.
    pub(super) fn rank(&self) -> Rank {
        let mut state = self.lock();
        state.next_ticket += 1;
        Rank { ticket: state.next_ticket, asked_at: self.0.asked_at(&state) }
    }

    /// As [`Rate::ready`], before all of a later rank.
    pub(super) async fn ready_at(&self, rank: Rank, amount: u64) {
        self.wait(rank, |state| self.0.delay(state, amount)).await;
    }

    /// Takes `amount` tokens if they are there and nobody of an earlier rank waits.
    pub(super) fn try_take_at(&self, rank: Rank, amount: u64) -> Option<Tokens> {
        let mut state = self.lock();
        let is_first = state.line.first_key_value().is_none_or(|(head, _)| rank.ticket < *head);
        let is_granted = is_first && self.0.try_grant(&mut state, rank, amount) <= INSTANT;
        is_granted.then(|| Tokens { rate: self.clone(), amount })
    }

    /// Whether nobody can tell it from a new one.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        let now = self.0.now();
        Arc::strong_count(&self.0) == 1
            && state.line.is_empty()
            && state.full_at <= now
            && state.paused_until <= now
    }

    /// Waits in line until `delay`, asked at the head of it, says 0 seconds.
    async fn wait(&self, rank: Rank, mut delay: impl FnMut(&mut State) -> f64) {
        let place = Place::enter(self, rank);
        loop {
            match place.turn(&mut delay) {
                Turn::Granted => return,
                Turn::WaitForBell => place.bell.notified().await,
                Turn::WaitUntil(at) => tokio::select! {
                    () = sleep_until(at) => {}
                    () = place.bell.notified() => {}
                },
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bucket {
    fn now(&self) -> f64 {
        self.origin.elapsed().as_secs_f64()
    }

    /// The first tick of the clock at or after so many seconds since the origin.
    fn instant(&self, seconds: f64) -> Instant {
        self.origin + Duration::from_nanos((seconds.max(0.0) * 1e9).ceil() as u64)
    }

    /// How long the bucket takes to gain so many tokens.
    fn seconds(&self, tokens: u64) -> f64 {
        tokens as f64 / self.per_second
    }

    /// When `amount` tokens would be granted.
    fn due(&self, state: &State, amount: u64) -> f64 {
        let headroom = self.seconds(self.burst - amount.min(self.burst));
        (state.full_at - headroom).max(state.paused_until)
    }

    /// Seconds until `amount` tokens would be granted.
    fn delay(&self, state: &State, amount: u64) -> f64 {
        self.due(state, amount) - self.now()
    }

    /// As of when somebody asks who asks now.
    fn asked_at(&self, state: &State) -> f64 {
        let (now, (lateness, granted_at)) = (self.now(), state.late);
        if now - granted_at < LATENESS { now - lateness } else { now }
    }

    fn note_lateness(&self, state: &mut State, due: f64) {
        let now = self.now();
        state.late = ((now - due).clamp(0.0, LATENESS), now);
    }

    /// Takes the tokens if they are there; else the seconds until they are.
    fn try_grant(&self, state: &mut State, rank: Rank, amount: u64) -> f64 {
        let (due, now) = (self.due(state, amount), self.now());
        if due - now <= INSTANT {
            self.note_lateness(state, due.max(rank.asked_at));
            self.debit(state, rank.asked_at.max(now - LATENESS), amount);
        }
        due - now
    }

    /// Takes `amount` tokens as of `time`.
    fn debit(&self, state: &mut State, time: f64, amount: u64) {
        state.full_at = state.full_at.max(time) + self.seconds(amount);
        state.taken += amount;
    }
}

impl<'a> Place<'a> {
    fn enter(rate: &'a Rate, rank: Rank) -> Self {
        let bell = Arc::new(Notify::new());
        rate.lock().line.insert(rank.ticket, Arc::clone(&bell));
        Self { rate, ticket: rank.ticket, bell }
    }

    fn turn(&self, delay: &mut impl FnMut(&mut State) -> f64) -> Turn {
        let mut state = self.rate.lock();
        if state.line.first_key_value().is_some_and(|(head, _)| *head != self.ticket) {
            return Turn::WaitForBell;
        }
        match delay(&mut state) {
            delay if delay <= INSTANT => Turn::Granted,
            delay => Turn::WaitUntil(self.rate.0.instant(self.rate.0.now() + delay)),
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.rate.lock();
        state.line.remove(&self.ticket);
        ring_head(&state);
    }
}

impl Tokens {
    /// Keeps them.
    pub(super) fn spend(mut self) {
        self.amount = 0;
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        let mut state = self.rate.lock();
        state.full_at -= self.rate.0.seconds(self.amount);
        state.taken -= self.amount;
        ring_head(&state);
    }
}

fn ring_head(state: &State) {
    if let Some((_, bell)) = state.line.first_key_value() {
        bell.notify_one();
    }
}

#[cfg(test)]
mod tests;
