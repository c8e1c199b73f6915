//! Quantiles of a stream in little memory: counts of logarithmic buckets, so that each answer is within 1 % of a true
//! one. The scheme is that of DDSketch (Masson, Rim and Lee, *DDSketch*, PVLDB 12, 2019), without its collapsing: a
//! nanosecond to a year are 1,900 buckets.

use std::collections::BTreeMap;

/// Neighbouring bucket bounds are this factor apart: ±1 %.
const GROWTH: f64 = 1.02;
/// What is shorter counts as nothing, in seconds.
const SMALLEST: f64 = 1e-9;

/// Times in seconds, by how long they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sketch {
    buckets: BTreeMap<i32, u64>,
    nothing: u64,
    count: u64,
    sum: f64,
    most: f64,
}

impl Sketch {
    /// Takes one in.
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        if value < SMALLEST {
            self.nothing += 1;
            return;
        }
        self.sum += value;
        self.most = self.most.max(value);
        *self.buckets.entry((value.ln() / GROWTH.ln()).ceil() as i32).or_default() += 1;
    }

    /// Takes in all of another.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.nothing += other.nothing;
        self.sum += other.sum;
        self.most = self.most.max(other.most);
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
    }

    pub(crate) fn sum(&self) -> f64 {
        self.sum
    }

    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// The value that this share of all is not above; 0 of none.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut below = self.nothing;
        if self.count == 0 || rank <= below {
            return 0.0;
        }
        for (bucket, count) in &self.buckets {
            below += count;
            if rank <= below {
                // The middle of the bucket, which is as far from both of its ends.
                return (2.0 * GROWTH.powi(*bucket) / (GROWTH + 1.0)).min(self.most);
            }
        }
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_hundredth() {
        let mut sketch = Sketch::default();
        for value in 1..=1000 {
            sketch.add(f64::from(value) / 1000.0);
        }
        for (share, exact) in [(0.5, 0.5), (0.95, 0.95), (1.0, 1.0)] {
            let found = sketch.quantile(share);
            assert!((found / exact - 1.0).abs() <= 0.01, "{share}: {found}");
        }
        assert!((sketch.mean() - 0.5005).abs() < 1e-9);
    }

    #[test]
    fn nothing_is_below_everything_and_none_is_nothing() {
        let mut sketch = Sketch::default();
        assert_eq!(sketch.quantile(0.5), 0.0);
        for value in [0.0, 0.0, 0.0, 2.0] {
            sketch.add(value);
        }
        assert_eq!(sketch.quantile(0.75), 0.0);
        assert!((sketch.quantile(0.95) - 2.0).abs() <= 0.02);
    }

    #[test]
    fn two_merged_are_as_one() {
        let (mut whole, mut one, mut other) = (Sketch::default(), Sketch::default(), Sketch::default());
        for value in [0.0, 0.25, 0.5, 3.0, 7.5] {
            whole.add(value);
            if value < 1.0 { one.add(value) } else { other.add(value) }
        }
        one.merge(&other);
        assert_eq!(one, whole);
    }
}
