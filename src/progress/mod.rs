//! What a run shows while it goes: bars on a terminal, lines elsewhere, failures as they happen.
//!
//! It sees events only, and writes from a thread of its own, so that a slow terminal does not hold up the run.
//! This is the only module that names `indicatif`.

mod bars;
mod display;
mod gauge;
mod lines;
mod notice;
mod recent;
mod tally;

pub use display::{Mode, Progress, Style};
