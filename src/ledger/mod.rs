//! What is remembered for resume: one SQLite file beside the pipeline.
//!
//! One process at a time writes it (an OS lock says which), one thread in that process. Writes are queued and
//! committed in groups; `intend` and `announce` return when theirs is. Whoever is killed at any moment
//! leaves a ledger that loads, and [`verdict`] says of every item whether its outputs stand.

mod difference;
mod entry;
mod error;
mod handle;
mod lock;
mod schema;
mod snapshot;
mod statements;
mod verdict;
mod writer;

#[cfg(test)]
mod tests;

pub use difference::{differences, first_difference};
pub use entry::{Beginning, Entry, Intent, KeptRows, Manifest, Output, PastFailure, RowsPlace, State};
pub use error::LedgerError;
pub use handle::Ledger;
pub use snapshot::Snapshot;
pub use verdict::{Standing, Verdict, standing_of_file, verdict};
