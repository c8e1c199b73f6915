//! What is wrong with a formula, and where.

use std::ops::Range;

use super::function::FUNCTIONS;

/// One fault of a formula.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{problem}")]
pub struct FormulaError {
    /// Bytes of the formula's text.
    pub span: Range<usize>,
    /// What is wrong there.
    pub problem: Problem,
}

/// The ways in which a formula can be wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// A character that begins nothing.
    #[error("`{0}` means nothing in a formula")]
    UnknownCharacter(char),
    /// Digits that make no number.
    #[error("`{0}` is no number")]
    BadNumber(String),
    /// A quoted name without its end.
    #[error("the backquote that ends this name is missing")]
    OpenName,
    /// A word where another is needed.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What could stand here.
        expected: &'static str,
        /// What stands here.
        found: String,
    },
    /// An opening parenthesis without its end.
    #[error("this `(` is never closed")]
    OpenParenthesis,
    /// Nothing but spaces.
    #[error("the formula is empty")]
    Empty,
    /// Parentheses or signs within each other beyond what any formula needs.
    #[error("nested more than {limit} deep")]
    TooDeep {
        /// How deep is allowed.
        limit: usize,
    },
    /// A call of something that does not exist.
    #[error("unknown function `{name}`")]
    UnknownFunction {
        /// As written.
        name: String,
    },
    /// A name that is neither a band nor a constant.
    #[error("unknown band `{name}`")]
    UnknownBand {
        /// As written.
        name: String,
        /// The bands that exist.
        bands: Vec<String>,
    },
    /// A call with the wrong number of arguments.
    #[error("`{function}` takes {expected}, found {found}")]
    WrongCount {
        /// The function.
        function: &'static str,
        /// How many it takes, in words.
        expected: String,
        /// How many are given.
        found: usize,
    },
    /// A number where a comparison is needed.
    #[error("expected a condition, found a number")]
    NotACondition,
    /// `a < b < c`
    #[error("comparisons cannot be chained")]
    Chained,
}

impl Problem {
    /// At a place.
    pub(super) fn at(self, span: Range<usize>) -> FormulaError {
        FormulaError { span, problem: self }
    }

    /// The edit that helps; empty where there is none to name.
    pub fn help(&self) -> String {
        match self {
            Problem::UnknownCharacter('&') => "write `and`".into(),
            Problem::UnknownCharacter('|') => "write `or`".into(),
            Problem::UnknownCharacter('~') => "write `not`".into(),
            Problem::UnknownCharacter('^') => "write `**` for a power".into(),
            Problem::UnknownCharacter('=') => "write `==` to compare".into(),
            Problem::UnknownFunction { name } => {
                let names = FUNCTIONS.iter().map(|function| function.name);
                nearest(name, names).map_or_else(all_functions, |near| format!("did you mean `{near}`?"))
            }
            Problem::UnknownBand { name, bands } => nearest(name, bands.iter().map(String::as_str))
                .map_or_else(|| band_list(bands), |near| format!("did you mean `{near}`?")),
            Problem::NotACondition => "compare it with something, as in `x != 0`".into(),
            Problem::Chained => "write `a < b and b < c`".into(),
            _ => String::new(),
        }
    }
}

fn all_functions() -> String {
    let names: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
    format!("functions are {}", names.join(", "))
}

fn band_list(bands: &[String]) -> String {
    match bands {
        [] => "the input has no bands".into(),
        _ => format!("bands are `{}`", bands.join("`, `")),
    }
}

/// The candidate that a misspelt name most likely meant.
fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance =
        |candidate: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &candidate.to_lowercase());
    candidates
        .map(|candidate| (distance(candidate), candidate))
        .filter(|(distance, _)| *distance <= (name.chars().count() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
