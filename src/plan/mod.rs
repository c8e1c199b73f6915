//! The resolved pipeline: every number with its derivation, the typed graph.
//!
//! [`resolve`] reads aloud what happens; each step has a file of its own. This is the only module that names
//! `petgraph`.

pub mod codes;
mod cutting;
mod defaults;
mod demand;
mod flow;
mod graph;
mod memory_total;
mod outline;
mod parallelism;
mod ports;
mod resolve;
mod resolved;
mod resources;
mod run_options;
mod sizes;
mod stages;
mod unit;
mod unused;

pub use cutting::Oversize;
pub use defaults::{
    CONNECTIONS, CORES, DESCRIPTORS, MEMORY, NAMES as DEFAULT_NAMES, SCRATCH, WRITERS, kind as default_kind,
};
pub use resolve::resolve;
pub use resolved::{Limit, MemoryDemand, MemoryPart, MemoryTotal, Plan, ResourcePlan, RunPlan, StagePlan};

#[cfg(test)]
pub(crate) mod tests;
