//! Every resource of a pipeline, declared and default, in canonical order.

use super::defaults::{self, CONNECTIONS, CORES, MEMORY, SCRATCH, WRITERS};
use super::sizes::{self, Basis, Figure};
use super::{Limit, ResourcePlan, codes};
use crate::config::{AsWritten, Fault, ResourceForm, Share, SizeForm, Span, suggestion};
use crate::ids::ResourceName;
use crate::machine::Granted;
use crate::units::{ByteSize, Percent};

/// The resources, and where the pipeline declares them.
pub(super) struct Resources<'a> {
    /// In canonical order.
    pub(super) plans: Vec<ResourcePlan>,
    written: &'a AsWritten,
}

impl<'a> Resources<'a> {
    /// Sizes all resources; those of the unit come first. A faulty declaration stays as a limit that refuses nothing,
    /// so that one fault does not cause others.
    pub(super) fn size(written: &'a AsWritten, basis: &Basis, faults: &mut Vec<Fault>) -> Self {
        let mut resources = Self { plans: Vec::new(), written };
        for (name, form) in &written.resources {
            let figure = resources.declared(name.as_str(), form, basis);
            let figure = figure.unwrap_or_else(|fault| {
                faults.push(fault);
                boundless(form)
            });
            resources.push(name.value.clone(), figure, true);
            faults.extend(wrong_kind(name.as_str(), &name.span, form));
        }
        for name in defaults::NAMES {
            if resources.get(name).is_none() {
                let figure = resources.default(name, basis);
                resources.push((*name).into(), figure, false);
            }
        }
        resources.check_cores(&basis.machine.cores, faults);
        resources.put_unit_first();
        resources
    }

    /// The resource of this name.
    pub(super) fn get(&self, name: &str) -> Option<&ResourcePlan> {
        self.plans.iter().find(|resource| resource.name.as_str() == name)
    }

    /// Its place in canonical order.
    pub(super) fn position(&self, name: &str) -> usize {
        self.plans.iter().position(|resource| resource.name.as_str() == name).unwrap_or(usize::MAX)
    }

    /// The most that can be held of it; 1 where it is not known.
    pub(super) fn capacity(&self, name: &str) -> u64 {
        self.get(name).and_then(|resource| resource.limit.capacity()).unwrap_or(1)
    }

    /// Where it is declared.
    pub(super) fn place(&self, name: &str) -> Option<Span> {
        let mut declared = self.written.resources.iter();
        declared.find(|(declared, _)| declared.as_str() == name).map(|(declared, _)| declared.span.clone())
    }

    /// What one piece of work takes of the memory that a count was derived from, in bytes.
    pub(super) fn working_set(&self, name: &str) -> Option<u64> {
        let mut declared = self.written.resources.iter();
        match declared.find(|(declared, _)| declared.as_str() == name) {
            Some((_, ResourceForm::Slots(form))) => match form.value {
                SizeForm::Memory { working_set, .. } => Some(working_set.0),
                _ => None,
            },
            _ => None,
        }
    }

    /// A fault for a name that is no resource.
    pub(super) fn unknown(&self, name: &str, span: &Span) -> Fault {
        let names = self.plans.iter().map(|resource| resource.name.as_str());
        Fault::error(codes::UNKNOWN_RESOURCE, span.clone(), format!("no resource is called `{name}`"))
            .help(suggestion(name, names))
    }

    fn push(&mut self, name: ResourceName, figure: Figure, is_declared: bool) {
        let Figure { limit, derivation } = figure;
        let working_set = self.working_set(name.as_str());
        self.plans.push(ResourcePlan { name, limit, derivation, is_declared, working_set });
    }

    fn declared(&self, name: &str, form: &ResourceForm, basis: &Basis) -> Result<Figure, Fault> {
        let whole = if name == SCRATCH { &basis.disk } else { &basis.machine.memory };
        let figure = sizes::of_form(name, form, basis, whole)?;
        let is_shared = self.written.cluster_scoped.iter().any(|shared| shared.as_str() == name);
        Ok(if is_shared && basis.machine.shards.value > 1 {
            figure.shared(&basis.machine.shards)
        } else {
            figure
        })
    }

