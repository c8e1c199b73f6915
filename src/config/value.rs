//! The spanned tree that a pipeline's text becomes, after parameters are filled in.

use serde_json::Value as Json;

use super::{Span, Spanned};

/// A value and where it stands in the pipeline's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// What it is.
    pub kind: ValueKind,
    /// Where it stands.
    pub span: Span,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueKind {
    /// `"…"`
    String(String),
    /// `1`
    Integer(i64),
    /// `1.0`
    Float(f64),
    /// `true`
    Boolean(bool),
    /// `2024-06-01`, as written.
    Datetime(String),
    /// `[…]`
    Array(Vec<Value>),
    /// `{…}`
    Table(Table),
}

/// Keys and values in the order of their spans, which is declaration order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Each key with its span, and its value.
    pub entries: Vec<(Spanned<String>, Value)>,
}

impl Table {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entry(key).map(|(_, value)| value)
    }

    /// The key with its span, and the value.
    pub fn entry(&self, key: &str) -> Option<&(Spanned<String>, Value)> {
        self.entries.iter().find(|(name, _)| name.value == key)
    }
}

impl Value {
    /// The table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.kind {
            ValueKind::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            ValueKind::String(text) | ValueKind::Datetime(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a key, if it is a table and has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_table()?.get(key)
    }

    /// The same value without spans, for the schema: datetimes as text; `nan` and `inf`, which JSON does not have, as the
    /// number 0 and the largest numbers, so that they count as numbers.
    pub fn to_json(&self) -> Json {
        match &self.kind {
            ValueKind::String(text) | ValueKind::Datetime(text) => Json::from(text.as_str()),
            ValueKind::Integer(number) => Json::from(*number),
            ValueKind::Float(number) if number.is_nan() => Json::from(0.0),
            ValueKind::Float(number) => Json::from(number.clamp(f64::MIN, f64::MAX)),
            ValueKind::Boolean(flag) => Json::from(*flag),
            ValueKind::Array(values) => values.iter().map(Value::to_json).collect(),
            ValueKind::Table(table) => Json::Object(
                table.entries.iter().map(|(key, value)| (key.value.clone(), value.to_json())).collect(),
            ),
        }
    }

    /// What messages call it: ``string `x` ``, `a table`.
    pub(super) fn described(&self) -> String {
        match &self.kind {
            ValueKind::String(text) => format!("the text `{}`", shortened(text)),
            ValueKind::Integer(number) => format!("the integer `{number}`"),
            ValueKind::Float(number) => format!("the number `{number:?}`"),
            ValueKind::Boolean(flag) => format!("`{flag}`"),
            ValueKind::Datetime(text) => format!("the date `{text}`"),
            ValueKind::Array(_) => "a list".to_owned(),
            ValueKind::Table(_) => "a table".to_owned(),
        }
    }

    /// From the first to the last byte of it and all that it holds; a dotted table stands in several places.
    pub(super) fn extent(&self) -> Span {
        let inner: Vec<Span> = match &self.kind {
            ValueKind::Array(values) => values.iter().map(Value::extent).collect(),
            ValueKind::Table(table) => table.entries.iter().map(|(_, value)| value.extent()).collect(),
            _ => Vec::new(),
        };
        inner.into_iter().fold(self.span.clone(), |all, one| all.start.min(one.start)..all.end.max(one.end))
    }

    /// The value with every span, inner ones too, at one place.
    pub(super) fn moved_to(&self, span: &Span) -> Value {
        let kind = match &self.kind {
            ValueKind::Array(values) => {
                ValueKind::Array(values.iter().map(|value| value.moved_to(span)).collect())
            }
            ValueKind::Table(table) => ValueKind::Table(Table {
                entries: table
                    .entries
                    .iter()
                    .map(|(key, value)| (Spanned::new(key.value.clone(), span.clone()), value.moved_to(span)))
                    .collect(),
            }),
            plain => plain.clone(),
        };
        Value { kind, span: span.clone() }
    }
}

/// At most 60 characters of a text.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
