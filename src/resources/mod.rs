//! Named limits and the leases that hold them: slots (a count), bytes (a budget), rates (a token bucket).
//!
//! Acquiring returns a lease; dropping the lease is the only way to give back.

mod bytes;
mod controller;
mod pace;
mod pool;
mod rate;
mod rate_family;
mod requirement;
mod slots;

pub use bytes::{ByteLease, Bytes, NeverGranted};
pub use rate::Rate;
pub use rate_family::RateFamily;
pub use requirement::{LeaseSet, Requirement};
pub use slots::{Outcome, SlotLease, Slots};
