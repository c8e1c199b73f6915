//! The forms of a count: fixed, from the cores, from memory or descriptors, adaptive.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};

use super::Share;
use crate::units::{ByteSize, Percent};

/// The forms of a count.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeForm {
    /// `32`
    Fixed(u64),
    /// `"cores"`, `"cores - 1"`, `"cores * 2"`, `"cores / 2"`
    Cores(CoresExpression),
    /// `{ memory = "60%", working-set = "220 MiB" }`
    Memory {
        /// What is divided.
        budget: Share,
        /// What one takes.
        working_set: ByteSize,
        /// Clamps.
        clamp: Clamp,
    },
    /// `{ descriptors = "50%", each = 2 }`
    Descriptors {
        /// What is divided.
        share: Percent,
        /// What one takes.
        each: u64,
        /// Clamps.
        clamp: Clamp,
    },
    /// `{ adaptive = { from, to } }`
    Adaptive {
        /// Never below.
        from: u64,
        /// Never above.
        to: u64,
        /// Clamps of both.
        clamp: Clamp,
    },
}

/// `cores`, with one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoresExpression {
    /// `cores`
    All,
    /// `cores - n`
    Minus(u64),
    /// `cores * n`
    Times(u64),
    /// `cores / n`
    Over(u64),
}

/// `at-least` and `at-most`; whether they agree is told with the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clamp {
    /// `at-least`
    pub at_least: Option<u64>,
    /// `at-most`
    pub at_most: Option<u64>,
}

/// What a count is called in messages and in the schema.
const SIZE: &str =
    "a count like `32`, `\"cores\"` with one operation like `\"cores - 1\"`, or a table that derives it";

impl Clamp {
    /// The count within both bounds.
    pub fn of(self, count: u64) -> u64 {
        count.max(self.at_least.unwrap_or(0)).min(self.at_most.unwrap_or(u64::MAX))
    }
}

impl FromStr for CoresExpression {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected `cores`, `cores - 1`, `cores * 2` or `cores / 2`, found `{text}`");
        let rest = text.strip_prefix("cores").ok_or_else(wrong)?.trim_start();
        let mut characters = rest.chars();
        let Some(operation) = characters.next() else { return Ok(Self::All) };
        let operand: u64 = characters.as_str().trim_start().parse().map_err(|_| wrong())?;
        match operation {
            '-' => Ok(Self::Minus(operand)),
            '*' if operand > 0 => Ok(Self::Times(operand)),
            '/' if operand > 0 => Ok(Self::Over(operand)),
            _ => Err(wrong()),
        }
    }
}

/// The table forms, all keys together; their combination is checked after reading.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
struct SizeTable {
    /// The budget that is divided by `working-set`: a share of the memory granted, or a size. The count is at least 1.
    memory: Option<Share>,
    /// What one takes of `memory`, above 0 and at most the budget.
    working_set: Option<ByteSize>,
    /// The share of the file descriptors that is divided by `each`.
    descriptors: Option<Percent>,
    /// How many descriptors one takes, 1 or more; default 1.
    #[schemars(range(min = 1))]
    each: Option<u64>,
    /// The count is found by measuring while the pipeline runs, between `from` and `to`.
    adaptive: Option<AdaptiveTable>,
    /// The count is raised to this.
    #[schemars(range(min = 1))]
    at_least: Option<u64>,
    /// The count is cut to this.
    #[schemars(range(min = 1))]
    at_most: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct AdaptiveTable {
    /// Never below this count, 1 or more. A demand above it is refused.
    #[schemars(range(min = 1))]
    from: u64,
    /// Never above this count, which is not below `from`.
    #[schemars(range(min = 1))]
    to: u64,
}

impl SizeTable {
    fn into_form(self) -> Result<SizeForm, String> {
        let clamp = Clamp { at_least: self.at_least, at_most: self.at_most };
        match (self.memory, self.descriptors, self.adaptive) {
            (Some(budget), None, None) => {
                let working_set = self.working_set.filter(|size| size.0 > 0);
                let working_set =
                    working_set.ok_or("`memory` needs a `working-set` above 0 to be divided by")?;
                Ok(SizeForm::Memory { budget, working_set, clamp })
            }
            (None, Some(share), None) => {
                Ok(SizeForm::Descriptors { share, each: self.each.unwrap_or(1).max(1), clamp })
            }
            (None, None, Some(AdaptiveTable { from, to })) => {
                Ok(SizeForm::Adaptive { from: from.max(1), to: to.max(1), clamp })
            }
            _ => Err("a count is derived from exactly one of `memory`, `descriptors`, `adaptive`".into()),
        }
    }
}

impl<'de> Deserialize<'de> for SizeForm {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl<'de> Visitor<'de> for SizeVisitor {
    type Value = SizeForm;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SIZE)
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<SizeForm, E> {
        let wrong = || E::invalid_value(Unexpected::Signed(count), &"a count of at least 1");
        u64::try_from(count).ok().filter(|count| *count > 0).map(SizeForm::Fixed).ok_or_else(wrong)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<SizeForm, E> {
        text.parse().map(SizeForm::Cores).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SizeForm, A::Error> {
        SizeTable::deserialize(MapAccessDeserializer::new(map))?.into_form().map_err(A::Error::custom)
    }
}

impl JsonSchema for SizeForm {
    fn schema_name() -> Cow<'static, str> {
        "SizeForm".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = SizeTable::json_schema(generator);
        let own = json_schema!({
            "title": SIZE,
            "type": ["integer", "string", "object"],
            "minimum": 1,
            "pattern": "^cores( ?[-*/] ?[0-9]+)?$",
            "examples": [
                32,
                "cores",
                "cores - 1",
                { "memory": "60%", "working-set": "220 MiB" },
                { "adaptive": { "from": 4, "to": 64 } },
            ],
            "dependencies": { "memory": ["working-set"], "working-set": ["memory"], "each": ["descriptors"] },
        });
        for (key, value) in own.as_object().into_iter().flatten() {
            schema.insert(key.clone(), value.clone());
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_take_one_operation() {
        let cases = [
            ("cores", Some(CoresExpression::All)),
            ("cores - 1", Some(CoresExpression::Minus(1))),
            ("cores-1", Some(CoresExpression::Minus(1))),
            ("cores * 2", Some(CoresExpression::Times(2))),
            ("cores / 2", Some(CoresExpression::Over(2))),
            ("cores / 0", None),
            ("cores * 0", None),
            ("cores + 1", None),
            ("cores - ", None),
            ("2 * cores", None),
            ("core", None),
        ];
        for (text, expression) in cases {
            assert_eq!(text.parse().ok(), expression, "{text}");
        }
    }
}
