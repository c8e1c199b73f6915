//! Faults of keys: unknown, misplaced, missing, badly named.

use serde_json::Value as Json;

use super::Check;
use super::gdal_options;
use super::place::Place;
use crate::config::codes::{BAD_NAME, MISPLACED_KEY, MISSING_KEY, UNKNOWN_KEY};
use crate::config::nearest::{nearest, quoted};
use crate::config::pipeline::op_entry;
use crate::config::{Fault, Span};

impl Check<'_> {
    pub(super) fn unknown_keys(&self, place: &Place<'_>, rule: &Json, keys: &[String]) -> Vec<Fault> {
        keys.iter().map(|key| self.unknown_key(place, rule, key)).collect()
    }

    fn unknown_key(&self, place: &Place<'_>, rule: &Json, key: &str) -> Fault {
        let span = place.key_span(key);
        if let Some(fault) = self.stage_key_among_options(place, key, &span) {
            return fault;
        }
        if let Some(fault) = self.option_among_stage_keys(place, rule, key, &span) {
            return fault;
        }
        if let Some(fault) = gdal_options::fault(key, &span) {
            return fault;
        }
        let names = property_names(rule);
        let fault = Fault::error(UNKNOWN_KEY, span, format!("unknown key `{key}` in {}", place.called()));
        match nearest(key, names.iter().copied()) {
            Some(near) => fault.labelled(format!("did you mean `{near}`?")).help(description(rule, near)),
            None => fault.help(listed(&names)),
        }
    }

    /// `uses` below `[stages.x.stac]`.
    fn stage_key_among_options(&self, place: &Place<'_>, key: &str, span: &Span) -> Option<Fault> {
        let [stages, _, op] = place.path.as_slice() else { return None };
        let is_stage_key = stages == "stages" && self.stage_keys().any(|name| name == key);
        let message = format!("`{key}` is a stage key, not an option of `{op}`");
        let table = place.value.span.clone();
        let is_header = self.text.get(table.clone()).is_some_and(|text| text.starts_with('['));
        let help = if is_header {
            format!("`{key}` is a stage key; move it above line {}", self.line(table.start))
        } else {
            format!("`{key}` is a stage key; move it out of `{op}`, beside it")
        };
        let related = if is_header { "everything below this line belongs to the op" } else { "" };
        let fault = Fault::error(MISPLACED_KEY, span.clone(), message).help(help);
        is_stage_key.then(|| if is_header { fault.related(table, related) } else { fault })
    }

    /// `resampling` beside `warp = {}`.
    fn option_among_stage_keys(
        &self,
        place: &Place<'_>,
        rule: &Json,
        key: &str,
        span: &Span,
    ) -> Option<Fault> {
        if !place.is_entry_of("stages") {
            return None;
        }
        let (op, options) = op_entry(place.value.as_table()?, self.schema.ops())?;
        rule.pointer(&format!("/properties/{}/properties/{key}", op.value))?;
        let message = format!("`{key}` is an option of `{0}`, not a stage key", op.value);
        let fault = Fault::error(MISPLACED_KEY, span.clone(), message);
        Some(
            fault
                .related(options.span.clone(), "the options of the op")
                .help(format!("write it inside: `{} = {{ {key} = … }}`", op.value)),
        )
    }

    /// The common keys of a stage, which are its properties that are no ops.
    fn stage_keys(&self) -> impl Iterator<Item = &str> {
        let stage = self.schema.strict().pointer("/properties/stages/additionalProperties");
        let names = stage.map(property_names).unwrap_or_default();
        names.into_iter().filter(|name| self.schema.ops().iter().all(|op| op != name))
    }

    /// The line of a position, counted from 1.
    fn line(&self, position: usize) -> usize {
        self.text[..position].matches('\n').count() + 1
    }
}

/// A name that has other characters than names have.
pub(super) fn bad_name(place: &Place<'_>, name: &Json) -> Fault {
    let name = name.as_str().unwrap_or_default();
    Fault::error(BAD_NAME, place.key_span(name), format!("`{name}` is not a name"))
        .help("names are made of letters, digits, `-` and `_`, and begin with a letter or a digit")
}

/// A key that must be there; silent where an unknown key is near it, since that fault says it better.
pub(super) fn missing(place: &Place<'_>, rule: &Json, property: &Json) -> Option<Fault> {
    let key = property.as_str().unwrap_or_default();
    if is_misspelt(place, rule, &[key]) {
        return None;
    }
    let fault = Fault::error(MISSING_KEY, place.name_span(), format!("{} has no `{key}`", place.called()));
    let about = description(rule, key);
    Some(fault.help(if about.is_empty() { format!("add `{key} = …`") } else { about }))
}

/// Whether the table has an unknown key that is near one of these.
pub(super) fn is_misspelt(place: &Place<'_>, rule: &Json, keys: &[&str]) -> bool {
    let is_unknown = |key: &str| rule["properties"].get(key).is_none();
    let is_near = |key: &str| is_unknown(key) && nearest(key, keys.iter().copied()).is_some();
    place.value.as_table().is_some_and(|table| table.entries.iter().any(|(key, _)| is_near(key.as_str())))
}

fn property_names(rule: &Json) -> Vec<&str> {
    let properties = rule.get("properties").and_then(Json::as_object);
    properties.map(|properties| properties.keys().map(String::as_str).collect()).unwrap_or_default()
}

/// The first sentence of a property's docs, with its name.
fn description(rule: &Json, key: &str) -> String {
    let text = rule["properties"][key]["description"].as_str().unwrap_or_default();
    let line = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let sentence = line.split_once(". ").map_or(line.trim_end_matches('.'), |(first, _)| first);
    if sentence.is_empty() { String::new() } else { format!("`{key}`: {sentence}") }
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "this table has no keys".to_owned(),
        names => format!("expected one of {}", quoted(names)),
    }
}
