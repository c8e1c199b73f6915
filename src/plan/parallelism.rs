//! How many items a stage works on at once, and how many places its queue has.

use super::defaults::MEMORY;
use super::demand::Demand;
use super::resources::Resources;
use super::stages::Draft;
use super::{MemoryDemand, codes};
use crate::config::{Fault, Spanned};
use crate::contract::Kind;
use crate::ids::ResourceName;
use crate::machine::Machine;

/// How many items a stage works on at most, and what binds that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parallelism {
    pub(super) items: u64,
    pub(super) bound_by: Option<ResourceName>,
}

/// Parents that give windows at once where headers are requested: one is cut while the next one's header is read.
const PARENTS_AT_ONCE: u64 = 2;

impl Parallelism {
    /// Of a stage with this demand. Sources, groups, windows and tables are one stream each; what takes no slots works
    /// on as many items as there are cores.
    pub(super) fn of(
        stage: &Draft,
        demand: &Demand,
        requests: bool,
        resources: &Resources,
        machine: &Machine,
    ) -> Self {
        let one_stream = |kind: &Kind| matches!(kind, Kind::Source(_) | Kind::Regroup(_) | Kind::Gather(_));
        if stage.is_kind(one_stream) {
            return Self { items: 1, bound_by: None };
        }
        if stage.is_kind(|kind| matches!(kind, Kind::Expand(_))) {
            let items = if requests { PARENTS_AT_ONCE } else { 1 };
            return Self { items, bound_by: None };
        }
        Self::of_slots(demand, resources)
            .unwrap_or_else(|| Self { items: machine.cores.value.max(1), bound_by: None })
    }

    /// The smallest of capacity ÷ amount; of equal ones the first in canonical order.
    fn of_slots(demand: &Demand, resources: &Resources) -> Option<Self> {
        let memory = match demand.memory {
            MemoryDemand::Declared(amount) if amount > 0 => Some((ResourceName::from(MEMORY), amount)),
            _ => None,
        };
        demand
            .slots
            .iter()
            .chain(&memory)
            .map(|(name, amount)| Self {
                items: (resources.capacity(name.as_str()) / amount).max(1),
                bound_by: Some(name.clone()),
            })
            .min_by_key(|bound| bound.items)
    }
}

/// The places of a queue, and where the figure comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Queue {
    pub(super) places: u64,
    pub(super) derivation: String,
}

impl Queue {
    /// The queue into a stage: as declared, else the summed parallelism of its feeders, given with their names.
    pub(super) fn of(declared: Option<&Spanned<u64>>, feeders: &[(&str, u64)]) -> Self {
        let sum: u64 = feeders.iter().map(|(_, items)| *items).sum();
        let Some(declared) = declared else {
            return Self { places: sum, derivation: summed(sum, feeders) };
        };
        let derivation = if declared.value < sum {
            format!("{} declared, caps its feeders at {} of {sum}", declared.value, declared.value)
        } else {
            format!("{} declared", declared.value)
        };
        Self { places: declared.value.max(1), derivation }
    }
}

fn summed(sum: u64, feeders: &[(&str, u64)]) -> String {
    let terms: Vec<String> = feeders.iter().map(|(name, items)| format!("{items} ({name})")).collect();
    match terms.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        _ => format!("{} = {sum}", terms.join(" + ")),
    }
}

/// A fault for a queue into a source.
pub(super) fn queue_of_source(stage: &Draft) -> Option<Fault> {
    let queue = stage.written.queue.as_ref().filter(|_| stage.is_source())?;
    let message = format!("`{}` is a source, and no queue leads into it", stage.name());
    Some(Fault::error(codes::QUEUE_OF_SOURCE, queue.span.clone(), message).help("remove `queue`"))
}
