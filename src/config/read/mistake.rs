//! The reader's error: what serde says, in the words of the language, and the place once it is known.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

use crate::config::codes::{MISSING_KEY, OUT_OF_RANGE, UNKNOWN_KEY, WRONG_FORM, WRONG_TYPE, WRONG_VALUE};
use crate::config::nearest::suggestion;
use crate::config::{Fault, Span, shortened};

/// A fault whose place may not be known yet.
#[derive(Debug)]
pub(super) struct Mistake {
    code: &'static str,
    message: String,
    help: String,
    span: Option<Span>,
}

impl Mistake {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: String::new(), span: None }
    }

    /// The mistake at `span`, unless an inner value claimed it.
    pub(super) fn at(mut self, span: &Span) -> Self {
        self.span.get_or_insert_with(|| span.clone());
        self
    }

    /// The fault, at `span` if nothing else claimed it.
    pub(super) fn into_fault(self, span: &Span) -> Fault {
        Fault::error(self.code, self.span.unwrap_or_else(|| span.clone()), self.message).help(self.help)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mistake {}

impl Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(WRONG_FORM, message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(WRONG_TYPE, mismatch(found, expected))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let is_number =
            matches!(found, Unexpected::Signed(_) | Unexpected::Unsigned(_) | Unexpected::Float(_));
        Self::new(if is_number { OUT_OF_RANGE } else { WRONG_VALUE }, mismatch(found, expected))
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::new(OUT_OF_RANGE, format!("expected {}, found {found} values", in_words(expected)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self {
            help: suggestion(variant, expected.iter().copied()),
            ..Self::new(WRONG_VALUE, format!("`{variant}` is not one of those allowed"))
        }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self {
            help: suggestion(field, expected.iter().copied()),
            ..Self::new(UNKNOWN_KEY, format!("unknown key `{field}`"))
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(MISSING_KEY, format!("`{field}` is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(UNKNOWN_KEY, format!("`{field}` stands twice"))
    }
}

fn mismatch(found: Unexpected<'_>, expected: &dyn Expected) -> String {
    let found = match found {
        Unexpected::Str(text) => format!("the text `{}`", shortened(text)),
        Unexpected::Signed(number) => format!("the integer `{number}`"),
        Unexpected::Unsigned(number) => format!("the integer `{number}`"),
        Unexpected::Float(number) => format!("the number `{number:?}`"),
        Unexpected::Bool(flag) => format!("`{flag}`"),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    };
    format!("expected {}, found {found}", in_words(expected))
}

/// What serde expects, in the words of the language: `u64` is `a whole number`.
fn in_words(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    match text.as_str() {
        "a string" => "a text".to_owned(),
        "a boolean" => "`true` or `false`".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "an integer".to_owned(),
        _ if text.starts_with("struct ") => "a table".to_owned(),
        _ if text.starts_with("enum ") || text.contains("enum ") => {
            "a text, or a table of one key".to_owned()
        }
        _ => text,
    }
}
