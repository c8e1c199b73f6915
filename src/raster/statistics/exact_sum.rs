//! Sums without rounding: a fixed-point number as long as it has to be.
//!
//! The value is the sum of `limbs[k] × 2^(32 (first + k))`. Limbs are signed and may run over their 32 bits; carries are
//! only resolved before they could overflow. So an addition touches two to five limbs, and the order of additions cannot
//! matter. The idea is Kulisch's long accumulator.

use std::ops::Range;

/// Bits of a digit.
const DIGIT: i32 = 32;
/// Additions after which carries are resolved: each adds less than 2^32 to a limb, and limbs have 63 bits.
const LAZY: u32 = 1 << 29;

/// An exact sum of finite numbers. Equal contents give equal results, however they were added and merged.
#[derive(Clone, Debug, Default)]
pub struct ExactSum {
    first: i32,
    limbs: Vec<i64>,
    /// Additions since carries were resolved.
    pending: u32,
}

impl ExactSum {
    /// Adds a finite number.
    pub fn add(&mut self, value: f64) {
        let (mantissa, exponent) = parts(value);
        self.add_scaled(u128::from(mantissa), exponent, value.is_sign_negative());
    }

    /// Adds the square of a finite number, itself unrounded.
    pub fn add_square(&mut self, value: f64) {
        let (mantissa, exponent) = parts(value);
        self.add_scaled(u128::from(mantissa).pow(2), 2 * exponent, false);
    }

    /// Adds `weight × value`, unrounded.
    pub fn add_weighted(&mut self, value: f64, weight: u32) {
        let (mantissa, exponent) = parts(value);
        self.add_scaled(u128::from(mantissa) * u128::from(weight), exponent, value.is_sign_negative());
    }

    /// Adds `weight × value²`, unrounded.
    pub fn add_weighted_square(&mut self, value: f64, weight: u32) {
        let (mantissa, exponent) = parts(value);
        let square = u128::from(mantissa).pow(2);
        // The square has up to 106 bits, so it is weighted in two halves.
        let (high, low) = (square >> 64, square & u128::from(u64::MAX));
        self.add_scaled(high * u128::from(weight), 2 * exponent + 64, false);
        self.add_scaled(low * u128::from(weight), 2 * exponent, false);
    }

    /// Adds an integer.
    pub fn add_integer(&mut self, value: i128) {
        self.add_scaled(value.unsigned_abs(), 0, value < 0);
    }

    /// Adds `±magnitude × 2^exponent`.
    pub(super) fn add_scaled(&mut self, magnitude: u128, exponent: i32, is_negative: bool) {
        if magnitude == 0 {
            return;
        }
        let (digit, shift) = (exponent.div_euclid(DIGIT), exponent.rem_euclid(DIGIT));
        let bits = (u128::BITS - magnitude.leading_zeros()) as i32 + shift;
        self.cover(digit..digit + (bits + DIGIT - 1) / DIGIT);
        let (mut at, mut shift, mut rest) = ((digit - self.first) as usize, shift, magnitude);
        while rest != 0 {
            let part = i64::from((rest << shift) as u32);
            self.limbs[at] += if is_negative { -part } else { part };
            rest >>= DIGIT - shift;
            (at, shift) = (at + 1, 0);
        }
        self.count_pending(1);
    }

    /// Adds all that another sum holds.
    pub fn merge(&mut self, other: &ExactSum) {
        self.merge_signed(other, 1);
    }

    fn merge_signed(&mut self, other: &ExactSum, sign: i64) {
        if other.limbs.is_empty() {
            return;
        }
        self.cover(other.first..other.first + other.limbs.len() as i32);
        let offset = (other.first - self.first) as usize;
        self.limbs[offset..].iter_mut().zip(&other.limbs).for_each(|(limb, other)| *limb += sign * other);
        self.count_pending(other.pending + 1);
    }

