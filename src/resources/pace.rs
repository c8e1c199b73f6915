//! How slow a service is, measured against itself: seconds per byte against the best seen for like sizes.
//!
//! A request of a kilobyte is all round trip, one of a gigabyte all transfer, so seconds per byte are compared
//! within powers of two of the size only. A round of mixed sizes gives one number: how many times as long it took as
//! the same requests take at the best.

/// Sizes by powers of two: the number of bits of the size.
const CLASSES: usize = 65;

/// How far one better round pulls the baseline down: a single lucky round does not set it.
const LEARNING: f64 = 0.25;

/// What the requests of one round took.
#[derive(Debug, Clone)]
pub(super) struct Round {
    classes: [Served; CLASSES],
    /// Requests counted.
    pub(super) count: u64,
    /// Whether the limit kept work waiting at any time.
    pub(super) was_binding: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Served {
    bytes: f64,
    seconds: f64,
}

/// The best seconds per byte, by class of size; `None` before the first.
#[derive(Debug)]
pub(super) struct Pace {
    best: [Option<f64>; CLASSES],
}

impl Default for Round {
    fn default() -> Self {
        Self { classes: [Served::default(); CLASSES], count: 0, was_binding: false }
    }
}

impl Round {
    pub(super) fn add(&mut self, bytes: u64, seconds: f64, is_binding: bool) {
        let class = &mut self.classes[class_of(bytes)];
        class.bytes += bytes.max(1) as f64;
        class.seconds += seconds;
        self.count += 1;
        self.was_binding |= is_binding;
    }

    /// (class, bytes, seconds) of every size that occurred.
    fn served(&self) -> impl Iterator<Item = (usize, Served)> {
        self.classes.iter().copied().enumerate().filter(|(_, served)| served.bytes > 0.0)
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self { best: [None; CLASSES] }
    }
}

impl Pace {
    /// How many times as long the round took as it takes at the best; 1 when nothing like it was seen before.
    pub(super) fn slowdown(&self, round: &Round) -> f64 {
        let known = round.served().filter_map(|(class, served)| Some((self.best[class]?, served)));
        let (expected, took) = known.fold((0.0, 0.0), |(expected, took), (best, served)| {
            (expected + best * served.bytes, took + served.seconds)
        });
        if expected > 0.0 { took / expected } else { 1.0 }
    }

    /// Takes a round's pace in where it is better than the best, or the first of its size.
    pub(super) fn learn(&mut self, round: &Round) {
        for (class, served) in round.served() {
            let pace = served.seconds / served.bytes;
            let best = self.best[class].get_or_insert(pace);
            *best += LEARNING * (pace - *best).min(0.0);
        }
    }

    /// The service is slower for good: every best is worse by this factor.
    pub(super) fn accept(&mut self, slowdown: f64) {
        for best in self.best.iter_mut().flatten() {
            *best *= slowdown;
        }
    }
}

fn class_of(bytes: u64) -> usize {
    (u64::BITS - bytes.leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(requests: &[(u64, f64)]) -> Round {
        let mut round = Round::default();
        for (bytes, seconds) in requests {
            round.add(*bytes, *seconds, true);
        }
        round
    }

    #[test]
    fn mixed_sizes_are_compared_with_their_like() {
        let mut pace = Pace::default();
        pace.learn(&round(&[(1000, 0.1), (1_000_000, 1.0)]));
        assert!((pace.slowdown(&round(&[(1000, 0.1), (1000, 0.1), (1000, 0.1)])) - 1.0).abs() < 1e-12);
        assert!((pace.slowdown(&round(&[(1_000_000, 2.0)])) - 2.0).abs() < 1e-12);
        // 0.2 + 1.0 where 0.1 + 1.0 was expected
        assert!((pace.slowdown(&round(&[(1000, 0.2), (1_000_000, 1.0)])) - 1.2 / 1.1).abs() < 1e-12);
    }

    #[test]
    fn sizes_never_seen_say_nothing() {
        let mut pace = Pace::default();
        assert_eq!(pace.slowdown(&round(&[(1000, 9.0)])), 1.0);
        pace.learn(&round(&[(1000, 0.1)]));
        assert_eq!(pace.slowdown(&round(&[(0, 9.0), (u64::MAX, 9.0)])), 1.0);
    }

    #[test]
    fn a_better_round_pulls_the_baseline_down_by_a_quarter_and_a_worse_one_leaves_it() {
        let mut pace = Pace::default();
        pace.learn(&round(&[(1, 8.0)]));
        pace.learn(&round(&[(1, 4.0)]));
        assert_eq!(pace.slowdown(&round(&[(1, 7.0)])), 1.0);
        pace.learn(&round(&[(1, 100.0)]));
        assert_eq!(pace.slowdown(&round(&[(1, 7.0)])), 1.0);
    }

    #[test]
    fn an_accepted_slowdown_becomes_the_new_normal() {
        let mut pace = Pace::default();
        pace.learn(&round(&[(1, 1.0)]));
        pace.accept(3.0);
        assert_eq!(pace.slowdown(&round(&[(1, 3.0)])), 1.0);
    }
}
