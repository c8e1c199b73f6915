//! `[params]` to values.

use super::Inputs;
use crate::config::codes::{PARAMETER_TYPE, UNKNOWN_PARAMETER};
use crate::config::nearest::suggestion;
use crate::config::tree::parse_value;
use crate::config::{Fault, Parameter, Spanned, Value, ValueKind, shortened};

/// Types by the names that `type` takes.
const TYPES: &[&str] = &["string", "integer", "number", "boolean", "list", "table"];

/// The parameters of `[params]` with the values that hold; a value that nothing gives is `None`.
pub(in crate::config) fn declare(
    tree: &Value,
    inputs: &Inputs<'_>,
    faults: &mut Vec<Fault>,
) -> Vec<Parameter> {
    let table = tree.get("params").and_then(Value::as_table);
    let entries = table.map(|table| table.entries.as_slice()).unwrap_or_default();
    let parameters: Vec<_> =
        entries.iter().map(|(name, value)| Declaration::of(name, value).resolve(inputs, faults)).collect();
    faults.extend(unknown_sets(tree, &parameters, inputs));
    parameters
}

/// One entry of `[params]` as it stands.
struct Declaration<'a> {
    name: &'a Spanned<String>,
    default: Option<&'a Value>,
    help: Option<&'a str>,
    is_secret: bool,
    declared_type: Option<&'a str>,
}

impl<'a> Declaration<'a> {
    /// A table says more of the parameter; anything else is its default.
    fn of(name: &'a Spanned<String>, value: &'a Value) -> Self {
        match value.as_table() {
            None => Self { name, default: Some(value), help: None, is_secret: false, declared_type: None },
            Some(table) => Self {
                name,
                default: table.get("default"),
                help: table.get("help").and_then(Value::as_str),
                is_secret: matches!(table.get("env").map(|env| &env.kind), Some(ValueKind::Boolean(true))),
                declared_type: table.get("type").and_then(Value::as_str).filter(|name| TYPES.contains(name)),
            },
        }
    }

    fn resolve(self, inputs: &Inputs<'_>, faults: &mut Vec<Fault>) -> Parameter {
        let value = match self.given(inputs) {
            Some((origin, text)) => self.read(&origin, &text, faults),
            None => self.checked_default(faults),
        };
        Parameter {
            name: self.name.clone(),
            help: self.help.map(str::to_owned),
            value,
            is_secret: self.is_secret,
        }
    }

    /// The text given from outside, and what gave it.
    fn given(&self, inputs: &Inputs<'_>) -> Option<(String, String)> {
        let set = inputs.sets.iter().rev().find(|(name, _)| *name == self.name.value);
        match set {
            Some((name, text)) => Some((format!("--set {name}"), text.clone())),
            None if self.is_secret => {
                let variable = variable(&self.name.value);
                (inputs.environment)(&variable).map(|text| (variable, text))
            }
            None => None,
        }
    }

    fn read(&self, origin: &str, text: &str, faults: &mut Vec<Fault>) -> Option<Value> {
        let expected = self.declared_type.or_else(|| self.default.map(type_of));
        let value = read_as(text, expected, self.name);
        let expected = expected.filter(|expected| !fits(&value, expected));
        let Some(expected) = expected else { return Some(value) };
        let found =
            if self.is_secret { "another value".to_owned() } else { format!("`{}`", shortened(text)) };
        let message =
            format!("`{origin}` gives {found}, and `{}` is {}", self.name.value, in_words(expected));
        faults.push(Fault::error(PARAMETER_TYPE, self.name.span.clone(), message));
        None
    }

    fn checked_default(&self, faults: &mut Vec<Fault>) -> Option<Value> {
        let default = self.default?;
        if let Some(expected) = self.declared_type.filter(|expected| !fits(default, expected)) {
            let message =
                format!("the default is {}, and `type` says {}", default.described(), in_words(expected));
            faults.push(Fault::error(PARAMETER_TYPE, default.span.clone(), message));
        }
        Some(default.clone())
    }
}

/// The environment variable of a parameter: its name in capitals, `_` for `-`.
pub(in crate::config) fn variable(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

/// A text that is to be a string is taken as it stands, unless it is quoted; another is TOML where it parses.
fn read_as(text: &str, expected: Option<&str>, name: &Spanned<String>) -> Value {
    let plain = || Value { kind: ValueKind::String(text.to_owned()), span: name.span.clone() };
    let parsed = parse_value(text, &name.span);
    let is_quoted = |value: &Value| matches!(value.kind, ValueKind::String(_));
    match expected {
        Some("string") => parsed.filter(is_quoted).unwrap_or_else(plain),
        _ => parsed.unwrap_or_else(plain),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value.kind {
        ValueKind::String(_) | ValueKind::Datetime(_) => "string",
        ValueKind::Integer(_) | ValueKind::Float(_) => "number",
        ValueKind::Boolean(_) => "boolean",
        ValueKind::Array(_) => "list",
        ValueKind::Table(_) => "table",
    }
}

fn fits(value: &Value, expected: &str) -> bool {
    let is_integer = matches!(value.kind, ValueKind::Integer(_));
    type_of(value) == expected || (expected == "integer" && is_integer)
}

fn in_words(expected: &str) -> &str {
    match expected {
        "string" => "a text",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "`true` or `false`",
        "list" => "a list",
        _ => "a table",
    }
}

/// `--set` of what no parameter is called.
fn unknown_sets(tree: &Value, parameters: &[Parameter], inputs: &Inputs<'_>) -> Vec<Fault> {
    let place = tree.get("params").map_or(0..0, |params| params.span.clone());
    let is_declared = |name: &str| parameters.iter().any(|parameter| parameter.name.value == name);
    inputs
        .sets
        .iter()
        .filter(|(name, _)| !is_declared(name))
        .map(|(name, _)| {
            let names = parameters.iter().map(|parameter| parameter.name.as_str());
            Fault::error(
                UNKNOWN_PARAMETER,
                place.clone(),
                format!("`--set {name}`: there is no parameter `{name}`"),
            )
            .help(suggestion(name, names))
        })
        .collect()
}