    fn count_pending(&mut self, additions: u32) {
        self.pending += additions;
        if self.pending >= LAZY {
            self.resolve();
        }
    }

    /// Makes limbs for these digits.
    fn cover(&mut self, digits: Range<i32>) {
        if self.limbs.is_empty() {
            self.first = digits.start;
        }
        if digits.start < self.first {
            let missing = (self.first - digits.start) as usize;
            self.limbs.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = digits.start;
        }
        let length = (digits.end - self.first) as usize;
        if length > self.limbs.len() {
            self.limbs.resize(length, 0);
        }
    }

    /// Carries what runs over: every limb but the last is then a digit from 0 to 2^32 - 1, and the last has the sign.
    fn resolve(&mut self) {
        let mut carry = 0;
        for limb in &mut self.limbs {
            let sum = *limb + carry;
            carry = sum >> DIGIT;
            *limb = sum & i64::from(u32::MAX);
        }
        // A carry of -1 or less stays as a negative last limb.
        if carry != 0 {
            self.limbs.push(carry);
        }
        self.pending = 1;
    }

    /// Whether it is negative, and its magnitude as digits, each with the exponent of its lowest bit.
    fn digits(&self) -> (bool, Vec<(u32, i32)>) {
        let mut resolved = self.clone();
        resolved.resolve();
        let is_negative = resolved.limbs.last().is_some_and(|&last| last < 0);
        if is_negative {
            resolved.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            resolved.resolve();
        }
        let exponent = |index: usize| (resolved.first + index as i32) * DIGIT;
        let digits = resolved.limbs.iter().enumerate().map(|(index, &limb)| (limb as u32, exponent(index)));
        (is_negative, digits.collect())
    }

    /// The nearest `f64`, ties to even; an infinity where none is near.
    pub fn value(&self) -> f64 {
        let (is_negative, digits) = self.digits();
        let Some(top) = digits.iter().rposition(|&(digit, _)| digit != 0) else { return 0.0 };
        let lowest = top.saturating_sub(3);
        let head = digits[lowest..=top]
            .iter()
            .rev()
            .fold(0_u128, |head, &(digit, _)| head << DIGIT | u128::from(digit));
        // With three digits or more below the first, the head has more bits than an `f64` can tell apart; what is below
        // only decides ties.
        let sticky = digits[..lowest].iter().any(|&(digit, _)| digit != 0);
        let magnitude = scaled((head | u128::from(sticky)) as f64, digits[lowest].1);
        if is_negative { -magnitude } else { magnitude }
    }

    /// `factor` times this sum.
    #[must_use]
    pub fn times(&self, factor: u64) -> ExactSum {
        let (is_negative, digits) = self.digits();
        let mut product = ExactSum::default();
        for (digit, exponent) in digits {
            product.add_scaled(u128::from(digit) * u128::from(factor), exponent, is_negative);
        }
        product
    }

    /// The square of this sum.
    #[must_use]
    pub fn squared(&self) -> ExactSum {
        let (_, digits) = self.digits();
        let mut square = ExactSum::default();
        for &(one, low) in &digits {
            for &(other, high) in &digits {
                square.add_scaled(u128::from(one) * u128::from(other), low + high, false);
            }
        }
        square
    }

    /// This sum less another.
    #[must_use]
    pub fn minus(mut self, other: &ExactSum) -> ExactSum {
        self.merge_signed(other, -1);
        self
    }
}

/// The magnitude of a finite number as `mantissa × 2^exponent` (IEEE 754 binary64).
fn parts(value: f64) -> (u64, i32) {
    debug_assert!(value.is_finite());
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52 & 0x7ff) as i32 {
        0 => (fraction, -1074),
        biased => (fraction | 1 << 52, biased - 1075),
    }
}

