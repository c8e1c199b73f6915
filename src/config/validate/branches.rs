//! Faults of `anyOf` and `oneOf`: what the author meant is the branch that fails least.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value as Json;

use super::Check;
use super::keys::is_misspelt;
use super::place::Place;
use super::values::{alternatives, expected, wrong_choice, wrong_type};
use crate::config::codes::{MISSING_KEY, MISSING_OP, RESOURCE_KIND, SEVERAL_OPS, WRONG_VALUE};
use crate::config::nearest::quoted;
use crate::config::{Fault, Spanned};

impl Check<'_> {
    /// The faults of the branch that was meant.
    pub(super) fn best_branch(
        &self,
        place: &Place<'_>,
        rule: &Json,
        keyword: &str,
        context: &[Vec<ValidationError<'static>>],
    ) -> Vec<Fault> {
        let branches = rule.get(keyword).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        if let Some(keys) = choice_of_keys(branches) {
            return exactly_one_of(place, rule, &keys).into_iter().collect();
        }
        let pointer_depth = place.path.len();
        let meant = context
            .iter()
            .filter(|errors| {
                !errors.is_empty() && !errors.iter().any(|error| is_elsewhere(error, pointer_depth))
            })
            .min_by_key(|errors| errors.len());
        match meant {
            Some(errors) => errors.iter().flat_map(|error| self.faults(error)).collect(),
            None => vec![no_branch(place, rule, branches)],
        }
    }
}

/// Exactly one of some keys: the ops of a stage, the kinds of a resource.
fn exactly_one_of(place: &Place<'_>, rule: &Json, keys: &[&str]) -> Option<Fault> {
    let entries = place.value.as_table()?.entries.iter();
    let present: Vec<_> = entries.map(|(key, _)| key).filter(|key| keys.contains(&key.as_str())).collect();
    match present.as_slice() {
        [] => none_of(place, rule, keys),
        [first, second, ..] => Some(several_of(place, keys, first, second)),
        [_] => None,
    }
}

/// The keys, if every branch does nothing but require one.
fn choice_of_keys(branches: &[Json]) -> Option<Vec<&str>> {
    let only = |branch: &Json| branch.as_object().is_some_and(|branch| branch.len() == 1);
    branches.iter().map(|branch| branch["required"][0].as_str().filter(|_| only(branch))).collect()
}

/// No op or kind; silent where an unknown key is near one, since that fault says it better.
fn none_of(place: &Place<'_>, rule: &Json, keys: &[&str]) -> Option<Fault> {
    if is_misspelt(place, rule, keys) {
        return None;
    }
    let (code, message) = match place.path.first().map(String::as_str) {
        Some("stages") if place.is_entry_of("stages") => {
            (MISSING_OP, format!("stage {} names no op", place.short()))
        }
        Some("resources") if place.is_entry_of("resources") => {
            (RESOURCE_KIND, format!("resource {} has no limit", place.short()))
        }
        _ => (MISSING_KEY, format!("{} lacks a key", place.called())),
    };
    Some(Fault::error(code, place.name_span(), message).help(format!("add exactly one of {}", quoted(keys))))
}

fn several_of(place: &Place<'_>, keys: &[&str], first: &Spanned<String>, second: &Spanned<String>) -> Fault {
    let code = match place.path.first().map(String::as_str) {
        Some("stages") if place.is_entry_of("stages") => SEVERAL_OPS,
        Some("resources") if place.is_entry_of("resources") => RESOURCE_KIND,
        _ => WRONG_VALUE,
    };
    let help = match code {
        SEVERAL_OPS => {
            "a stage has exactly one op; give the second a stage of its own, with `from` the first".to_owned()
        }
        _ => format!("keep exactly one of {}", quoted(keys)),
    };
    let message = format!("{} has both `{}` and `{}`", place.called(), first.value, second.value);
    Fault::error(code, second.span.clone(), message)
        .labelled("this one is too much")
        .related(first.span.clone(), "the first stands here")
        .help(help)
}

/// Whether an error says that its whole branch is for another kind of value.
fn is_elsewhere(error: &ValidationError<'_>, depth: usize) -> bool {
    let is_here = error.instance_path().as_str().matches('/').count() == depth;
    is_here && matches!(error.kind(), Kind::Type { .. } | Kind::Enum { .. } | Kind::Constant { .. })
}

/// A value that is for none of the branches.
fn no_branch(place: &Place<'_>, rule: &Json, branches: &[Json]) -> Fault {
    let names: Vec<Json> = branches
        .iter()
        .filter_map(|branch| branch.get("enum").and_then(Json::as_array))
        .flatten()
        .cloned()
        .collect();
    let is_choice = !names.is_empty() && place.value.as_str().is_some();
    if is_choice {
        return wrong_choice(place, &Json::Array(names));
    }
    let own = rule.get("title").is_some().then(|| expected(rule));
    let words = own.unwrap_or_else(|| alternatives(&branches.iter().map(expected).collect::<Vec<_>>()));
    wrong_type(place, &words)
}
