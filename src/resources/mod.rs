//! Named limits and the leases that hold them: slots (a count), bytes (a budget), rates (a token bucket).
//!
//! Acquiring returns a lease; dropping the lease is the only way to give back.

mod bytes;
mod rate;
mod requirement;
mod slots;

pub use bytes::{ByteLease, Bytes, NeverGranted};
pub use rate::Rate;
pub use requirement::{LeaseSet, Requirement};
pub use slots::{Outcome, SlotLease, Slots};
