//! Count, extremes, sum and squares of values, and what follows from them.

use super::ExactSum;

/// The moments of values that were added in any order; merging the moments of parts gives those of the whole, to the bit.
///
/// Weights are whole numbers in a unit that the caller chooses; unweighted values have the weight 1.
#[derive(Clone, Debug)]
pub struct Moments {
    count: u64,
    weight: u64,
    min: f64,
    max: f64,
    sum: ExactSum,
    squares: ExactSum,
}

impl Default for Moments {
    fn default() -> Self {
        Self {
            count: 0,
            weight: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            sum: ExactSum::default(),
            squares: ExactSum::default(),
        }
    }
}

impl Moments {
    /// Adds one finite value with a weight.
    pub fn add_weighted(&mut self, value: f64, weight: u32) {
        self.widen(value, value);
        self.count_weight(1, u64::from(weight));
        self.sum.add_weighted(value, weight);
        self.squares.add_weighted_square(value, weight);
    }

    /// Adds all that other moments hold.
    pub fn merge(&mut self, other: &Moments) {
        self.widen(other.min, other.max);
        self.count_weight(other.count, other.weight);
        self.sum.merge(&other.sum);
        self.squares.merge(&other.squares);
    }

    /// Takes these extremes in. Zero has no sign, so that no order of zeros shows.
    pub(super) fn widen(&mut self, low: f64, high: f64) {
        self.min = self.min.min(low + 0.0);
        self.max = self.max.max(high + 0.0);
    }

    pub(super) fn count_weight(&mut self, count: u64, weight: u64) {
        self.count += count;
        self.weight += weight;
    }

    pub(super) fn sums_mut(&mut self) -> (&mut ExactSum, &mut ExactSum) {
        (&mut self.sum, &mut self.squares)
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of the weights, in the caller's unit.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// The smallest value; `None` without any.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value; `None` without any.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    /// The sum of weight × value, rounded once; weights in the caller's unit.
    pub fn sum(&self) -> f64 {
        self.sum.value()
    }

    /// The weighted mean; `None` without any weight.
    pub fn mean(&self) -> Option<f64> {
        (self.weight > 0).then(|| self.sum.value() / self.weight as f64)
    }

    /// The standard deviation of the population, `sqrt(Σw·Σwx² - (Σwx)²) / Σw`; the difference is taken before anything is
    /// rounded, so that a large mean costs no digits. `None` without any weight.
    pub fn std(&self) -> Option<f64> {
        let spread = || self.squares.times(self.weight).minus(&self.sum.squared()).value();
        (self.weight > 0).then(|| spread().max(0.0).sqrt() / self.weight as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: &[f64]) -> Moments {
        let mut moments = Moments::default();
        moments.add(values);
        moments
    }

    #[test]
    fn moments_are_those_of_the_population() {
        let found = moments(&[1.0, 2.0, 3.0]);
        assert_eq!((found.count(), found.min(), found.max(), found.sum()), (3, Some(1.0), Some(3.0), 6.0));
        assert_eq!(found.mean(), Some(2.0));
        // sqrt(2 / 3)
        assert!((found.std().unwrap() - 0.816496580927726).abs() < 1e-15);
    }

    #[test]
    fn without_values_there_is_no_mean() {
        let none = Moments::default();
        assert_eq!((none.count(), none.min(), none.max(), none.sum()), (0, None, None, 0.0));
        assert_eq!((none.mean(), none.std()), (None, None));
    }

    #[test]
    fn a_large_mean_costs_no_digits() {
        // The squares need 100 bits; in f64 alone the deviation would come out as 0 or as thousands.
        let found = moments(&[1e15 - 1.0, 1e15 + 1.0]);
        assert_eq!((found.mean(), found.std()), (Some(1e15), Some(1.0)));
    }

    #[test]
    fn parts_merged_in_any_order_are_the_whole() {
        let values: Vec<f64> = (0..1000).map(|index| f64::from(index * 7919 % 1009) * 0.1 - 30.0).collect();
        let whole = moments(&values);
        for size in [1, 7, 100, 999] {
            let mut merged = Moments::default();
            values.chunks(size).rev().for_each(|part| merged.merge(&moments(part)));
            let results = |moments: &Moments| {
                [moments.sum(), moments.mean().unwrap(), moments.std().unwrap()].map(f64::to_bits)
            };
            assert_eq!(results(&merged), results(&whole), "parts of {size}");
            assert_eq!((merged.min(), merged.max()), (whole.min(), whole.max()));
        }
    }

    #[test]
    fn weights_count_as_that_many_values() {
        let mut weighted = Moments::default();
        weighted.add_weighted(2.0, 3);
        weighted.add_weighted(10.0, 1);
        let plain = moments(&[2.0, 2.0, 2.0, 10.0]);
        assert_eq!((weighted.mean(), weighted.std()), (plain.mean(), plain.std()));
        assert_eq!((weighted.count(), weighted.weight()), (2, 4));
    }

    #[test]
    fn zeros_have_no_sign() {
        let found = moments(&[-0.0, 0.0]);
        assert!(found.min().unwrap().is_sign_positive() && found.max().unwrap().is_sign_positive());
    }
}
