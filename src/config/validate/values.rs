//! Faults of values: type, form, choice, range.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value as Json;

use super::place::Place;
use crate::config::codes::{OUT_OF_RANGE, WRONG_FORM, WRONG_TYPE, WRONG_VALUE};
use crate::config::nearest::{nearest, quoted};
use crate::config::{Fault, Span, ValueKind, shortened};

/// The fault of a value that breaks one keyword of `rule`.
pub(super) fn fault(place: &Place<'_>, rule: &Json, error: &ValidationError<'_>) -> Fault {
    let span = place.value.span.clone();
    match error.kind() {
        Kind::Type { .. } => wrong_type(place, &expected(rule)),
        Kind::Enum { options } => wrong_choice(place, options),
        Kind::Constant { expected_value } => {
            wrong_choice(place, &Json::Array(vec![(**expected_value).clone()]))
        }
        Kind::Pattern { pattern } => wrong_form(place, rule, pattern),
        Kind::Minimum { limit } => out_of_range(place, span, &format!("at least `{limit}`")),
        Kind::ExclusiveMinimum { limit } => out_of_range(place, span, &format!("above `{limit}`")),
        Kind::Maximum { limit } => out_of_range(place, span, &format!("at most `{limit}`")),
        Kind::ExclusiveMaximum { limit } => out_of_range(place, span, &format!("below `{limit}`")),
        Kind::MultipleOf { multiple_of } => {
            out_of_range(place, span, &format!("a multiple of `{multiple_of}`"))
        }
        Kind::MinItems { limit } | Kind::MinProperties { limit } => too_few(place, *limit, "at least"),
        Kind::MaxItems { limit } | Kind::MaxProperties { limit } => too_few(place, *limit, "at most"),
        Kind::MinLength { limit: 1 } => {
            Fault::error(OUT_OF_RANGE, span, format!("{} is empty", place.short()))
        }
        Kind::MinLength { limit } => out_of_range(place, span, &format!("at least {limit} characters")),
        Kind::MaxLength { limit } => out_of_range(place, span, &format!("at most {limit} characters")),
        Kind::UniqueItems => {
            Fault::error(WRONG_VALUE, span, format!("{} holds a value twice", place.short()))
        }
        _ => Fault::error(WRONG_VALUE, span, error.masked_with("this value").to_string()),
    }
}

/// A value of another type than `expected` says.
pub(super) fn wrong_type(place: &Place<'_>, expected: &str) -> Fault {
    let found = place.value.described();
    let fault = Fault::error(WRONG_TYPE, place.value.span.clone(), format!("{} is {found}", place.short()));
    let fault = fault.labelled(format!("expected {expected}"));
    if place.is_entry_of("resources") {
        return fault.help(format!("say what it counts: `{}.slots = …`, `.bytes` or `.rate`", place.path[1]));
    }
    match &place.value.kind {
        ValueKind::String(text) if expected.contains("integer") || expected.contains("number") => {
            match text.parse::<f64>() {
                Ok(_) => fault.help(format!("write it without quotes: `{text}`")),
                Err(_) => fault,
            }
        }
        _ => fault,
    }
}

/// A value that is none of `options`.
pub(super) fn wrong_choice(place: &Place<'_>, options: &Json) -> Fault {
    let found = place.value.described();
    let names: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let message = format!("{} is {found}, which is not one of those allowed", place.short());
    let fault = Fault::error(WRONG_VALUE, place.value.span.clone(), message)
        .help(format!("expected {}", any_of(&names)));
    match place.value.as_str().and_then(|text| nearest(text, names)) {
        Some(near) => fault.labelled(format!("did you mean `{near}`?")),
        None => fault,
    }
}

fn wrong_form(place: &Place<'_>, rule: &Json, pattern: &str) -> Fault {
    let text = shortened(place.value.as_str().unwrap_or_default());
    let fault = Fault::error(WRONG_FORM, place.value.span.clone(), format!("{} is `{text}`", place.short()));
    match title(rule) {
        Some(title) => fault.labelled(format!("expected {title}")),
        None => fault.labelled(format!("expected a text of the form `{pattern}`")).help(examples(rule)),
    }
}

fn out_of_range(place: &Place<'_>, span: Span, allowed: &str) -> Fault {
    let found = place.value.described();
    Fault::error(OUT_OF_RANGE, span, format!("{} is {found}", place.short()))
        .labelled(format!("expected {allowed}"))
}

fn too_few(place: &Place<'_>, limit: u64, bound: &str) -> Fault {
    let (found, noun) = match &place.value.kind {
        ValueKind::Array(values) => (values.len(), "value"),
        ValueKind::Table(table) => (table.entries.len(), "key"),
        _ => (0, "value"),
    };
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let message = format!("{} has {found} {noun}{}", place.short(), plural(found as u64));
    let label = format!("expected {bound} {limit}");
    Fault::error(OUT_OF_RANGE, place.value.span.clone(), message).labelled(label)
}

/// What a schema takes, in words.
pub(super) fn expected(rule: &Json) -> String {
    if let Some(title) = title(rule) {
        return title.to_owned();
    }
    if let Some(names) = rule.get("enum").and_then(Json::as_array) {
        return any_of(&names.iter().filter_map(Json::as_str).collect::<Vec<_>>());
    }
    let types = match rule.get("type") {
        Some(Json::Array(types)) => types.iter().filter_map(Json::as_str).map(in_words).collect(),
        Some(Json::String(name)) => vec![in_words(name)],
        _ => Vec::new(),
    };
    alternatives(&types)
}

/// `a`, `a or b`, `a, b or c`
pub(super) fn alternatives(names: &[impl AsRef<str>]) -> String {
    match names {
        [] => "another value".to_owned(),
        [only] => only.as_ref().to_owned(),
        [others @ .., last] => {
            let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
            format!("{} or {}", others.join(", "), last.as_ref())
        }
    }
}

/// Titles of quantities are fragments, made to follow `expected`.
fn title(rule: &Json) -> Option<&str> {
    rule.get("title").and_then(Json::as_str).filter(|title| title.starts_with(char::is_lowercase))
}

fn in_words(name: &str) -> &str {
    match name {
        "string" => "a text",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "`true` or `false`",
        "array" => "a list",
        _ => "a table",
    }
}

fn any_of(names: &[&str]) -> String {
    match names {
        [only] => format!("`{only}`"),
        names => format!("one of {}", quoted(names)),
    }
}

fn examples(rule: &Json) -> String {
    let texts = rule.get("examples").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    let texts: Vec<String> = texts.take(3).map(|text| format!("`\"{text}\"`")).collect();
    if texts.is_empty() { String::new() } else { format!("for example {}", texts.join(", ")) }
}
