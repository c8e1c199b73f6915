//! The functions of the language, as a table, and the operations that everything becomes.

use std::ops::RangeInclusive;

/// What is done with values, strip by strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// One operand.
    Unary(Unary),
    /// Two operands.
    Binary(Binary),
    /// A condition and two branches.
    Where,
}

/// Operations on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the function of its name")]
pub(super) enum Unary {
    Negate,
    Not,
    Abs,
    Sqrt,
    Exp,
    Log,
    Log10,
    Log2,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Round,
    Floor,
    Ceil,
    Sign,
    IsNodata,
    IsValid,
}

/// Operations on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the operator or function of its name")]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
    Minimum,
    Maximum,
    Atan2,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Or,
}

impl Operation {
    /// Whether the result is a condition.
    pub(super) fn gives_condition(self) -> bool {
        use Binary::{And, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual, Or};
        match self {
            Operation::Unary(unary) => matches!(unary, Unary::Not | Unary::IsNodata | Unary::IsValid),
            Operation::Binary(binary) => {
                matches!(binary, Less | LessOrEqual | Greater | GreaterOrEqual | Equal | NotEqual | And | Or)
            }
            Operation::Where => false,
        }
    }

    /// Whether the operand at this place has to be a condition.
    pub(super) fn takes_condition(self, place: usize) -> bool {
        match self {
            Operation::Unary(unary) => unary == Unary::Not,
            Operation::Binary(binary) => matches!(binary, Binary::And | Binary::Or),
            Operation::Where => place == 0,
        }
    }
}

/// How a call becomes operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The operation itself.
    Direct(Operation),
    /// The operation between the first two arguments, then with each further one.
    Fold(Binary),
    /// Not below the second argument, then not above the third.
    Clip,
}

/// One function of the language.
#[derive(Clone, Debug)]
pub struct Function {
    /// As it is written.
    pub name: &'static str,
    /// What it gives, in one sentence.
    pub summary: &'static str,
    /// How many arguments it takes.
    pub(super) arity: RangeInclusive<usize>,
    pub(super) form: Form,
}

const fn unary(name: &'static str, unary: Unary, summary: &'static str) -> Function {
    Function { name, summary, arity: 1..=1, form: Form::Direct(Operation::Unary(unary)) }
}

const fn binary(name: &'static str, binary: Binary, summary: &'static str) -> Function {
    Function { name, summary, arity: 2..=2, form: Form::Direct(Operation::Binary(binary)) }
}

const fn fold(name: &'static str, binary: Binary, summary: &'static str) -> Function {
    Function { name, summary, arity: 2..=usize::MAX, form: Form::Fold(binary) }
}

const fn clip(name: &'static str) -> Function {
    Function {
        name,
        summary: "`clip(x, low, high)`: `x`, but not below `low` and not above `high`.",
        arity: 3..=3,
        form: Form::Clip,
    }
}

/// Every function, by name.
pub static FUNCTIONS: &[Function] = &[
    unary("abs", Unary::Abs, "The absolute value."),
    unary("acos", Unary::Acos, "The arc cosine in radians."),
    unary("asin", Unary::Asin, "The arc sine in radians."),
    unary("atan", Unary::Atan, "The arc tangent in radians."),
    binary("atan2", Binary::Atan2, "`atan2(y, x)`: the angle of (x, y) in radians."),
    unary("ceil", Unary::Ceil, "The next whole number upwards."),
    clip("clamp"),
    clip("clip"),
    unary("cos", Unary::Cos, "The cosine of radians."),
    unary("exp", Unary::Exp, "The exponential function."),
    unary("floor", Unary::Floor, "The next whole number downwards."),
    unary("isnodata", Unary::IsNodata, "Whether there is no value: nodata, or no finite result."),
    unary("isvalid", Unary::IsValid, "Whether there is a value; the opposite of `isnodata`."),
    unary("log", Unary::Log, "The natural logarithm."),
    unary("log10", Unary::Log10, "The logarithm to base 10."),
    unary("log2", Unary::Log2, "The logarithm to base 2."),
    fold("max", Binary::Maximum, "The largest of two or more values."),
    fold("min", Binary::Minimum, "The smallest of two or more values."),
    binary("pow", Binary::Power, "`pow(x, y)`: `x ** y`."),
    unary("round", Unary::Round, "The nearest whole number, halves away from zero."),
    unary("sign", Unary::Sign, "-1, 0 or 1."),
    unary("sin", Unary::Sin, "The sine of radians."),
    unary("sqrt", Unary::Sqrt, "The square root."),
    unary("tan", Unary::Tan, "The tangent of radians."),
    Function {
        name: "where",
        summary: "`where(condition, a, b)`: `a` where the condition holds, else `b`.",
        arity: 3..=3,
        form: Form::Direct(Operation::Where),
    },
];

impl Function {
    /// The function of this name.
    pub(super) fn named(name: &str) -> Option<&'static Function> {
        FUNCTIONS.iter().find(|function| function.name == name)
    }

    /// The number of arguments in words.
    pub(super) fn arity_in_words(&self) -> String {
        match (*self.arity.start(), *self.arity.end()) {
            (1, 1) => "1 argument".into(),
            (least, most) if least == most => format!("{least} arguments"),
            (least, _) => format!("{least} or more arguments"),
        }
    }
}

/// The value of a constant of the language. A band of the same name hides it.
pub(super) fn constant(name: &str) -> Option<f64> {
    match name {
        "pi" => Some(std::f64::consts::PI),
        "e" => Some(std::f64::consts::E),
        "nan" | "nodata" => Some(f64::NAN),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_stand_sorted_and_once() {
        assert!(FUNCTIONS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
