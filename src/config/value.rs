//! The spanned tree that a pipeline's text becomes, after parameters are filled in.

use std::ops::Deref;

use super::Span;

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

/// Something that was read from the pipeline's text, and where it stands.
///
/// Deserialized from a [`Value`] it keeps the value's span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// What was read.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value at a place.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
