//! Every event, and the record that stamps it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outline::Outline;
use super::sample::Sample;
use super::whole_reason::WholeReason;
use crate::ids::{ItemId, ResourceName, StageName};

/// The version of the vocabulary that this program writes; records of all earlier ones are read.
pub const VERSION: u32 = 2;

/// One line of `run.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// Seconds since 1970-01-01T00:00:00Z, with microseconds.
    pub ts: f64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What the engine does about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureClass {
    /// May succeed when tried again.
    Transient,
    /// Concerns one item; the run goes on.
    Item,
    /// The run stops.
    Fatal,
    /// Ended from outside.
    Cancelled,
}

/// Where the time before work went, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// In the queue before the stage.
    pub queue: f64,
    /// For places in the queues after the stage.
    pub places: f64,
    /// For each resource, by name: slots and rates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<ResourceName, f64>,
    /// Asleep before this try.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry: f64,
}

impl Waits {
    /// All of it, in seconds.
    pub fn total(&self) -> f64 {
        self.queue + self.places + self.retry + self.resources.values().sum::<f64>()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

fn one() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_one(value: &u64) -> bool {
    *value == 1
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "events are made, told and dropped one by one")]
pub enum Event {
    /// The first line.
    RunStarted {
        /// The version of the vocabulary.
        version: u32,
        /// The program and its version.
        program: String,
        /// The pipeline's file, as the run was given it.
        pipeline: String,
        /// When the run began, as `20240601T100000Z`.
        run: String,
        /// The plan in a few words.
        outline: Outline,
    },
    /// A source gave an item.
    ItemListed {
        /// The source.
        stage: StageName,
        /// The item.
        item: ItemId,
    },
    /// A source has ended.
    SourceEnded {
        /// The source.
        stage: StageName,
        /// How many items it gave.
        items: u64,
    },
    /// An item is done already, or was not asked for, and is not run.
    ItemSkipped {
        /// The item.
        item: ItemId,
        /// Why.
        reason: String,
    },
    /// The gate let an item in.
    ItemAdmitted {
        /// The item.
        item: ItemId,
        /// Seconds waited for its unit.
        unit: f64,
        /// Seconds until its headers were read.
        header: f64,
        /// Seconds waited for its memory.
        memory: f64,
        /// Bytes of memory reserved for its whole way.
        reserved: u64,
    },
    /// Memory cannot hold an item whole, so the engine cuts it into windows; since version 2.
    ItemCut {
        /// The item.
        item: ItemId,
        /// How many windows.
        windows: u64,
        /// Their width and height at most, in pixels.
        edge: u64,
    },
    /// A stage begins to work on an item.
    StageStarted {
        /// The stage.
        stage: StageName,
        /// The item.
        item: ItemId,
        /// Which try this is, counted from 1.
        attempt: u32,
        /// Where the time before it went.
        waited: Waits,
    },
    /// A stage gave its output.
    StageFinished {
        /// The stage.
        stage: StageName,
        /// The item.
        item: ItemId,
        /// Which try this was.
        attempt: u32,
        /// Seconds from its start.
        worked: f64,
        /// Bytes that its input held in memory.
        bytes_in: u64,
        /// Bytes that its output holds in memory, or on disk for files.
        bytes_out: u64,
        /// How many items it sent on, 1 unless told: the windows of a parent, 0 for a window that was joined with others
        /// or an item that was dropped; since version 2.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        outputs: u64,
    },
    /// A try failed, and there will be another. The try ends with this event.
    StageRetried {
        /// The stage.
        stage: StageName,
        /// The item.
        item: ItemId,
        /// Which try failed.
        attempt: u32,
        /// Seconds that it worked; since version 2.
        #[serde(default)]
        worked: f64,
        /// Seconds until the next try.
        delay: f64,
        /// Why it failed.
        message: String,
    },
    /// It failed for good.
    StageFailed {
        /// The stage.
        stage: StageName,
        /// The item.
        item: ItemId,
        /// Which try this was.
        attempt: u32,
        /// Seconds from its start.
        worked: f64,
        /// What kind of failure.
        class: FailureClass,
        /// Why it failed.
        message: String,
    },
    /// It was ended from outside.
    StageCancelled {
        /// The stage.
        stage: StageName,
        /// The item.
        item: ItemId,
        /// Which try this was.
        attempt: u32,
        /// Seconds from its start.
        worked: f64,
    },
    /// One request was made, and its answer read.
    Request {
        /// For which stage.
        stage: StageName,
        /// For which item; empty for the pages of a source.
        item: ItemId,
        /// The status of the answer, 0 without one.
        status: u16,
        /// Seconds waited for each resource.
        waited: BTreeMap<ResourceName, f64>,
        /// Seconds asleep before it: after an earlier try, and because the host asked to be left alone; since version 2.
        #[serde(default, skip_serializing_if = "is_zero")]
        slept: f64,
        /// Seconds from sending it to the last byte.
        took: f64,
        /// Bytes of the body.
        bytes: u64,
        /// Why all of a file was asked for, where parts could have been; since version 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        whole: Option<WholeReason>,
    },
    /// An input is odd in a way that its user should know of. Told once for each stage and message; since version 2.
    StageWarned {
        /// The stage.
        stage: StageName,
        /// The first item that is so.
        item: ItemId,
        /// What is odd, and what becomes of it.
        message: String,
    },
    /// Every output of an item is there.
    ItemFinished {
        /// The item.
        item: ItemId,
    },
    /// An item ended without its output.
    ItemFailed {
        /// The item.
        item: ItemId,
        /// The stage that failed it.
        stage: StageName,
        /// What kind of failure.
        class: FailureClass,
        /// Why.
        message: String,
    },
    /// A reservation grew without waiting.
    Overdraft {
        /// Whose.
        item: ItemId,
        /// Bytes beyond the budget.
        bytes: u64,
    },
    /// An adaptive limit moved.
    LimitChanged {
        /// The resource.
        resource: ResourceName,
        /// Its limit before.
        from: u64,
        /// Its limit from now on.
        to: u64,
        /// Why.
        reason: String,
    },
    /// Nothing progresses and nothing runs.
    Stalled {
        /// For how long, in seconds.
        seconds: f64,
        /// A line for everything that is waited for: who waits, and who holds it.
        waiting: Vec<String>,
    },
    /// The use of everything, once a second.
    Sample(Sample),
    /// A signal arrived, or the run gives up.
    Stopping {
        /// Why.
        reason: String,
        /// Items that go on.
        running: u64,
    },
    /// The last line.
    RunFinished {
        /// How long it took.
        seconds: f64,
        /// Items whose every output is there.
        done: u64,
        /// Items that a stage failed.
        failed: u64,
        /// Items that were done already.
        skipped: u64,
        /// Items that the run's end came before.
        cancelled: u64,
        /// The exit code.
        exit: u8,
        /// The most bytes of resident memory.
        peak_resident: u64,
        /// The most bytes of memory that were reserved at once.
        peak_reserved: u64,
        /// The budget of memory in bytes, 0 without one.
        memory_budget: u64,
        /// Seconds of processor time, programs and workers included; since version 2.
        #[serde(default)]
        cpu: f64,
    },
}

/// The names of all events, as they stand in `event`.
pub(super) const NAMES: &[&str] = &[
    "run_started",
    "item_listed",
    "source_ended",
    "item_skipped",
    "item_admitted",
    "item_cut",
    "stage_started",
    "stage_finished",
    "stage_retried",
    "stage_failed",
    "stage_cancelled",
    "request",
    "stage_warned",
    "item_finished",
    "item_failed",
    "overdraft",
    "limit_changed",
    "stalled",
    "sample",
    "stopping",
    "run_finished",
];
