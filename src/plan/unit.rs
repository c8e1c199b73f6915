//! The unit: what each item holds from admission to its last byte.

use super::defaults::{self, DESCRIPTORS};
use super::demand::{Demand, above_capacity};
use super::resources::Resources;
use super::stages::Draft;
use super::{Limit, codes};
use crate::config::{AsWritten, Fault, Span, Spanned, Use};
use crate::ids::ResourceName;

/// Slots that an item holds all the way, and where the pipeline says so.
pub(super) struct Unit {
    /// In canonical order.
    pub(super) slots: Vec<(ResourceName, u64)>,
    /// Every name of `[run] uses`, faulty ones included.
    names: Vec<(ResourceName, Option<Span>)>,
}

impl Unit {
    /// `[run] uses`, else one of `descriptors`.
    pub(super) fn of(written: &AsWritten, resources: &Resources, faults: &mut Vec<Fault>) -> Self {
        let Some(uses) = &written.run.uses else {
            let descriptors = ResourceName::from(DESCRIPTORS);
            return Self { slots: vec![(descriptors.clone(), 1)], names: vec![(descriptors, None)] };
        };
        let names =
            uses.iter().map(|entry| (entry.resource.value.clone(), Some(entry.resource.span.clone())));
        let mut unit = Self { slots: Vec::new(), names: names.collect() };
        for entry in uses {
            match unit.slots_of(entry, resources) {
                Ok(slots) => unit.slots.extend(slots),
                Err(fault) => faults.push(fault),
            }
        }
        unit.slots.sort_by_key(|(name, _)| resources.position(name.as_str()));
        unit
    }

    fn slots_of(&self, entry: &Use, resources: &Resources) -> Result<Option<(ResourceName, u64)>, Fault> {
        let name = &entry.resource;
        let resource =
            resources.get(name.as_str()).ok_or_else(|| resources.unknown(name.as_str(), &name.span))?;
        let amount = entry.amount.as_ref().map_or(1, |amount| amount.value);
        let span = entry.amount.as_ref().map_or(&name.span, |amount| &amount.span);
        if self.slots.iter().any(|(other, _)| *other == name.value) {
            let message = format!("`[run] uses` names `{}` twice", name.as_str());
            return Err(Fault::error(codes::DUPLICATE_USE, name.span.clone(), message));
        }
        let most = match resource.limit {
            Limit::Slots(most) | Limit::Adaptive { from: most, .. } => most,
            Limit::Bytes(_) | Limit::Rate { .. } => return Err(not_slots(name, resource.limit.kind())),
        };
        if amount > most {
            let places = (span, resources.place(name.as_str()));
            return Err(above_capacity("every item", resource, amount, most, places));
        }
        Ok((amount > 0).then(|| (name.value.clone(), amount)))
    }

    /// A fault for a stage whose `uses` names what its items hold already.
    pub(super) fn used_again(&self, name: &Spanned<ResourceName>, stage: &str) -> Option<Fault> {
        let (_, place) = self.names.iter().find(|(held, _)| *held == name.value)?;
        let message = format!(
            "`{stage}` uses `{}`, which every item holds from admission to its last byte",
            name.as_str()
        );
        let fault = Fault::error(codes::UNIT_IN_STAGE, name.span.clone(), message);
        let fault = fault.help("remove it from the stage, or from `[run] uses`");
        Some(match place {
            Some(place) => fault.related(place.clone(), "held all the way"),
            None => fault.help("remove it from the stage, or write `[run] uses = []`"),
        })
    }

    /// A fault for an op that by itself takes what its items hold already.
    pub(super) fn taken_again(&self, stage: &Draft, demand: &Demand) -> Option<Fault> {
        let is_taken = |name: &ResourceName| demand.slots.iter().any(|(taken, _)| taken == name);
        let is_default = |name: &ResourceName| defaults::kind(name.as_str()).is_some();
        let (name, place) = self.names.iter().find(|(name, _)| is_default(name) && is_taken(name))?;
        let (op, name) = (stage.written.op.as_str(), name.as_str());
        let message = format!(
            "every item holds `{name}` all the way, and `{op}` of `{}` takes it by itself",
            stage.name()
        );
        let fault = Fault::error(codes::UNIT_IN_STAGE, place.clone()?, message);
        let fault = fault.related(stage.written.op.span.clone(), format!("takes `{name}`"));
        Some(fault.help("remove it from `[run] uses`, or declare slots of another name for the unit"))
    }
}

fn not_slots(name: &Spanned<ResourceName>, kind: &str) -> Fault {
    let message = format!("`[run] uses` takes slots, and `{}` is a resource of `{kind}`", name.as_str());
    let fault = Fault::error(codes::WRONG_AMOUNT, name.span.clone(), message);
    fault.help("`memory` and `scratch` are reserved for each item anyway; a rate belongs in a stage's `uses`")
}
