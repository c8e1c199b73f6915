//! Amounts that stand as a number or as a text with a unit.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};

use crate::config::Spanned;
use crate::ids::ResourceName;
use crate::units::{ByteSize, Percent};

/// A size, or a share of what the machine grants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// `"12 GiB"`
    Size(ByteSize),
    /// `"60%"`
    Percent(Percent),
}

/// What a share is called in messages and in the schema.
const SHARE: &str = "a share like `\"60%\"` or a size like `\"12 GiB\"`";

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(size) => size.fmt(f),
            Self::Percent(share) => share.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let share = if text.ends_with('%') {
            text.parse().ok().map(Self::Percent)
        } else {
            text.parse().ok().map(Self::Size)
        };
        share.ok_or_else(|| D::Error::custom(format!("expected {SHARE}, found `{text}`")))
    }
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": SHARE,
            "type": "string",
            "pattern": format!("({})|({})", Percent::PATTERN, ByteSize::PATTERN),
            "examples": ["60%", "12 GiB"],
        })
    }
}

/// When a run gives up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaxFailures {
    /// After so many failed items.
    Count(u64),
    /// When this share of the finished items failed, judged from 100 on and at the end.
    Share(Percent),
}

/// What `max-failures` is called in messages and in the schema.
const MAX_FAILURES: &str = "a count like `50` or a share like `\"5%\"`";

impl<'de> Deserialize<'de> for MaxFailures {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match from.deserialize_any(NumberOrText(MAX_FAILURES))? {
            Amount::Number(count) => Ok(Self::Count(count)),
            Amount::Text(text) => text.parse().map(Self::Share).map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for MaxFailures {
    fn schema_name() -> Cow<'static, str> {
        "MaxFailures".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": MAX_FAILURES,
            "type": ["integer", "string"],
            "minimum": 0,
            "pattern": Percent::PATTERN,
            "examples": [50, "5%"],
        })
    }
}

/// A whole number, or a text whose unit is not looked at yet.
enum Amount {
    Number(u64),
    Text(String),
}

/// Takes either; holds what is expected.
struct NumberOrText(&'static str);

impl Visitor<'_> for NumberOrText {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Amount, E> {
        let wrong = || E::invalid_value(Unexpected::Signed(number), &self);
        u64::try_from(number).map(Amount::Number).map_err(|_| wrong())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Amount, E> {
        Ok(Amount::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
        Ok(Amount::Text(text.to_owned()))
    }
}

/// One entry of `uses`.
#[derive(Clone, Debug)]
pub struct Use {
    /// The resource.
    pub resource: Spanned<ResourceName>,
    /// How much: a count, or bytes for a budget; `None` where only the name is given.
    pub amount: Option<Spanned<u64>>,
}

/// What an entry of `uses` is called in messages and in the schema.
const USE: &str =
    "a resource like `\"cores\"`, or an amount of one like `{ cores = 2 }` or `{ memory = \"2 GiB\" }`";

/// A count, or a size in bytes.
struct CountOrSize(u64);

impl<'de> Deserialize<'de> for CountOrSize {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match from.deserialize_any(NumberOrText("a count like `2` or a size like `\"2 GiB\"`"))? {
            Amount::Number(count) => Ok(Self(count)),
            Amount::Text(text) => text.parse().map(|size: ByteSize| Self(size.0)).map_err(D::Error::custom),
        }
    }
}

/// A use before the place of a bare name is known.
enum UseForm {
    Name(String),
    Amount(Spanned<String>, Spanned<CountOrSize>),
}

impl<'de> Deserialize<'de> for UseForm {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UseVisitor)
    }
}

struct UseVisitor;

impl<'de> Visitor<'de> for UseVisitor {
    type Value = UseForm;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(USE)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<UseForm, E> {
        Ok(UseForm::Name(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UseForm, A::Error> {
        let (name, amount) = map.next_entry()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        match map.next_key::<String>()? {
            None => Ok(UseForm::Amount(name, amount)),
            Some(_) => Err(A::Error::invalid_length(2, &self)),
        }
    }
}

impl<'de> Deserialize<'de> for Use {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Spanned { value, span } = Spanned::<UseForm>::deserialize(from)?;
        Ok(match value {
            UseForm::Name(name) => Use { resource: Spanned::new(name.into(), span), amount: None },
            UseForm::Amount(name, amount) => {
                Use { resource: name.map(Into::into), amount: Some(amount.map(|amount| amount.0)) }
            }
        })
    }
}

impl JsonSchema for Use {
    fn schema_name() -> Cow<'static, str> {
        "Use".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": USE,
            "type": ["string", "object"],
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": {
                "title": "a count like `2` or a size like `\"2 GiB\"`",
                "type": ["integer", "string"],
                "minimum": 0,
                "pattern": ByteSize::PATTERN,
            },
            "examples": ["cores", { "cores": 2 }, { "memory": "2 GiB" }],
        })
    }
}
