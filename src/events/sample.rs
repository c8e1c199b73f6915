//! The use of everything at one moment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ResourceName, StageName};

/// The use of everything at one moment; told once a second, at the beginning and at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Every resource.
    pub resources: Vec<ResourceSample>,
    /// The queue into every stage, and into the gate.
    pub queues: Vec<QueueSample>,
    /// Open files of the process.
    pub descriptors: u64,
    /// Threads of the process.
    pub threads: u64,
    /// Bytes of resident memory of the process.
    pub resident: u64,
    /// Seconds of processor time a second since the last sample, programs and workers included.
    pub cpu: f64,
    /// Seconds a second that threads of the process, of its programs and workers waited for a processor since the last
    /// sample: the machine is busy with others then; since version 2.
    #[serde(default)]
    pub starved: f64,
    /// Items that were admitted and have not ended; since version 2.
    #[serde(default)]
    pub items: u64,
    /// Programs and workers that the run started and that run now; since version 2.
    #[serde(default)]
    pub programs: ProgramsSample,
}

/// Programs and workers at one moment. One that lives shorter than the time between two samples may not be seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramsSample {
    /// How many there are.
    pub running: u64,
    /// How many of them compute or wait for a processor at this moment; the others wait for something else.
    pub runnable: u64,
    /// Bytes of resident memory of all, those that they started included.
    pub resident: u64,
    /// Bytes of resident memory of the largest one, those that it started included.
    pub largest: u64,
}

/// One resource at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceSample {
    /// Its name.
    pub name: ResourceName,
    /// Held now, in slots or bytes; of a rate, tokens taken since the last sample.
    pub used: f64,
    /// Its limit in slots, bytes, or tokens per second.
    pub limit: f64,
    /// How many wait for it.
    pub waiting: u64,
    /// Who holds most of it, at most five, the largest first: `stage, item (amount)`; since version 2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<String>,
}

/// One queue at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueSample {
    /// The stage it leads into.
    pub stage: StageName,
    /// Items in it.
    pub depth: u64,
    /// Its places.
    pub places: u64,
}
