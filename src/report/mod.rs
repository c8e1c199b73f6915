//! What a run came to, from its events alone: live, or from a `run.jsonl` of another machine.

mod causes;
mod summary;

pub use summary::{Places, Summary};
