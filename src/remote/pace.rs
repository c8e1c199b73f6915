//! How fast a host is asked once it said that it was asked too fast.
//!
//! Many tasks that wait for the end of one `Retry-After` would come back all at once, be refused again, and use up their
//! tries. So they come one after another: at nine tenths of what the host served in the second before it first refused, at
//! seven tenths of the pace at which it refuses again, and faster by and by while it does not.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Requests a second that are not fallen below at the first refusal, which may be the only one.
const FIRST: f64 = 5.0;

/// Requests a second that are never fallen below.
const LEAST: f64 = 0.2;

/// How much faster it gets in a second.
const RECOVERY: f64 = 1.15;

/// A host that did not refuse for so long is asked as before.
const FORGIVEN: Duration = Duration::from_secs(30);

/// The most answers of a second that are counted.
const COUNTED: usize = 4096;

/// The pace of one host.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When requests were served, up to a second ago.
    served: VecDeque<Instant>,
    slowed: Option<Slowed>,
    /// How often it got slower.
    refusals: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slowed {
    /// Requests a second.
    rate: f64,
    /// When the rate was that.
    since: Instant,
    /// When the host last refused.
    refused: Instant,
    /// When the next request may go.
    next: Instant,
}

impl Pace {
    /// A request was served.
    pub(super) fn served(&mut self, now: Instant) {
        self.forget(now);
        if self.served.len() < COUNTED {
            self.served.push_back(now);
        }
    }

    /// A request that began then was refused. Those that were on their way at the last refusal say nothing new.
    pub(super) fn refused(&mut self, begun: Instant, now: Instant) {
        self.forget(now);
        let rate = match self.slowed {
            Some(slowed) if begun <= slowed.refused => return,
            Some(slowed) => (slowed.rate_at(now) * 0.7).max(LEAST),
            None => (self.served.len() as f64 * 0.9).max(FIRST),
        };
        self.slowed = Some(Slowed { rate, since: now, refused: now, next: now });
        self.refusals += 1;
    }

    /// How often it got slower; times that were given before a refusal hold no more.
    pub(super) fn refusals(&self) -> u64 {
        self.refusals
    }

    /// When the next request may go; the one after it comes a step later.
    pub(super) fn next(&mut self, now: Instant) -> Instant {
        let Some(slowed) = &mut self.slowed else { return now };
        if now.duration_since(slowed.refused) >= FORGIVEN {
            self.slowed = None;
            return now;
        }
        let due = slowed.next.max(now);
        slowed.next = due + Duration::from_secs_f64(1.0 / slowed.rate_at(due));
        due
    }

    fn forget(&mut self, now: Instant) {
        while self.served.front().is_some_and(|at| now.duration_since(*at) > Duration::from_secs(1)) {
            self.served.pop_front();
        }
    }
}

impl Slowed {
    fn rate_at(&self, now: Instant) -> f64 {
        self.rate * RECOVERY.powf(now.duration_since(self.since).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_host_that_refuses_is_asked_as_fast_as_it_served() {
        let (mut pace, begun) = (Pace::default(), Instant::now());
        assert_eq!((pace.next(begun), pace.next(begun)), (begun, begun), "nobody was refused");
        (0..20).for_each(|_| pace.served(begun));
        pace.refused(begun, begun);
        // Nine tenths of 20 in a second.
        assert_eq!(pace.next(begun), begun);
        let step = pace.next(begun).duration_since(begun).as_secs_f64();
        assert!((step - 1.0 / 18.0).abs() < 1e-6, "{step}");
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_of_one_moment_slow_down_once_and_later_ones_again() {
        let (mut pace, begun) = (Pace::default(), Instant::now());
        advance(SECOND).await;
        let refused = Instant::now();
        for _ in 0..9 {
            pace.refused(begun, refused);
        }
        assert_eq!(pace.slowed.expect("it is slow").rate, FIRST);
        advance(SECOND).await;
        pace.refused(Instant::now(), Instant::now());
        let rate = pace.slowed.expect("it is slow").rate;
        assert!((rate - FIRST * RECOVERY * 0.7).abs() < 1e-6, "{rate}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_refuses_no_more_is_asked_as_before() {
        let mut pace = Pace::default();
        pace.refused(Instant::now(), Instant::now());
        advance(FORGIVEN).await;
        let now = Instant::now();
        assert_eq!([pace.next(now), pace.next(now)], [now, now]);
    }
}
