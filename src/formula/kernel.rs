//! The loops over a strip. Each keeps the invariant of the module: values are finite or NaN.

use super::function::{Binary, Unary};

/// Where an operand's values come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    /// One value a pixel.
    Strip(&'a [f64]),
    /// The same value for all pixels.
    Constant(f64),
}

/// `out[i] = operation(a[i])`
pub(super) fn run_unary(unary: Unary, a: Source, out: &mut [f64]) {
    match unary {
        Unary::Negate => map(a, out, |x| -x),
        Unary::Not => map(a, out, |x| 1.0 - x),
        Unary::Abs => map(a, out, f64::abs),
        Unary::Sqrt => map(a, out, f64::sqrt),
        Unary::Exp => map(a, out, |x| finite(x.exp())),
        Unary::Log => map(a, out, |x| finite(x.ln())),
        Unary::Log10 => map(a, out, |x| finite(x.log10())),
        Unary::Log2 => map(a, out, |x| finite(x.log2())),
        Unary::Sin => map(a, out, f64::sin),
        Unary::Cos => map(a, out, f64::cos),
        Unary::Tan => map(a, out, |x| finite(x.tan())),
        Unary::Asin => map(a, out, f64::asin),
        Unary::Acos => map(a, out, f64::acos),
        Unary::Atan => map(a, out, f64::atan),
        Unary::Round => map(a, out, f64::round),
        Unary::Floor => map(a, out, f64::floor),
        Unary::Ceil => map(a, out, f64::ceil),
        Unary::Sign => map(a, out, |x| if x == 0.0 { 0.0 } else { x.signum() }),
        Unary::IsNodata => map(a, out, |x| truth(x.is_nan())),
        Unary::IsValid => map(a, out, |x| truth(!x.is_nan())),
    }
}

/// `out[i] = operation(a[i], b[i])`
pub(super) fn run_binary(binary: Binary, a: Source, b: Source, out: &mut [f64]) {
    match binary {
        Binary::Add => zip(a, b, out, |x, y| finite(x + y)),
        Binary::Subtract => zip(a, b, out, |x, y| finite(x - y)),
        Binary::Multiply => zip(a, b, out, |x, y| finite(x * y)),
        Binary::Divide => zip(a, b, out, |x, y| finite(x / y)),
        Binary::Remainder => zip(a, b, out, remainder),
        Binary::Power => zip(a, b, out, power),
        // `<` is false for NaN, so a missing `y` is chosen, and a missing `x` explicitly.
        Binary::Minimum => zip(a, b, out, |x, y| if x < y || x.is_nan() { x } else { y }),
        Binary::Maximum => zip(a, b, out, |x, y| if x > y || x.is_nan() { x } else { y }),
        Binary::Atan2 => zip(a, b, out, f64::atan2),
        Binary::Less => compare(a, b, out, |x, y| x < y),
        Binary::LessOrEqual => compare(a, b, out, |x, y| x <= y),
        Binary::Greater => compare(a, b, out, |x, y| x > y),
        Binary::GreaterOrEqual => compare(a, b, out, |x, y| x >= y),
        Binary::Equal => compare(a, b, out, |x, y| x == y),
        Binary::NotEqual => compare(a, b, out, |x, y| x != y),
        Binary::And => zip(a, b, out, |x, y| x * y),
        Binary::Or => zip(a, b, out, |x, y| x + y - x * y),
    }
}

/// `out[i] = if condition[i] { a[i] } else { b[i] }`; without a condition no value.
pub(super) fn run_where(condition: &[f64], a: Source, b: Source, out: &mut [f64]) {
    let at = |source: Source, index: usize| match source {
        Source::Strip(values) => values[index],
        Source::Constant(value) => value,
    };
    for (index, (out, &holds)) in out.iter_mut().zip(condition).enumerate() {
        let chosen = if holds == 0.0 { at(b, index) } else { at(a, index) };
        *out = if holds.is_nan() { f64::NAN } else { chosen };
    }
}

/// The value, or NaN in place of an infinity.
fn finite(value: f64) -> f64 {
    if value.abs() < f64::INFINITY { value } else { f64::NAN }
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// The remainder with the sign of the divisor, as in Python; nothing for a divisor of zero.
fn remainder(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest }
}

/// IEEE gives 1 for `NaN ** 0` and `1 ** NaN`; here a missing operand gives a missing result.
fn power(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() { f64::NAN } else { finite(x.powf(y)) }
}

fn map(a: Source, out: &mut [f64], f: impl Fn(f64) -> f64) {
    match a {
        Source::Strip(a) => out.iter_mut().zip(a).for_each(|(out, &x)| *out = f(x)),
        Source::Constant(x) => out.fill(f(x)),
    }
}

fn zip(a: Source, b: Source, out: &mut [f64], f: impl Fn(f64, f64) -> f64) {
    match (a, b) {
        (Source::Strip(a), Source::Strip(b)) => {
            out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (&x, &y))| *out = f(x, y));
        }
        (Source::Strip(a), Source::Constant(y)) => out.iter_mut().zip(a).for_each(|(out, &x)| *out = f(x, y)),
        (Source::Constant(x), Source::Strip(b)) => out.iter_mut().zip(b).for_each(|(out, &y)| *out = f(x, y)),
        (Source::Constant(x), Source::Constant(y)) => out.fill(f(x, y)),
    }
}

/// 1 or 0, or NaN where an operand is missing.
fn compare(a: Source, b: Source, out: &mut [f64], f: impl Fn(f64, f64) -> bool) {
    zip(a, b, out, |x, y| if x.is_nan() || y.is_nan() { f64::NAN } else { truth(f(x, y)) });
}