/// `value × 2^exponent`, in steps that each stay representable.
fn scaled(mut value: f64, mut exponent: i32) -> f64 {
    while exponent != 0 && value != 0.0 && value.is_finite() {
        let step = exponent.clamp(-1000, 1000);
        value *= f64::powi(2.0, step);
        exponent -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(values: &[f64]) -> ExactSum {
        let mut sum = ExactSum::default();
        for &value in values {
            sum.add(value);
        }
        sum
    }

    #[test]
    fn nothing_is_lost_between_large_and_small() {
        assert_eq!(sum(&[1e308, 1.0, -1e308]).value(), 1.0);
        assert_eq!(sum(&[1e16, 1.0, 1.0, -1e16]).value(), 2.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX, 5e-324]).value(), f64::MAX);
        assert_eq!(sum(&[1.0, 5e-324, -1.0]).value(), 5e-324);
        assert_eq!(sum(&[0.1; 10]).value(), 1.0);
        assert_eq!(sum(&[-3.5, 1.0]).value(), -2.5);
        assert_eq!(sum(&[]).value(), 0.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX]).value(), f64::INFINITY);
    }

    #[test]
    fn results_are_rounded_to_nearest_with_ties_to_even() {
        let half = f64::EPSILON / 2.0;
        assert_eq!(sum(&[1.0, half]).value(), 1.0);
        assert_eq!(sum(&[1.0, half, 5e-324]).value(), 1.0 + f64::EPSILON);
        assert_eq!(sum(&[1.0 + f64::EPSILON, half]).value(), 1.0 + 2.0 * f64::EPSILON);
        assert_eq!(sum(&[-1.0, -half, -5e-324]).value(), -1.0 - f64::EPSILON);
    }

    #[test]
    fn squares_and_weights_are_exact() {
        let mut squares = ExactSum::default();
        // (1 + ε)² = 1 + 2ε + ε², which no f64 holds.
        squares.add_square(1.0 + f64::EPSILON);
        assert_eq!(squares.clone().minus(&sum(&[1.0, 2.0 * f64::EPSILON])).value(), f64::EPSILON.powi(2));
        let mut weighted = ExactSum::default();
        weighted.add_weighted(-0.1, 3);
        weighted.add_weighted_square(1e200, 7);
        assert_eq!(weighted.clone().minus(&sum(&[-0.1; 3])).value(), f64::INFINITY);
        let mut seven = ExactSum::default();
        (0..7).for_each(|_| seven.add_square(1e200));
        assert_eq!(weighted.minus(&seven).value(), sum(&[-0.1; 3]).value());
    }

    #[test]
    fn integers_of_any_size_are_exact() {
        let mut total = ExactSum::default();
        total.add_integer(i128::MAX);
        total.add_integer(7);
        total.add_integer(-i128::MAX);
        assert_eq!(total.value(), 7.0);
        assert_eq!(total.times(6).value(), 42.0);
        assert_eq!(total.squared().value(), 49.0);
        total.add_integer(-10);
        assert_eq!((total.times(5).value(), total.squared().value()), (-15.0, 9.0));
    }

    #[test]
    fn carries_are_resolved_in_time() {
        let mut total = ExactSum::default();
        total.add_integer(i128::from(u32::MAX));
        for _ in 0..40 {
            let copy = total.clone();
            total.merge(&copy);
        }
        // 2^40 times 2^32 - 1
        assert_eq!(total.value(), (u32::MAX as f64) * f64::powi(2.0, 40));
    }

    proptest! {
        #[test]
        fn order_and_grouping_change_nothing(
            values in prop::collection::vec(any::<f64>().prop_filter("finite", |value| value.is_finite()), 0..40),
            cut in 0_usize..40,
        ) {
            let whole = sum(&values);
            let backwards: Vec<f64> = values.iter().rev().copied().collect();
            let (one, other) = values.split_at(cut.min(values.len()));
            let mut merged = sum(other);
            merged.merge(&sum(one));
            prop_assert_eq!(whole.value().to_bits(), sum(&backwards).value().to_bits());
            prop_assert_eq!(whole.value().to_bits(), merged.value().to_bits());
        }
    }
}
