//! The vocabulary of what happened: one JSON line an event in `run.jsonl`, and the way events are told, recorded
//! and read back.

mod emitter;
mod event;
mod read;
mod run_log;

pub use emitter::{Emitter, Subscriber};
pub use event::{
    Event, FailureClass, Outline, OutlineResource, OutlineStage, QueueSample, Record, ResourceSample, Waits,
};
pub use read::{ReadError, read_records};
pub use run_log::RunLog;
