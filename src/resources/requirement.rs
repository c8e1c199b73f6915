//! What one piece of work takes at once: several slots in one order, and tokens of rates.
use std::collections::BTreeMap;

use super::{Rate, SlotLease, Slots};
use crate::ids::ResourceName;

/// Slots in canonical order, and rates that grant the start.
#[derive(Clone, Debug, Default)]
pub struct Requirement {
    /// Slots with amounts, in canonical order.
    pub slots: Vec<(Slots, u64)>,
    /// Rates with tokens; a rate of bytes is charged by what is asked of `take`.
    pub rates: Vec<Rate>,
    /// Rates that count bytes.
    pub byte_rates: Vec<Rate>,
}

/// All that one piece of work holds.
#[derive(Debug, Default)]
pub struct LeaseSet {
    /// The slots held.
    pub slots: Vec<SlotLease>,
    /// Seconds waited, by resource.
    pub waited: BTreeMap<ResourceName, f64>,
}

impl Requirement {
    /// Waits until every rate would grant, takes the slots in order, takes the tokens if they are still there,
    /// else gives the slots back and waits again. Cancel-safe.
    pub async fn take(&self) -> LeaseSet {
        todo!()
    }

    /// Charges the byte rates after the fact, and waits until they are out of debt.
    pub async fn charge(&self, _bytes: u64) {
        todo!()
    }
}
