//! gisrun runs a raster job that one TOML file declares, bounded by what the machine grants.
//!
//! A module imports lower floors only; neighbours on one floor do not know each other
//! (`tests/architecture.rs` holds it):
//!
//! ```text
//! 8  cli         arguments, commands, exit codes
//! 7  engine      runs a plan: tasks, queues, retries, cancellation, policy
//! 6  ops | plan  the ops, one file each | pipeline + machine -> typed graph
//! 5  contract    what an op is: ports, demand, regions, run; failures; the registry type
//! 4  remote      the one client: requests under leases, signing, retries, headers
//! 3  resources   slots, bytes, rates, adaptive limits; leases
//! 2  config | ledger | progress | report
//! 1  formula | raster | machine | events
//! 0  units | ids
//! ```

pub mod cli;
pub mod config;
pub mod contract;
pub mod engine;
pub mod events;
pub mod formula;
pub mod ids;
pub mod ledger;
pub mod machine;
pub mod ops;
pub mod plan;
pub mod progress;
pub mod raster;
pub mod remote;
pub mod report;
pub mod resources;
pub mod units;
