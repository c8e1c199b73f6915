//! `filter`: keeps the items whose properties meet a CQL2 condition.
//!
//! It works on metadata, before an item holds anything.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::{self, BoxFuture};
use pest::error::InputLocation;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::codes::BAD_CONDITION;
use crate::config::{Fault, Span, Spanned, Value, from_value};
use crate::contract::{
    Environment, Failure, Item, Kind, Op, OpEntry, Port, Shape, Take, Transfer, TransferContext,
};

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "filter",
    summary: "Keeps the items whose properties meet a condition, and drops the others.",
    accepts: &[Port::Asset],
    example: r#"{ where = '"eo:cloud_cover" < 20' }"#,
    schema: |generator| generator.subschema_for::<FilterOptions>(),
    compile: |value, _: &Environment| compile(value),
};

/// Keeps the items whose properties meet a condition. What is dropped is neither fetched nor a failure.
///
/// A name in the condition is a property of the item, or `id`. The place of an item of a catalogue is `geometry`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct FilterOptions {
    /// The condition in CQL2 text, an OGC standard. Names with other characters than letters, digits and `_` stand in double
    /// quotes, texts in single ones. A condition that cannot be decided because the item lacks a property, or because it is
    /// null, is not met; `IS NULL` asks for just that.
    #[serde(rename = "where")]
    #[schemars(example = &"\"eo:cloud_cover\" < 20 AND platform IN ('sentinel-2a', 'sentinel-2b')")]
    condition: Spanned<String>,
}

fn compile(value: &Value) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let FilterOptions { condition } = from_value(value)?;
    match cql2::parse_text(&condition.value) {
        Ok(expression) => Ok(Arc::new(Filter { text: condition.value, expression })),
        Err(error) => Err(vec![fault(&condition, &error)]),
    }
}

/// What is wrong with a condition, on one line, and the byte at which it stops making sense where that is known.
pub(super) fn complaint(error: &cql2::Error) -> (Option<usize>, String) {
    let (at, message) = match error {
        cql2::Error::Pest(error) => (Some(start_of(&error.location)), error.variant.message().into_owned()),
        error => (None, error.to_string()),
    };
    (at, format!("not a CQL2 condition: {message}"))
}

/// What does not parse, and where.
fn fault(text: &Spanned<String>, error: &cql2::Error) -> Fault {
    let (at, message) = complaint(error);
    let span = at.and_then(|at| within(text, at)).unwrap_or_else(|| text.span.clone());
    Fault::error(BAD_CONDITION, span, message)
        .help("write for example `\"eo:cloud_cover\" < 20`; texts stand in single quotes")
}

fn start_of(location: &InputLocation) -> usize {
    match location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => *at,
    }
}

/// From a place in the text to its end, where the text stands in the pipeline as it is between two quotes.
fn within(text: &Spanned<String>, at: usize) -> Option<Span> {
    let is_plain = text.span.len() == text.value.len() + 2;
    let (start, end) = (text.span.start + 1 + at, text.span.end - 1);
    is_plain.then_some(if start < end { start..end } else { end..end + 1 })
}

/// The compiled op.
#[derive(Debug)]
struct Filter {
    text: String,
    expression: cql2::Expr,
}

impl Op for Filter {
    fn gives(&self, _: Option<Port>) -> Port {
        Port::Asset
    }

    fn takes(&self) -> &'static [Take] {
        &[]
    }

    fn shape(&self, input: &Shape, _: &Item) -> Result<Shape, Failure> {
        Ok(input.clone())
    }

    /// The condition changes which items there are, and nothing about an item.
    fn manifest(&self) -> Json {
        json!({})
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Transfer(self)
    }
}

impl Transfer for Filter {
    fn transfer(&self, item: Item, _: TransferContext) -> BoxFuture<'static, Result<Option<Item>, Failure>> {
        future::ready(self.admits(&item).map(|is_kept| is_kept.then_some(item))).boxed()
    }
}

