//! Finds a limit by measuring: slow start, then additive increase and multiplicative decrease.
//!
//! The limit doubles each round until the first sign of too much; then it grows by one a round and shrinks on every
//! sign, once per round trip: signs from work that began before the last decrease are echoes of it. A sign is a
//! throttled request, or a round that took half as long again as the same requests take at the best. After several
//! decreases without a good round between them (an outage) the limit doubles back to where it was before the series.
//! The control law is that of TCP (Jacobson, *Congestion avoidance and control*, 1988; RFC 5681), with the delay
//! signal of Vegas (Brakmo and Peterson, 1995).
//!
//! A service that became slower for other reasons does not answer faster when it is asked less. So a decrease for
//! slowness is a trial: when the next round is as slow, the decrease is taken back and the pace is the new normal.

use super::Outcome;
use super::pace::{Pace, Round};

/// What a throttled request leaves of the limit.
const AFTER_THROTTLING: f64 = 0.8;
/// What a slow round leaves of the limit: below the knee, so that the best pace is seen again.
const AFTER_SLOWNESS: f64 = 0.6;
/// A round this many times as long as at the best is slow.
const SLOW: f64 = 1.5;
/// A trial in which the slowdown stayed above this part of what it was has shown that the limit is not the cause.
const UNMOVED: f64 = 0.85;
/// The fewest requests that are a round, so that one slow request is no sign.
const SHORTEST_ROUND: u64 = 4;

/// Finds a limit between two bounds. Pure: it knows neither clock nor tasks.
#[derive(Debug)]
pub(super) struct Controller {
    from: u64,
    to: u64,
    limit: u64,
    /// Below it the limit doubles, from it on it grows by one.
    threshold: u64,
    /// Counts the changes of the limit; work remembers under which it began.
    generation: u64,
    /// The generation that the last decrease began.
    decreased_at: u64,
    /// Whether a round without a sign followed the last decrease.
    has_recovered: bool,
    round: Round,
    pace: Pace,
    trial: Option<Trial>,
}

/// A decrease for slowness whose effect is not yet known.
#[derive(Debug, Clone, Copy)]
struct Trial {
    limit: u64,
    threshold: u64,
    slowdown: f64,
}

/// The limit moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) reason: &'static str,
}

