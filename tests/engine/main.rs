//! The engine's laws, with test-only ops under paused time: exact numbers, no lost item, every permit back.
#![allow(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod back_pressure;
mod endings;
mod overdrafts;
mod properties;
mod stalls;
mod support;
mod windows;
