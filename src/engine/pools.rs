//! The plan's resources as they run.

use std::collections::BTreeMap;

use crate::engine::Services;
use crate::ids::ResourceName;
use crate::plan::{Limit, Plan, StagePlan};
use crate::resources::{Bytes, Rate, RateFamily, Requirement, Slots};

/// The limits that adaptive resources found, by name.
pub type RememberedLimits = BTreeMap<ResourceName, u64>;

/// Every resource of a run, by kind.
#[derive(Clone, Default)]
pub(crate) struct Pools {
    slots: Vec<Slots>,
    budgets: Vec<Bytes>,
    rates: Vec<Tokens>,
}

/// A rate, and whether its tokens are bytes.
#[derive(Clone)]
struct Tokens {
    bucket: Bucket,
    counts_bytes: bool,
}

#[derive(Clone)]
enum Bucket {
    One(Rate),
    PerHost(RateFamily),
}

/// What a sample tells of a rate.
pub(crate) struct RateReading {
    pub(crate) name: ResourceName,
    pub(crate) taken: u64,
    pub(crate) per_second: f64,
    pub(crate) waiting: u64,
}

impl Pools {
    /// Builds what the plan declares; adaptive limits begin where the last run left them.
    pub(crate) fn new(plan: &Plan, services: &Services) -> Self {
        let mut pools = Self::default();
        for resource in &plan.resources {
            let name = resource.name.clone();
            match resource.limit {
                Limit::Slots(count) => pools.slots.push(Slots::fixed(name, count)),
                Limit::Adaptive { from, to } => {
                    let start = services.memory.limit_of(&name).unwrap_or(from).clamp(from, to);
                    let slots = Slots::adaptive(name, from, to, start);
                    pools.slots.push(slots.telling(services.emitter.clone()));
                }
                Limit::Bytes(budget) => pools.budgets.push(Bytes::new(name, budget)),
                Limit::Rate { per_second, burst, counts_bytes, per_host } => {
                    let bucket = if per_host {
                        Bucket::PerHost(RateFamily::new(name, per_second, burst))
                    } else {
                        Bucket::One(Rate::new(name, per_second, burst))
                    };
                    pools.rates.push(Tokens { bucket, counts_bytes });
                }
            }
        }
        pools
    }

    /// The slots of this name.
    pub(crate) fn slots(&self, name: &str) -> Option<&Slots> {
        self.slots.iter().find(|slots| slots.name().as_str() == name)
    }

    /// The budget of this name.
    pub(crate) fn budget(&self, name: &str) -> Option<&Bytes> {
        self.budgets.iter().find(|budget| budget.name().as_str() == name)
    }

    /// All counts.
    pub(crate) fn all_slots(&self) -> &[Slots] {
        &self.slots
    }

    /// All budgets.
    pub(crate) fn all_budgets(&self) -> &[Bytes] {
        &self.budgets
    }

    /// All rates as they stand.
    pub(crate) fn read_rates(&self) -> impl Iterator<Item = RateReading> {
        self.rates.iter().map(|tokens| tokens.bucket.read())
    }

    /// What one piece of a stage's work takes at once, in canonical order.
    pub(crate) fn requirement(&self, stage: &StagePlan) -> Requirement {
        Requirement {
            slots: self.counts(&stage.slots),
            rates: self.shared_rates(stage, false),
            byte_rates: self.shared_rates(stage, true),
        }
    }

    /// The rates of a stage that have one bucket for each host.
    pub(crate) fn host_rates(&self, stage: &StagePlan, counts_bytes: bool) -> Vec<RateFamily> {
        self.rates_of(stage, counts_bytes)
            .filter_map(|bucket| match bucket {
                Bucket::PerHost(family) => Some(family.clone()),
                Bucket::One(_) => None,
            })
            .collect()
    }

    fn shared_rates(&self, stage: &StagePlan, counts_bytes: bool) -> Vec<Rate> {
        self.rates_of(stage, counts_bytes)
            .filter_map(|bucket| match bucket {
                Bucket::One(rate) => Some(rate.clone()),
                Bucket::PerHost(_) => None,
            })
            .collect()
    }

    fn rates_of<'a>(&'a self, stage: &'a StagePlan, counts_bytes: bool) -> impl Iterator<Item = &'a Bucket> {
        let of_name = move |name: &ResourceName| {
            self.rates
                .iter()
                .find(|tokens| tokens.bucket.name() == name && tokens.counts_bytes == counts_bytes)
        };
        stage.rates.iter().filter_map(of_name).map(|tokens| &tokens.bucket)
    }

    /// The unit: what an item holds from admission to its last byte.
    pub(crate) fn unit(&self, plan: &Plan) -> Requirement {
        Requirement { slots: self.counts(&plan.run.unit), ..Requirement::default() }
    }

    fn counts(&self, wanted: &[(ResourceName, u64)]) -> Vec<(Slots, u64)> {
        wanted
            .iter()
            .filter_map(|(name, amount)| Some((self.slots(name.as_str())?.clone(), *amount)))
            .collect()
    }
}

impl Bucket {
    fn name(&self) -> &ResourceName {
        match self {
            Bucket::One(rate) => rate.name(),
            Bucket::PerHost(family) => family.name(),
        }
    }

    fn read(&self) -> RateReading {
        let (taken, per_second, waiting) = match self {
            Bucket::One(rate) => (rate.taken(), rate.per_second(), rate.waiting()),
            Bucket::PerHost(family) => (family.taken(), family.per_second(), family.waiting()),
        };
        RateReading { name: self.name().clone(), taken, per_second, waiting }
    }
}