impl Filter {
    fn admits(&self, item: &Item) -> Result<bool, Failure> {
        let record = json!({ "id": item.id.as_str(), "properties": &*item.properties });
        match self.expression.clone().matches(Some(&record)) {
            Ok(is_met) => Ok(is_met),
            Err(cql2::Error::NonReduced()) if self.lacks_a_property(&record) => Ok(false),
            Err(error) => {
                Err(Failure::item(format!("the condition `{}` cannot be decided: {error}", self.text)))
            }
        }
    }

    /// Whether the condition names a property that a record does not have, or has as null.
    fn lacks_a_property(&self, record: &Json) -> bool {
        let Ok(condition) = self.expression.to_value() else { return false };
        names_in(&condition).iter().any(|name| record["properties"].get(*name).is_none_or(Json::is_null))
    }
}

/// The properties that a condition in CQL2's JSON form names.
fn names_in(condition: &Json) -> Vec<&str> {
    match condition {
        Json::Object(object) => match object.get("property").and_then(Json::as_str) {
            Some(name) => vec![name],
            None => object.values().flat_map(names_in).collect(),
        },
        Json::Array(list) => list.iter().flat_map(names_in).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Lineage, Payload};
    use crate::ops::testing::faults;

    fn keeps(condition: &str, properties: &Json) -> Result<bool, Failure> {
        let expression = cql2::parse_text(condition).expect(condition);
        let item = Item {
            id: "s1".into(),
            properties: Arc::new(properties.as_object().expect("a table").clone()),
            lineage: Lineage::default(),
            payload: Payload::Assets(Vec::new()),
        };
        Filter { text: condition.into(), expression }.admits(&item)
    }

    #[test]
    fn a_condition_decides_on_properties() {
        let item = json!({
            "eo:cloud_cover": 12.5, "platform": "sentinel-2a", "datetime": "2024-06-15T10:00:00Z", "n": 3,
            "geometry": {"type": "Point", "coordinates": [10.0, 47.0]},
        });
        for (condition, expected) in [
            (r#""eo:cloud_cover" < 20"#, true),
            (r#""eo:cloud_cover" < 12.5"#, false),
            ("eo:cloud_cover <= 12.5", true),
            ("id = 's1'", true),
            ("id = 's2'", false),
            ("platform IN ('sentinel-2a', 'sentinel-2b') AND n BETWEEN 1 AND 3", true),
            ("platform LIKE 'landsat%' OR n = 3", true),
            ("NOT n = 3", false),
            ("datetime >= TIMESTAMP('2024-06-15T00:00:00Z')", true),
            ("datetime >= TIMESTAMP('2024-06-16T00:00:00Z')", false),
            ("S_INTERSECTS(geometry, BBOX(9, 46, 11, 48))", true),
            ("S_INTERSECTS(geometry, BBOX(11, 46, 12, 48))", false),
        ] {
            assert_eq!(keeps(condition, &item).expect(condition), expected, "{condition}");
        }
    }

    #[test]
    fn a_condition_on_what_an_item_lacks_is_not_met() {
        let item = json!({"n": 3, "nothing": null});
        for (condition, expected) in [
            ("cloud < 20", false),
            ("NOT cloud < 20", false),
            ("nothing < 20", false),
            ("n = 3 OR cloud < 20", true),
            ("n = 3 AND cloud < 20", false),
            ("cloud IS NULL", true),
            ("nothing IS NULL", true),
            ("n IS NULL", false),
        ] {
            assert_eq!(keeps(condition, &item).expect(condition), expected, "{condition}");
        }
    }

    #[test]
    fn what_is_no_condition_fails_the_item() {
        let failure = keeps("n + 1", &json!({"n": 3})).expect_err("a number");
        assert!(failure.message.starts_with("the condition `n + 1` cannot be decided"), "{failure}");
    }

    #[test]
    fn a_fault_points_into_the_condition() {
        let found = faults(&ENTRY, r#"{ where = "n < < 20" }"#);
        let [(marked, fault)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((marked.as_str(), fault.code), ("< 20", BAD_CONDITION));
        assert_eq!(faults(&ENTRY, "{ where = 'n <' }")[0].1.code, BAD_CONDITION);
    }
}
