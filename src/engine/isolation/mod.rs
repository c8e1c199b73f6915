//! `isolation = "process"`: CPU work in worker processes, so that native code which crashes or leaks takes one item with it
//! and not the run.
//!
//! A worker is this same program, started anew and never forked: a child of a fork would share open files and locks with
//! its parent. It compiles the one op of its stage and works on item after item, as they come through its standard input
//! ([`serve`]); the other end is a [`crew`] that starts workers as they are needed and replaces those that die.
//!
//! What passes through the pipe is one frame a task and one an answer ([`frame`]): a JSON header, then the bulk data that
//! the header announces, raw and little-endian ([`wire`]).

mod crew;
mod frame;
mod pixels;
mod serve;
mod wire;
mod worker;

#[cfg(test)]
mod tests;

pub(crate) use crew::Crew;
pub use frame::Greeting;
pub use serve::serve;
pub use worker::WorkerCommand;
