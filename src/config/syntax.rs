//! Syntax errors of the TOML parser, without the echoes of the first mistake, in the words of the language.

use toml::de::Error;

use super::codes::{DUPLICATE_KEY, SYNTAX};
use super::tree::whole;
use super::{Fault, Span};

/// One fault a mistake.
pub(super) fn syntax_faults(text: &str, errors: &[Error]) -> Vec<Fault> {
    let mut errors: Vec<&Error> = errors.iter().collect();
    errors.sort_by_key(|error| error.span().map_or(0, |span| span.start));
    let mut faults: Vec<Fault> = Vec::new();
    for error in before_echoes(&errors) {
        let fault = syntax_fault(text, error);
        let is_echo = faults.last().is_some_and(|last| is_same_line(text, &last.span, &fault.span));
        if !is_echo {
            faults.push(fault);
        }
    }
    faults
}

/// A list or inline table that is never closed swallows all that follows: what the parser says of that is dropped.
fn before_echoes<'a, 'e>(errors: &'a [&'e Error]) -> &'a [&'e Error] {
    let says = |error: &Error, begin: &str| error.message().starts_with(begin);
    let is_unclosed = errors.iter().any(|error| says(error, "unclosed"));
    let first = errors.iter().position(|error| says(error, "missing comma") || says(error, "unclosed"));
    match first {
        Some(first) if is_unclosed => &errors[..=first],
        _ => errors,
    }
}

fn is_same_line(text: &str, first: &Span, second: &Span) -> bool {
    let between = first.start.min(second.start)..first.start.max(second.start);
    !text.get(between).is_some_and(|between| between.contains('\n'))
}

fn syntax_fault(text: &str, error: &Error) -> Fault {
    let span = whole(text, error.span().unwrap_or(0..0));
    let marked = text[span.clone()].trim();
    if error.message().starts_with("duplicate key") {
        return Fault::error(DUPLICATE_KEY, span.clone(), format!("`{marked}` is defined twice"))
            .labelled("second definition")
            .help("a key or table stands once; rename it, or merge the two");
    }
    Fault::error(SYNTAX, span.clone(), in_words(error.message(), marked))
}

/// The parser's messages that mislead, said better.
fn in_words(message: &str, marked: &str) -> String {
    let better = match message {
        "string values must be quoted, expected literal string" if marked.is_empty() => {
            "a value is missing here"
        }
        "string values must be quoted, expected literal string" => "a text stands in quotes",
        "invalid basic string, expected `\"`" => "a text is not closed, expected `\"`",
        "invalid literal string, expected `'`" => "a text is not closed, expected `'`",
        "missing comma between array elements, expected `,`" => "a list goes on here, expected `,` or `]`",
        "missing comma between key-value pairs, expected `,`" => {
            "an inline table goes on here, expected `,` or `}`"
        }
        other => other,
    };
    better.to_owned()
}
