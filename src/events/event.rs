//! Every event, and the record that stamps it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{ItemId, ResourceName, StageName};

/// One line of `run.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Seconds since 1970-01-01T00:00:00Z, with microseconds.
    pub ts: f64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What the engine does about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// The plan in a few words, so that a record explains itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    /// Stages in topological order.
    pub stages: Vec<OutlineStage>,
    /// Resources in canonical order.
    pub resources: Vec<OutlineResource>,
    /// GDAL's block cache in bytes.
    pub gdal_cache: u64,
    /// Bytes of memory that the machine grants, and where the figure came from.
    pub memory_granted: (u64, String),
    /// Cores that the machine grants, and where the figure came from.
    pub cores_granted: (u64, String),
}

/// One stage of the outline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutlineStage {
    /// Its name.
    pub name: StageName,
    /// Its op.
    pub op: String,
    /// The stages it takes from.
    pub from: Vec<StageName>,
    /// Places of the queue into it.
    pub queue: u64,
    /// How many items it works on at most.
    pub parallelism: u64,
    /// What it takes: resource and amount.
    pub takes: Vec<(ResourceName, u64)>,
}

/// One resource of the outline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutlineResource {
    /// Its name.
    pub name: ResourceName,
    /// `slots`, `bytes` or `rate`.
    pub kind: String,
    /// Its limit in slots, bytes, or tokens per second.
    pub limit: f64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are named as `docs/events.md` describes them")]
pub enum Event {
    /// The first line.
    RunStarted { version: u32, program: String, pipeline: String, run: String, outline: Outline },
    /// A source gave an item. `known` is how many the source has listed so far.
    ItemListed { stage: StageName, item: ItemId },
    /// A source has ended.
    SourceEnded { stage: StageName, items: u64 },
    /// An item is done already and is not run.
    ItemSkipped { item: ItemId, reason: String },
    /// The gate let an item in; seconds waited for each of the unit, the header and memory; bytes reserved.
    ItemAdmitted { item: ItemId, unit: f64, header: f64, memory: f64, reserved: u64 },
    /// Memory cannot hold an item whole: the engine cuts it into so many windows, `edge` pixels wide and high at most.
    ItemCut { item: ItemId, windows: u64, edge: u64 },
    /// A stage begins to work on an item.
    StageStarted { stage: StageName, item: ItemId, attempt: u32, waited: Waits },
    /// A stage gave its output.
    StageFinished { stage: StageName, item: ItemId, attempt: u32, worked: f64, bytes_in: u64, bytes_out: u64 },
    /// There will be another try after `delay` seconds.
    StageRetried { stage: StageName, item: ItemId, attempt: u32, delay: f64, message: String },
    /// A try failed. Every `stage_started` has exactly one `stage_finished`, `stage_failed` or `stage_cancelled`.
    StageFailed {
        stage: StageName,
        item: ItemId,
        attempt: u32,
        worked: f64,
        class: FailureClass,
        message: String,
    },
    /// A stage was ended from outside.
    StageCancelled { stage: StageName, item: ItemId, attempt: u32, worked: f64 },
    /// One request was made: seconds waited for each resource, seconds it took, its status, bytes of its body.
    Request {
        stage: StageName,
        item: ItemId,
        status: u16,
        waited: BTreeMap<ResourceName, f64>,
        took: f64,
        bytes: u64,
    },
    /// An item came to its end.
    ItemFinished { item: ItemId },
    /// An item ended without its output.
    ItemFailed { item: ItemId, stage: StageName, class: FailureClass, message: String },
    /// A reservation grew without waiting.
    Overdraft { item: ItemId, bytes: u64 },
    /// An adaptive limit moved.
    LimitChanged { resource: ResourceName, from: u64, to: u64, reason: String },
    /// Nothing progresses: who waits for what, and who holds it.
    Stalled { seconds: f64, waiting: Vec<String> },
    /// The use of everything, once a second.
    Sample {
        resources: Vec<ResourceSample>,
        queues: Vec<QueueSample>,
        descriptors: u64,
        threads: u64,
        resident: u64,
        cpu: f64,
    },
    /// A signal arrived, or the run gives up; `running` items go on.
    Stopping { reason: String, running: u64 },
    /// The last line.
    RunFinished {
        seconds: f64,
        done: u64,
        failed: u64,
        skipped: u64,
        cancelled: u64,
        exit: u8,
        peak_resident: u64,
        peak_reserved: u64,
        memory_budget: u64,
    },
}

/// One resource at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceSample {
    /// Its name.
    pub name: ResourceName,
    /// Held now, in slots, bytes, or tokens taken since the last sample.
    pub used: f64,
    /// Its limit.
    pub limit: f64,
    /// How many wait for it.
    pub waiting: u64,
}

/// One queue at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueSample {
    /// The stage it leads into.
    pub stage: StageName,
    /// Items in it.
    pub depth: u64,
    /// Its places.
    pub places: u64,
}

/// The names of all events, as they stand in `event`.
pub(super) const NAMES: &[&str] = &[
    "run_started",
    "item_listed",
    "source_ended",
    "item_skipped",
    "item_admitted",
    "stage_started",
    "stage_finished",
    "stage_retried",
    "stage_failed",
    "stage_cancelled",
    "request",
    "item_finished",
    "item_failed",
    "overdraft",
    "limit_changed",
    "stalled",
    "sample",
    "stopping",
    "run_finished",
];
