//! From a JSON pointer to a place in the text.

use crate::config::{Span, Spanned, Value, ValueKind};

/// A value, its key, and the path to it.
pub(super) struct Place<'a> {
    pub(super) value: &'a Value,
    /// The key that it stands under; `None` for the root and inside lists.
    pub(super) key: Option<&'a Spanned<String>>,
    pub(super) path: Vec<String>,
}

impl<'a> Place<'a> {
    /// The value at a pointer, or the innermost that there is.
    pub(super) fn find(root: &'a Value, pointer: &str) -> Self {
        let mut place = Self { value: root, key: None, path: Vec::new() };
        for segment in pointer.split('/').skip(1) {
            if !place.enter(&segment.replace("~1", "/").replace("~0", "~")) {
                break;
            }
        }
        place
    }

    fn enter(&mut self, segment: &str) -> bool {
        let found = match &self.value.kind {
            ValueKind::Table(table) => table.entry(segment).map(|(key, value)| (Some(key), value)),
            ValueKind::Array(values) => {
                segment.parse().ok().and_then(|index: usize| values.get(index)).map(|value| (None, value))
            }
            _ => None,
        };
        let Some((key, value)) = found else { return false };
        (self.key, self.value) = (key, value);
        self.path.push(segment.to_owned());
        true
    }

    /// Where the value as a whole is named: the last segment of its header, else its key, else itself.
    pub(super) fn name_span(&self) -> Span {
        self.key.map_or_else(|| self.value.span.clone(), |key| key.span.clone())
    }

    /// The span of one of its keys.
    pub(super) fn key_span(&self, key: &str) -> Span {
        let entry = self.value.as_table().and_then(|table| table.entry(key));
        entry.map_or_else(|| self.value.span.clone(), |(key, _)| key.span.clone())
    }

    /// Whether it is an entry of this table of the root: `stages.x`.
    pub(super) fn is_entry_of(&self, table: &str) -> bool {
        matches!(self.path.as_slice(), [first, _] if first == table)
    }

    /// `` `stages.x` ``; the root is `the pipeline`.
    pub(super) fn called(&self) -> String {
        if self.path.is_empty() { "the pipeline".to_owned() } else { format!("`{}`", self.path.join(".")) }
    }

    /// `` `x` ``, or ``entry 2 of `x` ``, for what is entered last.
    pub(super) fn short(&self) -> String {
        match self.path.as_slice() {
            [.., list, index] if self.key.is_none() => {
                let index: usize = index.parse().unwrap_or_default();
                format!("entry {} of `{list}`", index + 1)
            }
            [.., name] => format!("`{name}`"),
            [] => self.called(),
        }
    }
}
