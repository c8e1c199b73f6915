//! How fast a count grows, over the last moments.

use std::collections::VecDeque;

/// Seconds that are looked back.
const SPAN: f64 = 15.0;

/// A count at several moments.
#[derive(Debug, Default)]
pub(super) struct Recent {
    samples: VecDeque<(f64, u64)>,
}

impl Recent {
    /// Growth a second up to now, where the count is `count` after `seconds` of the run.
    pub(super) fn rate(&mut self, seconds: f64, count: u64) -> f64 {
        self.samples.push_back((seconds, count));
        while self.samples.get(1).is_some_and(|(at, _)| *at < seconds - SPAN) {
            self.samples.pop_front();
        }
        let (then, before) = self.samples.front().copied().unwrap_or_default();
        if seconds > then { count.saturating_sub(before) as f64 / (seconds - then) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_told_of_the_last_moments_only() {
        let mut recent = Recent::default();
        assert_eq!(recent.rate(0.0, 0), 0.0);
        assert_eq!(recent.rate(10.0, 50), 5.0);
        // The sample at 10 s is the last one that is 15 s old: 100 in 20 s.
        assert_eq!(recent.rate(30.0, 150), 5.0);
        // From 30 s on nothing came.
        assert_eq!(recent.rate(50.0, 150), 0.0);
    }
}
