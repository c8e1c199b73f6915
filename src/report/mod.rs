//! What a run came to, from its events alone: live, or from a `run.jsonl` of another machine.
//!
//! [`Summary`] is the closing words of a run. [`Digest`] is the fold that a [`Report`] is made of, with its verdict and
//! its calibration; [`Timeline`] and [`Trace`] are what the page and Perfetto draw.

mod account;
mod calibration;
mod causes;
mod digest;
mod metrics;
mod page;
mod retry;
mod summary;
mod sweep;
mod table;
mod text;
mod time_spent;
mod timeline;
mod trace;
mod verdict;
mod words;

pub use account::Report;
pub use calibration::Calibration;
pub use digest::Digest;
pub use metrics::Metrics;
pub use page::page;
pub use summary::{Places, Summary};
pub use sweep::{Measured, Point, Sweep};
pub use timeline::Timeline;
pub use trace::Trace;
pub use verdict::{Finding, Kind, Verdict};
