//! Counts of values by bins of equal width.

use serde::Serialize;

/// Bins from `low` to `high`: each includes its lower end, the last one both, as numpy's do. What lies outside is not counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Histogram {
    low: f64,
    high: f64,
    counts: Vec<u64>,
}

impl Histogram {
    /// Empty bins; `low` below `high`, both finite.
    pub fn new(bins: usize, low: f64, high: f64) -> Self {
        Self { low, high, counts: vec![0; bins] }
    }

    /// Counts a value as often as `weight` says.
    pub fn add(&mut self, value: f64, weight: u64) {
        if value < self.low || value > self.high {
            return;
        }
        let bins = self.counts.len();
        let guess = ((value - self.low) / (self.high - self.low) * bins as f64) as usize;
        // Rounding may have put a value at an edge on its other side.
        let bin = match guess.min(bins - 1) {
            bin if value < self.edge(bin) => bin - 1,
            bin if bin + 1 < bins && value >= self.edge(bin + 1) => bin + 1,
            bin => bin,
        };
        self.counts[bin] += weight;
    }

    /// The lower end of a bin.
    fn edge(&self, bin: usize) -> f64 {
        self.low + (self.high - self.low) * (bin as f64 / self.counts.len() as f64)
    }

    /// Adds the counts of equal bins.
    pub fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += other);
    }

    /// The counts, lowest bin first.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_belong_to_the_upper_bin_and_the_last_to_its_own() {
        let mut histogram = Histogram::new(4, 0.0, 1.0);
        for value in [0.0, 0.1, 0.25, 0.5, 0.75, 0.99, 1.0, -0.1, 1.1] {
            histogram.add(value, 1);
        }
        assert_eq!(histogram.counts(), [2, 1, 1, 3]);
        let mut thirds = Histogram::new(3, 0.0, 0.3);
        let edge = thirds.edge(1);
        for value in [edge, edge.next_down()] {
            thirds.add(value, 1);
        }
        assert_eq!(thirds.counts(), [1, 1, 0]);
    }

    #[test]
    fn merged_counts_are_those_of_the_whole() {
        let mut one = Histogram::new(2, 0.0, 2.0);
        let mut other = one.clone();
        one.add(0.5, 1);
        other.add(1.5, 1);
        other.add(1.7, 3);
        one.merge(&other);
        assert_eq!(one.counts(), [1, 4]);
    }
}
