//! The engine's laws, with test-only ops under paused time: exact numbers, no lost item, every permit back.

mod back_pressure;
mod endings;
mod properties;
mod stalls;
mod support;
mod windows;