impl Controller {
    /// Begins at `start`, doubling; or growing by one a round when `start` lies above `from`, since it then is what
    /// an earlier run found.
    pub(super) fn new(from: u64, to: u64, start: u64) -> Self {
        let from = from.max(1);
        let to = to.max(from);
        let limit = start.clamp(from, to);
        Self {
            from,
            to,
            limit,
            threshold: if limit > from { limit } else { to },
            generation: 0,
            decreased_at: 0,
            has_recovered: true,
            round: Round::default(),
            pace: Pace::default(),
            trial: None,
        }
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Never below.
    pub(super) fn from(&self) -> u64 {
        self.from
    }

    /// What work that begins now is to hand back with its outcome.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Learns from one use that began under `generation`; `is_binding` tells whether the limit kept others waiting.
    pub(super) fn observe(&mut self, generation: u64, outcome: Outcome, is_binding: bool) -> Option<Change> {
        match outcome {
            Outcome::Throttled if generation >= self.decreased_at => self.throttled(),
            Outcome::Served { bytes, seconds } if generation >= self.generation => {
                self.round.add(bytes, seconds, is_binding);
                if self.round.count < self.limit.max(SHORTEST_ROUND) { None } else { self.end_round() }
            }
            _ => None,
        }
    }

    fn throttled(&mut self) -> Option<Change> {
        self.trial = None;
        self.decrease(AFTER_THROTTLING, "throttled")
    }

    fn end_round(&mut self) -> Option<Change> {
        let round = std::mem::take(&mut self.round);
        let slowdown = self.pace.slowdown(&round);
        if let Some(trial) = self.trial.take_if(|trial| slowdown > UNMOVED * trial.slowdown) {
            return self.take_back(trial, slowdown);
        }
        self.trial = None;
        if slowdown > SLOW {
            return self.slow(slowdown);
        }
        self.pace.learn(&round);
        self.has_recovered = true;
        if round.was_binding { self.increase() } else { None }
    }

    /// A slow round. At the lowest limit there is nothing to take away, so the pace is the new normal.
    fn slow(&mut self, slowdown: f64) -> Option<Change> {
        if self.limit == self.from {
            self.pace.accept(slowdown);
            return None;
        }
        self.trial = Some(Trial { limit: self.limit, threshold: self.threshold, slowdown });
        self.decrease(AFTER_SLOWNESS, "slower per byte")
    }

    fn take_back(&mut self, trial: Trial, slowdown: f64) -> Option<Change> {
        self.pace.accept(slowdown);
        self.threshold = trial.threshold;
        self.move_to(trial.limit, "as slow with fewer")
    }

    fn increase(&mut self) -> Option<Change> {
        if self.limit < self.threshold {
            self.move_to((self.limit * 2).min(self.threshold), "slow start")
        } else {
            self.move_to(self.limit + 1, "no sign of too much")
        }
    }

    fn decrease(&mut self, factor: f64, reason: &'static str) -> Option<Change> {
        let lower = ((self.limit as f64 * factor) as u64).max(self.from);
        if self.has_recovered {
            self.threshold = lower;
        }
        self.has_recovered = false;
        self.round = Round::default();
        let change = self.move_to(lower, reason);
        self.decreased_at = self.generation;
        change
    }

    fn move_to(&mut self, limit: u64, reason: &'static str) -> Option<Change> {
        let limit = limit.clamp(self.from, self.to);
        let from = std::mem::replace(&mut self.limit, limit);
        (from != limit).then(|| {
            self.generation += 1;
            Change { from, to: limit, reason }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves as many equal requests as make a round, each `seconds` long, all begun now.
    fn round(controller: &mut Controller, seconds: f64) -> Option<Change> {
        let generation = controller.generation();
        let requests = controller.limit().max(SHORTEST_ROUND);
        let served = Outcome::Served { bytes: 1000, seconds };
        (0..requests).filter_map(|_| controller.observe(generation, served, true)).last()
    }

    fn throttle(controller: &mut Controller) -> Option<Change> {
        controller.observe(controller.generation(), Outcome::Throttled, true)
    }

    #[test]
    fn doubles_until_the_first_sign_then_grows_by_one() {
        let mut controller = Controller::new(2, 100, 2);
        let limits: Vec<u64> = (0..4).map(|_| round(&mut controller, 1.0).unwrap().to).collect();
        assert_eq!(limits, [4, 8, 16, 32]);
        assert_eq!(throttle(&mut controller), Some(Change { from: 32, to: 25, reason: "throttled" }));
        let limits: Vec<u64> = (0..3).map(|_| round(&mut controller, 1.0).unwrap().to).collect();
        assert_eq!(limits, [26, 27, 28]);
    }

    #[test]
    fn stays_within_its_bounds() {
        let mut controller = Controller::new(3, 5, 99);
        assert_eq!((controller.limit(), round(&mut controller, 1.0)), (5, None));
        assert_eq!(throttle(&mut controller).unwrap().to, 4);
        assert_eq!(throttle(&mut controller).unwrap().to, 3);
        assert_eq!(throttle(&mut controller), None);
        assert_eq!(controller.limit(), 3);
    }

    #[test]
    fn decreases_once_per_round_trip() {
        let mut controller = Controller::new(1, 100, 64);
        let began = controller.generation();
        let limits: Vec<_> = (0..64)
            .filter_map(|_| controller.observe(began, Outcome::Throttled, true))
            .map(|change| change.to)
            .collect();
        assert_eq!(limits, [51], "64 × 0.8");
        assert_eq!(throttle(&mut controller).unwrap().to, 40, "work begun after it counts again");
    }

    #[test]
    fn a_round_half_as_slow_again_is_a_sign() {
        let mut controller = Controller::new(1, 100, 50);
        round(&mut controller, 1.0);
        round(&mut controller, 1.49).expect("52");
        assert_eq!(controller.limit(), 52);
        // 52 × 0.6 = 31.2
        assert_eq!(
            round(&mut controller, 1.51),
            Some(Change { from: 52, to: 31, reason: "slower per byte" })
        );
        assert_eq!(round(&mut controller, 1.0).unwrap().to, 32, "faster with fewer: it stays");
    }

    #[test]
    fn a_decrease_that_does_not_help_is_taken_back_and_the_pace_accepted() {
        let mut controller = Controller::new(1, 100, 50);
        round(&mut controller, 1.0);
        assert_eq!(round(&mut controller, 2.0).unwrap().to, 30);
        assert_eq!(
            round(&mut controller, 2.0),
            Some(Change { from: 30, to: 51, reason: "as slow with fewer" })
        );
        assert_eq!(round(&mut controller, 2.0).unwrap().to, 52);
    }

    #[test]
    fn doubles_back_after_an_outage_to_where_it_was_before() {
        let mut controller = Controller::new(1, 100, 64);
        while throttle(&mut controller).is_some() {}
        assert_eq!(controller.limit(), 1);
        let limits: Vec<u64> = (0..7).map(|_| round(&mut controller, 1.0).unwrap().to).collect();
        assert_eq!(limits, [2, 4, 8, 16, 32, 51, 52], "64 × 0.8 = 51 is the threshold");
    }

    #[test]
    fn does_not_grow_where_the_limit_does_not_bind() {
        let mut controller = Controller::new(2, 100, 2);
        let served = Outcome::Served { bytes: 1, seconds: 1.0 };
        assert!((0..50).all(|_| controller.observe(0, served, false).is_none()));
        assert_eq!(controller.limit(), 2);
        assert!((0..50).any(|_| controller.observe(0, served, true).is_some()));
    }

    #[test]
    fn silence_says_nothing() {
        let mut controller = Controller::new(2, 100, 50);
        assert!((0..500).all(|_| controller.observe(0, Outcome::Silent, true).is_none()));
        assert_eq!(controller.limit(), 50);
    }
}