    fn default(&self, name: &str, basis: &Basis) -> Figure {
        let cores = &basis.machine.cores;
        match name {
            CORES => Figure::slots(cores.value, sizes::with_source(cores.value, cores)),
            CONNECTIONS => fixed(defaults::CONNECTION_COUNT),
            WRITERS => fixed(defaults::WRITER_COUNT),
            MEMORY => of_share(defaults::MEMORY_SHARE, &basis.machine.memory),
            SCRATCH => of_share(defaults::SCRATCH_SHARE, &basis.disk),
            _ => self.default_descriptors(&basis.machine.descriptors),
        }
    }

    /// What the descriptor limit leaves after a fixed base, connections, and the handles of workers and writers,
    /// divided by what one item holds.
    fn default_descriptors(&self, granted: &Granted) -> Figure {
        let connections = self.capacity(CONNECTIONS);
        let handles = self
            .capacity(CORES)
            .saturating_mul(defaults::HANDLES_PER_CORE)
            .saturating_add(self.capacity(WRITERS));
        let taken = defaults::DESCRIPTOR_BASE.saturating_add(connections).saturating_add(handles);
        let count = granted.value.saturating_sub(taken) / defaults::DESCRIPTORS_PER_ITEM;
        let whole = sizes::with_source(granted.value, granted);
        let (base, each) = (defaults::DESCRIPTOR_BASE, defaults::DESCRIPTORS_PER_ITEM);
        let arithmetic = format!(
            "floor(({whole} − {base} base − {connections} connections − {handles} handles) ÷ {each})"
        );
        Figure::at_least_one(count, &arithmetic)
    }

    fn check_cores(&self, granted: &Granted, faults: &mut Vec<Fault>) {
        let (Some(span), cores) = (self.place(CORES), self.capacity(CORES)) else { return };
        if cores > granted.value && cores != u64::MAX {
            let of = sizes::with_source(granted.value, granted);
            let message = format!("`cores` shares out `{cores}` cores and the machine grants {of}");
            let help =
                "write `cores.slots = \"cores\"`, or plan for another machine with `--machine cores=…`";
            faults.push(Fault::warning(codes::CORES_ABOVE_MACHINE, span, message).help(help));
        }
    }

    fn put_unit_first(&mut self) {
        let unit = defaults::unit_names(self.written);
        self.plans.sort_by_key(|resource| {
            unit.iter().position(|name| *name == resource.name.as_str()).unwrap_or(unit.len())
        });
    }
}

/// A fault for a default resource that is declared as another kind.
fn wrong_kind(name: &str, span: &Span, form: &ResourceForm) -> Option<Fault> {
    let found = match form {
        ResourceForm::Slots(_) => "slots",
        ResourceForm::Bytes(_) => "bytes",
        ResourceForm::Rate { .. } => "rate",
    };
    let expected = defaults::kind(name).filter(|expected| *expected != found)?;
    let message = format!("`{name}` is a resource of `{expected}`, found `{found}`");
    let help = format!("write `{name}.{expected} = …`, or give the {found} a name of its own");
    Some(Fault::error(codes::WRONG_RESOURCE_KIND, span.clone(), message).help(help))
}

fn fixed(count: u64) -> Figure {
    Figure::slots(count, count.to_string())
}

fn of_share(share: f64, whole: &Granted) -> Figure {
    let (bytes, derivation) = sizes::budget(Share::Percent(Percent(share)), whole);
    Figure { limit: Limit::Bytes(bytes.max(1)), derivation }
}

fn boundless(form: &ResourceForm) -> Figure {
    let limit = match form {
        ResourceForm::Slots(_) => Limit::Slots(u64::MAX),
        ResourceForm::Bytes(_) => Limit::Bytes(u64::MAX),
        ResourceForm::Rate { .. } => {
            Limit::Rate { per_second: f64::MAX, burst: u64::MAX, counts_bytes: false, per_host: false }
        }
    };
    Figure { limit, derivation: String::new() }
}

/// How much an amount of a resource is, for people.
pub(super) fn shown(amount: u64, limit: &Limit) -> String {
    match limit {
        Limit::Bytes(_) => ByteSize(amount).to_string(),
        _ => amount.to_string(),
    }
}
