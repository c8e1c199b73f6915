//! Whether a count climbs with the items that have ended: the sign of something that is never given back.

/// Moments kept at most; when there are more, every second one is left out.
const KEPT: usize = 512;

/// A count over a run, each with how many items had ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Climb {
    moments: Vec<(u64, u64)>,
    stride: u64,
    seen: u64,
}

impl Default for Climb {
    fn default() -> Self {
        Self { moments: Vec::new(), stride: 1, seen: 0 }
    }
}

/// A count that climbed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Climbed {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Items that ended meanwhile.
    pub(crate) items: u64,
}

impl Climb {
    pub(crate) fn add(&mut self, ended: u64, count: u64) {
        if self.seen.is_multiple_of(self.stride) {
            self.moments.push((ended, count));
        }
        self.seen += 1;
        if self.moments.len() > KEPT {
            let mut is_kept = false;
            self.moments.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.stride *= 2;
        }
    }

    /// From the first to the last quarter of the items, by the lowest count of each: what is opened for a while does
    /// not stay in the lowest. `None` where a quarter has no sample, or where any quarter is not above the one before.
    pub(crate) fn climbed(&self) -> Option<Climbed> {
        let (first, last) = (self.moments.first()?.0, self.moments.last()?.0);
        let quarter = |number: u64| {
            let from = first + (last - first) * number / 4;
            let to = first + (last - first) * (number + 1) / 4;
            let within = self.moments.iter().filter(|(ended, _)| (from..=to).contains(ended));
            within.min_by_key(|(_, count)| *count).copied()
        };
        let lowest: Vec<(u64, u64)> = (0..4).map(quarter).collect::<Option<_>>()?;
        if !lowest.windows(2).all(|pair| pair[1].1 > pair[0].1 && pair[1].0 > pair[0].0) {
            return None;
        }
        let ((began, from), (ended, to)) = (lowest[0], lowest[3]);
        Some(Climbed { from, to, items: ended - began })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn climbed(counts: impl Iterator<Item = (u64, u64)>) -> Option<Climbed> {
        let mut climb = Climb::default();
        for (ended, count) in counts {
            climb.add(ended, count);
        }
        climb.climbed()
    }

    #[test]
    fn what_is_never_given_back_climbs_with_the_items() {
        // One more an item, and up to four that come and go.
        let found = climbed((0..100).map(|item| (item, 20 + item + item % 4))).unwrap();
        assert!((found.to - found.from) as f64 / found.items as f64 > 0.95, "{found:?}");
    }

    #[test]
    fn what_is_opened_once_or_for_a_while_does_not() {
        assert_eq!(climbed((0..100).map(|item| (item, 20 + item.min(10)))), None, "a pool that fills");
        assert_eq!(climbed((0..100).map(|item| (item, 20 + item * 7 % 13))), None, "files that come and go");
        assert_eq!(climbed(std::iter::empty()), None);
    }

    #[test]
    fn long_runs_are_thinned_out_and_climb_all_the_same() {
        let found = climbed((0..100_000).map(|item| (item, 20 + item))).unwrap();
        assert!((found.to - found.from) as f64 / found.items as f64 > 0.99);
    }
}
