//! The typed form of what stands in the file, nothing resolved.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{Spanned, Value};
use crate::ids::{ResourceName, StageName};
use crate::units::{ByteSize, Percent, RateLimit};

/// A pipeline file, parameters filled in.
#[derive(Clone, Debug)]
pub struct AsWritten {
    /// The file, as given on the command line.
    pub path: PathBuf,
    /// Its text; spans are ranges of it.
    pub text: Arc<str>,
    /// `name`
    pub name: Spanned<String>,
    /// `description`
    pub description: Option<String>,
    /// `[params]`, in declaration order, with the values that hold.
    pub params: Vec<Parameter>,
    /// `[run]`
    pub run: RunOptions,
    /// `[grids]`
    pub grids: Grids,
    /// `[resources]`, in declaration order.
    pub resources: Vec<(Spanned<ResourceName>, ResourceForm)>,
    /// `[access."prefix"]`, in declaration order; the options are checked by `remote`.
    pub access: Vec<(Spanned<String>, Access)>,
    /// `[stages]`, in declaration order.
    pub stages: Vec<Stage>,
}

/// One parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Spanned<String>,
    /// What it is for.
    pub help: Option<String>,
    /// The value that holds: `--set`, the environment or the default.
    pub value: Option<Value>,
    /// Read from the environment, so a secret: redacted everywhere and no part of a fingerprint.
    pub is_secret: bool,
}

/// `[run]`
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// `max-failures`: a count or a share of the items finished.
    pub max_failures: Option<Spanned<MaxFailures>>,
    /// `grace`: how long running items may go on after the first signal.
    pub grace: Option<Spanned<Duration>>,
    /// `gdal.cache`: GDAL's block cache, a size or a share of the memory granted.
    pub gdal_cache: Option<Spanned<Share>>,
    /// `scratch`: a folder.
    pub scratch: Option<Spanned<PathBuf>>,
    /// `ledger`: a folder or a `.sqlite` file.
    pub ledger: Option<Spanned<PathBuf>>,
    /// `uses`: the unit.
    pub uses: Option<Vec<Use>>,
}

/// When a run gives up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaxFailures {
    /// After so many failed items.
    Count(u64),
    /// When this share of the finished items failed, judged from 100 on and at the end.
    Share(Percent),
}

/// A size, or a share of what the machine grants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// `"12 GiB"`
    Size(ByteSize),
    /// `"60%"`
    Percent(Percent),
}

/// The named grids.
#[derive(Clone, Debug, Default)]
pub struct Grids(pub Vec<(Spanned<String>, GridDefinition)>);

/// `[grids.name]`
#[derive(Clone, Debug, PartialEq)]
pub struct GridDefinition {
    /// `crs`
    pub crs: Spanned<String>,
    /// `resolution` in units of the CRS: (x, y), both positive.
    pub resolution: Spanned<(f64, f64)>,
    /// `bounds`: west, south, east, north in the CRS.
    pub bounds: Option<Spanned<[f64; 4]>>,
    /// `tile`: pixels of a tile's edge.
    pub tile: Option<Spanned<u64>>,
    /// `align`: whether the grid lies on whole multiples of the resolution; default true.
    pub align: bool,
}

/// `[access."prefix"]`: the options as they stand, typed by `remote`.
#[derive(Clone, Debug)]
pub struct Access {
    /// The table.
    pub options: Value,
}

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

/// `at-least` and `at-most`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clamp {
    /// `at-least`
    pub at_least: Option<u64>,
    /// `at-most`
    pub at_most: Option<u64>,
}

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

/// One entry of `uses`.
#[derive(Clone, Debug)]
pub struct Use {
    /// The resource.
    pub resource: Spanned<ResourceName>,
    /// How much: a count, or bytes for a budget; `None` where only the name is given.
    pub amount: Option<Spanned<u64>>,
}

/// `retry = { … }`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RetryOptions {
    /// How often it is tried in all.
    pub tries: Option<u32>,
    /// The delay before the second try.
    pub first_delay: Option<Duration>,
    /// The longest delay.
    pub max_delay: Option<Duration>,
    /// The longest time from the first try's start to the last try's start.
    pub total: Option<Duration>,
}

/// `on-error`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The item fails, the run goes on.
    #[default]
    Fail,
    /// The run stops.
    Stop,
}

/// `isolation`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// On a thread of this process.
    #[default]
    Thread,
    /// In a worker process.
    Process,
}
