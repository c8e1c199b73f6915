//! `[resources]`

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::{Share, SizeForm};
use crate::config::Spanned;
use crate::units::RateLimit;

/// A resource is a table with exactly one of `slots`, `bytes`, `rate`.
#[derive(Clone, Debug)]
pub enum ResourceForm {
    /// A count.
    Slots(Spanned<SizeForm>),
    /// A budget.
    Bytes(Spanned<Share>),
    /// A token bucket.
    Rate {
        /// Tokens per second.
        limit: Spanned<RateLimit>,
        /// Tokens that may be taken at once after a pause; 1 request or one second of bytes by default.
        burst: Option<Spanned<u64>>,
        /// One bucket for each host.
        per_host: bool,
    },
}

/// A named limit: exactly one of `slots` (a count), `bytes` (a budget), `rate` (a token bucket). Name it after the thing
/// that runs out, never after a stage.
#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct ResourceTable {
    /// How many may be held at once: a count, `"cores"` with one operation, or a table that derives the count from memory
    /// or descriptors, or finds it by measuring.
    slots: Option<Spanned<SizeForm>>,
    /// A budget in bytes: a share of the memory granted, or a size.
    bytes: Option<Spanned<Share>>,
    /// A token bucket: requests (or items) per second, or bytes per second.
    rate: Option<RateTable>,
    /// Whom the figure is for; default `machine`.
    #[serde(default)]
    pub(in crate::config) scope: Scope,
}

/// Whom a resource's figure is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::config) enum Scope {
    /// This process alone.
    #[default]
    Machine,
    /// The whole job: each shard gets its part.
    Cluster,
}

impl ResourceTable {
    /// The one form that the table has; `None` where it has none or several.
    pub(in crate::config) fn into_form(self) -> Option<ResourceForm> {
        match (self.slots, self.bytes, self.rate) {
            (Some(size), None, None) => Some(ResourceForm::Slots(size)),
            (None, Some(share), None) => Some(ResourceForm::Bytes(share)),
            (None, None, Some(RateTable { limit, burst, per_host })) => {
                Some(ResourceForm::Rate { limit, burst, per_host })
            }
            _ => None,
        }
    }
}

/// What a rate is called in messages and in the schema.
const RATE: &str = "a rate like `\"100/s\"` or `\"50 MiB/s\"`, or a table `{ limit = \"5/s\", burst = 1 }`";

struct RateTable {
    limit: Spanned<RateLimit>,
    burst: Option<Spanned<u64>>,
    per_host: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
struct RateKeys {
    /// Requests (or items) per second, minute or hour, or bytes: `"100/s"`, `"30/m"`, `"50 MiB/s"`.
    limit: Spanned<RateLimit>,
    /// Tokens that may be taken at once after a pause, 1 or more; by default 1 request, or one second of bytes.
    #[schemars(range(min = 1))]
    burst: Option<Spanned<u64>>,
    /// Whether each host has a bucket of its own; default `false`.
    #[serde(default)]
    per_host: bool,
}

/// A rate before the place of a bare text is known.
enum RateForm {
    Limit(RateLimit),
    Table(RateKeys),
}

impl<'de> Deserialize<'de> for RateForm {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RateVisitor)
    }
}

struct RateVisitor;

impl<'de> Visitor<'de> for RateVisitor {
    type Value = RateForm;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RATE)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RateForm, E> {
        text.parse().map(RateForm::Limit).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RateForm, A::Error> {
        RateKeys::deserialize(MapAccessDeserializer::new(map)).map(RateForm::Table)
    }
}

impl<'de> Deserialize<'de> for RateTable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Spanned { value, span } = Spanned::<RateForm>::deserialize(from)?;
        Ok(match value {
            RateForm::Limit(limit) => Self { limit: Spanned::new(limit, span), burst: None, per_host: false },
            RateForm::Table(RateKeys { limit, burst, per_host }) => Self { limit, burst, per_host },
        })
    }
}

impl JsonSchema for RateTable {
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = RateKeys::json_schema(generator);
        let own = json_schema!({
            "title": RATE,
            "type": ["string", "object"],
            "pattern": RateLimit::PATTERN,
            "examples": ["100/s", "50 MiB/s", { "limit": "5/s", "burst": 1 }],
        });
        for (key, value) in own.as_object().into_iter().flatten() {
            schema.insert(key.clone(), value.clone());
        }
        schema
    }
}
