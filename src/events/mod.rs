//! The vocabulary of what happened: one JSON line an event in `run.jsonl`, and the way events are told, recorded
//! and read back.

mod emitter;
mod event;
mod outline;
mod read;
mod run_log;
mod sample;
mod schema;
mod whole_reason;

pub use emitter::{Emitter, Subscriber};
pub use event::{Event, FailureClass, Record, VERSION, Waits};
pub use outline::{Outline, OutlineResource, OutlineStage};
pub use read::{ReadError, read_records};
pub use run_log::RunLog;
pub use sample::{ProgramsSample, QueueSample, ResourceSample, Sample};
pub use schema::schema;
pub use whole_reason::WholeReason;
