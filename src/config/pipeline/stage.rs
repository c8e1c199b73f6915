//! `[stages]`

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::Use;
use super::run_options::optional_time;
use crate::config::{Fault, OneOrMany, Spanned, Table, Value, from_value};
use crate::ids::StageName;
use crate::units::TimeSpan;

/// `[stages.name]`: common keys and exactly one op key.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name.
    pub name: Spanned<StageName>,
    /// `from`: the stages whose outputs it takes; empty for a source.
    pub from: Vec<Spanned<StageName>>,
    /// `uses`: resources beside what the op takes by itself.
    pub uses: Vec<Use>,
    /// `queue`: places of the queue into this stage.
    pub queue: Option<Spanned<u64>>,
    /// `timeout`: of one request, or of one try elsewhere.
    pub timeout: Option<Spanned<Duration>>,
    /// `retry`
    pub retry: Option<RetryOptions>,
    /// `on-error`
    pub on_error: OnError,
    /// `isolation`
    pub isolation: Isolation,
    /// The op's key.
    pub op: Spanned<String>,
    /// The op's options.
    pub options: Value,
}

impl Stage {
    /// The stage of a table whose op is known: `op` is one of its entries.
    pub(in crate::config) fn read(
        name: &Spanned<String>,
        value: &Value,
        (op, options): &(Spanned<String>, Value),
    ) -> Result<Self, Vec<Fault>> {
        let keys: CommonKeys = from_value(value)?;
        Ok(Self {
            name: name.clone().map(Into::into),
            from: keys.from.0,
            uses: keys.uses,
            queue: keys.queue,
            timeout: keys.timeout,
            retry: keys.retry,
            on_error: keys.on_error,
            isolation: keys.isolation,
            op: op.clone(),
            options: options.clone(),
        })
    }
}

/// The one entry of a stage's table that is an op; `None` where there is none or several.
pub(in crate::config) fn op_entry<'a>(
    table: &'a Table,
    ops: &[String],
) -> Option<&'a (Spanned<String>, Value)> {
    let mut found = table.entries.iter().filter(|(key, _)| ops.contains(&key.value));
    found.next().filter(|_| found.next().is_none())
}

/// A step of the pipeline: where its items come from, what it may use, and exactly one op with its options.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct CommonKeys {
    /// The stage whose items this one takes, or a list of stages whose items flow together. A source has none.
    #[serde(default)]
    #[schemars(with = "Option<OneOrMany<String>>")]
    from: OneOrMany<Spanned<StageName>>,
    /// Resources beside what the op takes by itself: names, or amounts like `{ cores = 2 }` and `{ memory = "2 GiB" }`. An
    /// amount replaces the op's own; 0 removes it.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Use>>")]
    uses: Vec<Use>,
    /// Places of the queue into this stage, 1 or more; by default the summed parallelism of the stages that feed it.
    #[schemars(with = "Option<u64>", range(min = 1))]
    queue: Option<Spanned<u64>>,
    /// How long one request may take, or one try where no requests are made; waiting for slots and rates is not timed.
    #[serde(default, deserialize_with = "optional_time")]
    #[schemars(with = "Option<TimeSpan>")]
    timeout: Option<Spanned<Duration>>,
    /// How often and how fast a transient failure is tried again.
    retry: Option<RetryOptions>,
    /// What a failed item does; default `fail`.
    #[serde(default)]
    on_error: OnError,
    /// Where the work runs; default `thread`.
    #[serde(default)]
    isolation: Isolation,
}

/// `retry = { … }`
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct RetryOptions {
    /// How often it is tried in all, 1 or more; 1 means no second try.
    #[schemars(range(min = 1))]
    pub tries: Option<u32>,
    /// The delay before the second try; each further one is twice as long, with jitter.
    #[serde(default, deserialize_with = "plain_time")]
    #[schemars(with = "Option<TimeSpan>")]
    pub first_delay: Option<Duration>,
    /// The longest delay.
    #[serde(default, deserialize_with = "plain_time")]
    #[schemars(with = "Option<TimeSpan>")]
    pub max_delay: Option<Duration>,
    /// The longest time from the start of the first try to the start of the last.
    #[serde(default, deserialize_with = "plain_time")]
    #[schemars(with = "Option<TimeSpan>")]
    pub total: Option<Duration>,
}

fn plain_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    Option::<TimeSpan>::deserialize(from).map(|found| found.map(Duration::from))
}

/// `on-error`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The item fails, the run goes on.
    #[default]
    Fail,
    /// The run stops.
    Stop,
}

/// `isolation`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// On a thread of this process.
    #[default]
    Thread,
    /// In a worker process: for native code that may crash or leak.
    Process,
}
