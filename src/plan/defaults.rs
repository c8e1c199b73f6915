//! The resources that exist without being declared, and the figures that hold where the pipeline names none.

use std::time::Duration;

use crate::config::AsWritten;
use crate::contract::Take;
use crate::remote::RetryPolicy;

/// Open requests.
pub const CONNECTIONS: &str = "connections";
/// Cores at work.
pub const CORES: &str = "cores";
/// Files being written.
pub const WRITERS: &str = "writers";
/// Bytes of the in-memory paths of items.
pub const MEMORY: &str = "memory";
/// Bytes of the scratch folder.
pub const SCRATCH: &str = "scratch";
/// Items in flight, as many as open files allow.
pub const DESCRIPTORS: &str = "descriptors";

/// The default resources, in canonical order.
pub const NAMES: &[&str] = &[CONNECTIONS, CORES, WRITERS, MEMORY, SCRATCH, DESCRIPTORS];

pub(super) const CONNECTION_COUNT: u64 = 16;
pub(super) const WRITER_COUNT: u64 = 4;
/// Of the memory granted.
pub(super) const MEMORY_SHARE: f64 = 0.6;
/// Of the free disk of the scratch folder.
pub(super) const SCRATCH_SHARE: f64 = 0.5;
/// GDAL's block cache, of the memory granted.
pub(super) const GDAL_CACHE_SHARE: f64 = 0.05;
/// Below this GDAL reads blocks again and again.
pub(super) const SMALLEST_GDAL_CACHE: u64 = 16 << 20;
/// What the process takes for itself: code, the runtime, GDAL's tables of coordinate systems.
pub(super) const PROCESS_BASE: u64 = 100 << 20;

/// Descriptors for the process: standard streams, the ledger, the event log, libraries, listing folders.
pub(super) const DESCRIPTOR_BASE: u64 = 64;
/// What a worker has open while it works: a dataset and a file beside it.
pub(super) const HANDLES_PER_CORE: u64 = 2;
/// What an item may hold: source, destination, a mask beside it, a temporary.
pub(super) const DESCRIPTORS_PER_ITEM: u64 = 4;

/// Of one request.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// How requests are tried again.
pub(super) const RETRY: RetryPolicy = RetryPolicy {
    tries: 5,
    first_delay: Duration::from_millis(500),
    max_delay: Duration::from_secs(30),
    total: Duration::from_mins(5),
};

/// Whether a default resource counts `slots` or `bytes`; `None` for a name that is no default.
pub fn kind(name: &str) -> Option<&'static str> {
    match name {
        CONNECTIONS | CORES | WRITERS | DESCRIPTORS => Some("slots"),
        MEMORY | SCRATCH => Some("bytes"),
        _ => None,
    }
}

/// The resource that an op takes by itself.
pub(super) fn taken(take: Take) -> &'static str {
    match take {
        Take::Connections => CONNECTIONS,
        Take::Cores => CORES,
        Take::Memory => MEMORY,
        Take::Writers => WRITERS,
    }
}

/// The names of the unit: `[run] uses`, else `descriptors`.
pub(super) fn unit_names(written: &AsWritten) -> Vec<&str> {
    match &written.run.uses {
        Some(uses) => uses.iter().map(|entry| entry.resource.as_str()).collect(),
        None => vec![DESCRIPTORS],
    }
}
