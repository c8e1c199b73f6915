//! How often something happens: on the whole, and in the busiest second.

/// Counts by the second in which they fall; moments come nearly in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PerSecond {
    second: i64,
    now: u64,
    most: u64,
    count: u64,
    span: Option<(f64, f64)>,
}

impl PerSecond {
    /// One more at this moment, in seconds.
    pub(crate) fn add(&mut self, at: f64) {
        let second = at.floor() as i64;
        if second > self.second {
            (self.second, self.now) = (second, 0);
        }
        self.now += 1;
        self.count += 1;
        self.most = self.most.max(self.now);
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    /// Takes in another run's; their busiest seconds need not be the same one.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.most = self.most.max(other.most);
        self.span = match (self.span, other.span) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, another) => one.or(another),
        };
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// How many there were in the busiest second of the clock.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// How many a second from the first to the last; what is over in less than a second counts for one.
    pub(crate) fn mean(&self) -> f64 {
        self.span.map_or(0.0, |(first, last)| self.count as f64 / (last - first).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_second_and_the_mean_are_told() {
        let mut starts = PerSecond::default();
        for at in [10.0, 10.25, 10.75, 11.0, 12.0] {
            starts.add(at);
        }
        assert_eq!((starts.count(), starts.most(), starts.mean()), (5, 3, 2.5));
    }

    #[test]
    fn what_happens_at_once_is_counted_for_a_second() {
        let mut starts = PerSecond::default();
        assert_eq!((starts.most(), starts.mean()), (0, 0.0));
        for _ in 0..16 {
            starts.add(3.0);
        }
        assert_eq!((starts.most(), starts.mean()), (16, 16.0));
    }
}
