//! What one piece of a stage's work takes: by its op, and by its `uses`.

use super::defaults::{self, MEMORY, SCRATCH};
use super::resources::{Resources, shown};
use super::stages::Draft;
use super::unit::Unit;
use super::{Limit, MemoryDemand, ResourcePlan, codes};
use crate::config::{Fault, Span, Use};
use crate::contract::Take;
use crate::ids::ResourceName;

/// What one piece of work takes, in canonical order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    pub(super) slots: Vec<(ResourceName, u64)>,
    pub(super) rates: Vec<ResourceName>,
    pub(super) memory: MemoryDemand,
}

/// What a stage takes; uses that make no sense are told.
pub(super) fn of_stage(
    stage: &Draft,
    resources: &Resources,
    unit: &Unit,
    text: &str,
    faults: &mut Vec<Fault>,
) -> Demand {
    let mut demand = Demand::of_op(stage.takes());
    let mut seen: Vec<&str> = Vec::new();
    for entry in &stage.written.uses {
        let name = entry.resource.as_str();
        if seen.contains(&name) {
            let message = format!("`{}` uses `{name}` twice", stage.name());
            faults.push(Fault::error(codes::DUPLICATE_USE, entry.resource.span.clone(), message));
            continue;
        }
        seen.push(name);
        let entry = Entry { written: entry, stage: stage.name(), text };
        if let Err(fault) =
            entry.check(resources, unit).and_then(|resource| entry.apply(&mut demand, resource))
        {
            faults.push(fault);
        }
    }
    faults.extend(unit.taken_again(stage, &demand));
    demand.order(resources);
    demand
}

impl Demand {
    fn of_op(takes: &[Take]) -> Self {
        let slots = takes.iter().filter(|take| **take != Take::Memory);
        Self {
            slots: slots.map(|take| (defaults::taken(*take).into(), 1)).collect(),
            rates: Vec::new(),
            memory: MemoryDemand::Measured,
        }
    }

    /// Takes beside its own what another stage takes: the headers of files that are fetched below.
    pub(super) fn join(&mut self, other: &Demand, resources: &Resources) {
        for (name, amount) in &other.slots {
            if !self.slots.iter().any(|(own, _)| own == name) {
                self.slots.push((name.clone(), *amount));
            }
        }
        for name in &other.rates {
            if !self.rates.contains(name) {
                self.rates.push(name.clone());
            }
        }
        self.order(resources);
    }

    fn order(&mut self, resources: &Resources) {
        self.slots.sort_by_key(|(name, _)| resources.position(name.as_str()));
        self.rates.sort_by_key(|name| resources.position(name.as_str()));
    }

    fn set_slots(&mut self, name: &ResourceName, amount: Option<u64>) {
        let own = self.slots.iter().position(|(own, _)| own == name);
        match (own, amount) {
            (Some(own), Some(0)) => drop(self.slots.remove(own)),
            (Some(own), Some(amount)) => self.slots[own].1 = amount,
            (None, Some(0)) | (Some(_), None) => {}
            (None, amount) => self.slots.push((name.clone(), amount.unwrap_or(1))),
        }
    }
}

/// One entry of a stage's `uses`.
struct Entry<'a> {
    written: &'a Use,
    stage: &'a str,
    text: &'a str,
}

