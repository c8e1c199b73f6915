//! The plan in a few words, so that a record explains itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ResourceName, StageName};

/// The plan in a few words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Open files that the machine grants, and where the figure came from; since version 2.
    #[serde(default)]
    pub descriptors_granted: (u64, String),
    /// The resources that each item holds from admission to its end; since version 2.
    #[serde(default)]
    pub unit: Vec<ResourceName>,
}

/// One stage of the outline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Whether it takes that for each request instead of for each item; since version 2.
    #[serde(default)]
    pub per_request: bool,
    /// Bytes of memory that the pipeline declares for one item here; since version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// One resource of the outline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutlineResource {
    /// Its name.
    pub name: ResourceName,
    /// `slots`, `bytes` or `rate`.
    pub kind: String,
    /// Its limit in slots, bytes, or tokens per second; the highest one, where it is found by measuring.
    pub limit: f64,
    /// The limit as arithmetic; since version 2.
    #[serde(default)]
    pub derivation: String,
    /// Whether the pipeline declares it, else it is a default; since version 2.
    #[serde(default)]
    pub declared: bool,
    /// Bytes of memory that one slot was counted for, where the count was derived from memory; since version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set: Option<u64>,
}

impl Outline {
    /// The resource of this name.
    pub fn resource(&self, name: &str) -> Option<&OutlineResource> {
        self.resources.iter().find(|resource| resource.name.as_str() == name)
    }

    /// The stage of this name.
    pub fn stage(&self, name: &str) -> Option<&OutlineStage> {
        self.stages.iter().find(|stage| stage.name.as_str() == name)
    }

    /// The stages that take from this one.
    pub fn consumers<'a>(&'a self, name: &'a StageName) -> impl Iterator<Item = &'a OutlineStage> {
        self.stages.iter().filter(move |stage| stage.from.contains(name))
    }
}
