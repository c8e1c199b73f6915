//! The vocabulary of what happened: one JSON line an event in `run.jsonl`, and the way events are told.

mod emitter;
mod event;

pub use emitter::{Emitter, Subscriber};
pub use event::{
    Event, FailureClass, Outline, OutlineResource, OutlineStage, QueueSample, Record, ResourceSample, Waits,
};
