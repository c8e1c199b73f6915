//! TOML text to the spanned tree: every syntax fault at once, keys in the order in which they stand.

use toml::Spanned as TomlSpanned;
use toml::de::{DeFloat, DeInteger, DeTable, DeValue};

use super::codes::OUT_OF_RANGE;
use super::newer_syntax::newer_syntax;
use super::syntax::syntax_faults;
use super::{Fault, Span, Spanned, Table, Value, ValueKind};

/// Parses a whole document. With faults, the tree holds what could be read in spite of them.
pub fn parse(text: &str) -> (Value, Vec<Fault>) {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut builder = Builder { text, faults: syntax_faults(text, &errors) };
    let table = builder.table(document.get_ref());
    builder.faults.extend(newer_syntax(text));
    (Value { kind: ValueKind::Table(table), span: 0..0 }, builder.faults)
}

/// Parses one value, as after `--set name=`; `None` if it is not TOML. Every span is `span`.
pub(super) fn parse_value(text: &str, span: &Span) -> Option<Value> {
    let value = DeValue::parse(text).ok()?;
    let mut builder = Builder { text, faults: Vec::new() };
    let value = builder.value(&value);
    builder.faults.is_empty().then(|| value.moved_to(span))
}

struct Builder<'a> {
    text: &'a str,
    faults: Vec<Fault>,
}

impl Builder<'_> {
    fn table(&mut self, table: &DeTable<'_>) -> Table {
        let mut entries: Vec<_> = table
            .iter()
            .map(|(key, value)| {
                let name = Spanned::new(key.get_ref().to_string(), whole(self.text, key.span()));
                (name, self.value(value))
            })
            .collect();
        entries.sort_by_key(|(key, _)| key.span.start);
        Table { entries }
    }

    fn value(&mut self, value: &TomlSpanned<DeValue<'_>>) -> Value {
        let span = whole(self.text, value.span());
        let kind = match value.get_ref() {
            DeValue::String(text) => ValueKind::String(text.to_string()),
            DeValue::Integer(number) => self.integer(number, &span),
            DeValue::Float(number) => self.float(number, &span),
            DeValue::Boolean(flag) => ValueKind::Boolean(*flag),
            DeValue::Datetime(moment) => ValueKind::Datetime(moment.to_string()),
            DeValue::Array(values) => {
                ValueKind::Array(values.iter().map(|value| self.value(value)).collect())
            }
            DeValue::Table(table) => ValueKind::Table(self.table(table)),
        };
        Value { kind, span }
    }

    fn integer(&mut self, number: &DeInteger<'_>, span: &Span) -> ValueKind {
        let value = i64::from_str_radix(number.as_str(), number.radix());
        ValueKind::Integer(value.unwrap_or_else(|_| {
            let message = format!("`{number}` is too large: integers have 64 bits and a sign");
            self.faults.push(Fault::error(OUT_OF_RANGE, span.clone(), message));
            0
        }))
    }

    fn float(&mut self, number: &DeFloat<'_>, span: &Span) -> ValueKind {
        let text = number.as_str();
        let value: f64 = text.parse().unwrap_or(f64::NAN);
        if value.is_infinite() && !text.contains("inf") {
            let message = format!("`{text}` is too large for a float of 64 bits");
            self.faults.push(Fault::error(OUT_OF_RANGE, span.clone(), message));
        }
        ValueKind::Float(value)
    }
}

/// A span cut to the text and widened to whole characters.
pub(super) fn whole(text: &str, span: Span) -> Span {
    let mut start = span.start.min(text.len());
    let mut end = span.end.clamp(start, text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::codes::{DUPLICATE_KEY, SYNTAX};

    fn keys(value: &Value) -> Vec<&str> {
        value
            .as_table()
            .map(|table| table.entries.iter().map(|(key, _)| &*key.value).collect())
            .unwrap_or_default()
    }

    #[test]
    fn keys_stand_in_the_order_of_the_text() {
        let (tree, faults) = parse("zebra = 1\n[b]\n[a]\n[b2]\napple = { z = 1, a = 2 }\n");
        assert_eq!(faults, []);
        assert_eq!(keys(&tree), ["zebra", "b", "a", "b2"]);
        let apple = tree.get("b2").and_then(|table| table.get("apple")).expect("it is there");
        assert_eq!(keys(apple), ["z", "a"]);
    }

    #[test]
    fn dotted_headed_and_inline_tables_are_equal() {
        let shapes = ["[stages.x]\nfrom = 1", "[stages]\nx.from = 1", "stages = { x = { from = 1 } }"];
        for text in shapes {
            let (tree, _) = parse(text);
            assert_eq!(tree.to_json(), serde_json::json!({ "stages": { "x": { "from": 1 } } }), "{text}");
        }
    }

    #[test]
    fn every_syntax_fault_is_found_at_once() {
        let (_, faults) = parse("a = \nb = \"x\nc = 1\nd = [1, 2\ne = 5\n");
        let found: Vec<_> = faults.iter().map(|fault| (fault.code, fault.span.start)).collect();
        assert_eq!(found, [(SYNTAX, 4), (SYNTAX, 11), (SYNTAX, 28)]);
    }

    #[test]
    fn a_duplicate_key_marks_the_second() {
        let text = "name = 1\nname = 2\n";
        let (_, faults) = parse(text);
        assert_eq!(faults.len(), 1);
        assert_eq!((faults[0].code, faults[0].span.clone()), (DUPLICATE_KEY, 9..13));
    }

    #[test]
    fn datetimes_stay_text() {
        let (tree, _) = parse("day = 2024-06-01");
        assert_eq!(tree.to_json(), serde_json::json!({ "day": "2024-06-01" }));
    }

    #[test]
    fn an_integer_of_more_than_64_bits_is_a_fault() {
        let (_, faults) = parse("n = 9223372036854775808");
        assert_eq!(faults[0].code, OUT_OF_RANGE);
        assert_eq!(parse("n = 9223372036854775807").1, []);
    }
}