impl Entry<'_> {
    fn check<'r>(&self, resources: &'r Resources, unit: &Unit) -> Result<&'r ResourcePlan, Fault> {
        let Use { resource: name, amount } = self.written;
        let resource =
            resources.get(name.as_str()).ok_or_else(|| resources.unknown(name.as_str(), &name.span))?;
        if let Some(fault) = unit.used_again(name, self.stage) {
            return Err(fault);
        }
        if let Some(most) = resource.limit.largest_lease()
            && amount.as_ref().is_some_and(|amount| amount.value > most)
            && self.check_kind(resource).is_ok()
        {
            return Err(self.above_capacity(resource, most, resources.place(name.as_str())));
        }
        Ok(resource)
    }

    fn apply(&self, demand: &mut Demand, resource: &ResourcePlan) -> Result<(), Fault> {
        let amount = self.written.amount.as_ref().map(|amount| amount.value);
        self.check_kind(resource)?;
        match resource.limit {
            Limit::Bytes(_) if resource.name.as_str() == MEMORY => {
                demand.memory = amount.map_or(MemoryDemand::Measured, MemoryDemand::Declared);
            }
            Limit::Bytes(_) if resource.name.as_str() == SCRATCH => {}
            Limit::Rate { .. } if amount == Some(0) => {}
            Limit::Rate { .. } => demand.rates.push(resource.name.clone()),
            _ => demand.set_slots(&resource.name, amount),
        }
        Ok(())
    }

    fn check_kind(&self, resource: &ResourcePlan) -> Result<(), Fault> {
        let name = resource.name.as_str();
        let amount = self.written.amount.as_ref();
        let is_size = amount.and_then(|amount| is_size(self.text, &amount.span));
        let measured = [MEMORY, SCRATCH].contains(&name);
        match (&resource.limit, amount.map(|amount| amount.value)) {
            (_, Some(0)) => Ok(()),
            (Limit::Slots(_) | Limit::Adaptive { .. }, Some(_)) if is_size == Some(true) => {
                Err(self.wrong_amount("counts slots, found a size", &format!("write `{{ {name} = 2 }}`")))
            }
            (Limit::Rate { .. }, Some(_)) => Err(self.wrong_amount(
                "is a rate, of which each request takes one token",
                &format!("write `\"{name}\"`"),
            )),
            (Limit::Bytes(_), Some(_)) if name == SCRATCH => Err(self.wrong_amount(
                "is reserved by estimate and takes no amount",
                "remove the entry, or raise `scratch.bytes`",
            )),
            (Limit::Bytes(_), Some(_)) if is_size == Some(false) => Err(self.wrong_amount(
                "counts bytes, found a number without unit",
                &format!("write `{{ {name} = \"2 GiB\" }}`"),
            )),
            (Limit::Bytes(_), None) if !measured => Err(self.wrong_amount(
                "is not measured and needs an amount",
                &format!("write `{{ {name} = \"2 GiB\" }}`"),
            )),
            _ => Ok(()),
        }
    }

    fn wrong_amount(&self, why: &str, help: &str) -> Fault {
        let name = &self.written.resource;
        let span = self.written.amount.as_ref().map_or(&name.span, |amount| &amount.span);
        let message = format!("`{}` of `{}` {why}", name.as_str(), self.stage);
        Fault::error(codes::WRONG_AMOUNT, span.clone(), message).help(help)
    }

    fn above_capacity(&self, resource: &ResourcePlan, most: u64, place: Option<Span>) -> Fault {
        let name = &self.written.resource;
        let amount = self.written.amount.as_ref().map_or(1, |amount| amount.value);
        let span = self.written.amount.as_ref().map_or(&name.span, |amount| &amount.span);
        above_capacity(self.stage, resource, amount, most, (span, place))
    }
}

/// A fault for a demand that is never granted.
pub(super) fn above_capacity(
    who: &str,
    resource: &ResourcePlan,
    demand: u64,
    most: u64,
    (span, place): (&Span, Option<Span>),
) -> Fault {
    let name = resource.name.as_str();
    let (wanted, there) = (shown(demand, &resource.limit), shown(most, &resource.limit));
    let lowest = if matches!(resource.limit, Limit::Adaptive { .. }) { " at its lowest" } else { "" };
    let message = format!(
        "`{who}` takes `{wanted}` of `{name}`, which has `{there}`{lowest} ({}): it would wait forever",
        resource.derivation
    );
    let help = format!("lower the amount to at most `{there}`, or raise `{name}` to at least `{wanted}`");
    let fault = Fault::error(codes::DEMAND_ABOVE_CAPACITY, span.clone(), message).help(help);
    match place {
        Some(place) => fault.related(place, "declared here"),
        None => fault,
    }
}

/// Whether an amount is written as a text with a unit; `None` where a parameter stands for it.
fn is_size(text: &str, span: &Span) -> Option<bool> {
    let written = text.get(span.clone())?;
    (!written.contains("${")).then(|| written.starts_with(['"', '\'']))
}
