//! What the samples of a run come to: how long each resource was at its limit, what was idle, what climbed.

use std::collections::BTreeMap;

use super::climb::Climb;
use crate::events::{Outline, OutlineResource, ResourceSample, Sample};
use crate::ids::{ResourceName, StageName};

/// A rate that is used to this part of its limit is at it: tokens come in whole pieces.
const RATE_AT_LIMIT: f64 = 0.9;

/// All samples, each counting for the time since the one before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    last: Option<f64>,
    /// Seconds that are covered.
    pub(crate) seconds: f64,
    pub(crate) samples: u64,
    pub(crate) resources: BTreeMap<ResourceName, ResourceUsage>,
    pub(crate) queues: BTreeMap<StageName, QueueUsage>,
    /// Seconds in which sources could give more, nothing waited in any queue and no resource was at its limit.
    pub(crate) unfed: f64,
    /// Seconds in which sources could give more.
    pub(crate) listing: f64,
    /// Seconds in which items waited for memory while every count and rate had room.
    pub(crate) memory_alone: f64,
    /// Seconds of processor time, and of waiting for a processor.
    pub(crate) cpu: f64,
    pub(crate) starved: f64,
    pub(crate) peak_descriptors: u64,
    pub(crate) peak_threads: u64,
    pub(crate) peak_resident: u64,
    /// Resident bytes of the first sample, before anything was worked on.
    pub(crate) resident_at_first: Option<u64>,
    /// Resident bytes and reserved bytes of the sample with the most items in flight, and those items.
    pub(crate) fullest: Fullest,
    pub(crate) programs: ProgramsUsage,
    pub(crate) descriptors: Climb,
}

/// One resource over a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResourceUsage {
    /// Amount × seconds held; of a rate, tokens.
    pub(crate) held: f64,
    pub(crate) peak: f64,
    /// Seconds at its limit, seconds somebody waited, seconds both at the limit and wanted by work that was there.
    pub(crate) at_limit: f64,
    pub(crate) waited_for: f64,
    pub(crate) binding: f64,
    pub(crate) limit: f64,
}

/// One queue over a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct QueueUsage {
    /// Items × seconds.
    pub(crate) depth: f64,
    pub(crate) filled: f64,
    pub(crate) full: f64,
    pub(crate) places: u64,
}

/// The moment with the most items in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Fullest {
    pub(crate) items: u64,
    pub(crate) resident: u64,
    pub(crate) reserved: u64,
}

/// Programs and workers over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ProgramsUsage {
    pub(crate) most: u64,
    pub(crate) peak: u64,
    pub(crate) largest: u64,
}

/// What else is known at the moment of a sample.
pub(super) struct Moment {
    pub(super) at: f64,
    pub(super) is_listing: bool,
    /// Pieces of work that have ended.
    pub(super) ended: u64,
}

impl Usage {
    pub(super) fn add(&mut self, sample: &Sample, moment: &Moment, outline: &Outline) {
        let seconds = self.last.map_or(0.0, |last| (moment.at - last).max(0.0));
        self.last = Some(moment.at);
        self.seconds += seconds;
        self.samples += 1;
        self.add_process(sample, seconds);
        self.descriptors.add(moment.ended, sample.descriptors);
        let look = Look { sample, outline, seconds };
        for resource in &sample.resources {
            let usage = self.resources.entry(resource.name.clone()).or_default();
            usage.add(resource, &look);
        }
        for queue in &sample.queues {
            let usage = self.queues.entry(queue.stage.clone()).or_default();
            usage.depth += queue.depth as f64 * seconds;
            usage.filled += if queue.depth > 0 { seconds } else { 0.0 };
            usage.full += if queue.depth >= queue.places { seconds } else { 0.0 };
            usage.places = queue.places;
        }
        let is_bound = look.is_any_count_binding();
        let waits_for_memory = look.waits_for_bytes();
        self.memory_alone += if waits_for_memory && !is_bound { seconds } else { 0.0 };
        if moment.is_listing {
            self.listing += seconds;
            let is_unfed = !is_bound && !waits_for_memory && sample.queues.iter().all(|it| it.depth == 0);
            self.unfed += if is_unfed { seconds } else { 0.0 };
        }
    }

    fn add_process(&mut self, sample: &Sample, seconds: f64) {
        self.cpu += sample.cpu * seconds;
        self.starved += sample.starved * seconds;
        self.peak_descriptors = self.peak_descriptors.max(sample.descriptors);
        self.peak_threads = self.peak_threads.max(sample.threads);
        self.peak_resident = self.peak_resident.max(sample.resident);
        self.resident_at_first.get_or_insert(sample.resident);
        let programs = &mut self.programs;
        programs.most = programs.most.max(sample.programs.running);
        programs.peak = programs.peak.max(sample.programs.resident);
        programs.largest = programs.largest.max(sample.programs.largest);
        if sample.items > 0 && sample.items >= self.fullest.items {
            let memory = sample.resources.iter().find(|resource| resource.name.as_str() == "memory");
            let reserved = memory.map_or(0.0, |memory| memory.used) as u64;
            self.fullest = Fullest { items: sample.items, resident: sample.resident, reserved };
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.samples += other.samples;
        self.unfed += other.unfed;
        self.listing += other.listing;
        self.memory_alone += other.memory_alone;
        self.cpu += other.cpu;
        self.starved += other.starved;
        self.peak_descriptors = self.peak_descriptors.max(other.peak_descriptors);
        self.peak_threads = self.peak_threads.max(other.peak_threads);
        self.peak_resident = self.peak_resident.max(other.peak_resident);
        for (name, usage) in &other.resources {
            self.resources.entry(name.clone()).or_default().merge(usage);
        }
        for (name, usage) in &other.queues {
            self.queues.entry(name.clone()).or_default().merge(usage);
        }
        if other.fullest.items > self.fullest.items {
            self.fullest = other.fullest;
            self.resident_at_first = other.resident_at_first;
        }
        let (mine, theirs) = (&mut self.programs, &other.programs);
        mine.most = mine.most.max(theirs.most);
        mine.peak = mine.peak.max(theirs.peak);
        mine.largest = mine.largest.max(theirs.largest);
    }

    /// This part of the time, 0 to 1.
    pub(crate) fn share(&self, seconds: f64) -> f64 {
        if self.seconds > 0.0 { seconds / self.seconds } else { 0.0 }
    }
}

impl ResourceUsage {
    fn add(&mut self, sample: &ResourceSample, look: &Look) {
        let kind = look.kind(&sample.name);
        let seconds = look.seconds;
        self.held += if kind == "rate" { sample.used } else { sample.used * seconds };
        self.peak = self.peak.max(if kind == "rate" { sample.used / seconds.max(1.0) } else { sample.used });
        self.limit = sample.limit;
        self.at_limit += if look.is_at_limit(sample) { seconds } else { 0.0 };
        self.waited_for += if sample.waiting > 0 { seconds } else { 0.0 };
        self.binding += if look.is_binding(sample) { seconds } else { 0.0 };
    }

    fn merge(&mut self, other: &Self) {
        self.held += other.held;
        self.peak = self.peak.max(other.peak);
        self.at_limit += other.at_limit;
        self.waited_for += other.waited_for;
        self.binding += other.binding;
        self.limit = other.limit;
    }
}

impl QueueUsage {
    fn merge(&mut self, other: &Self) {
        self.depth += other.depth;
        self.filled += other.filled;
        self.full += other.full;
        self.places = other.places;
    }
}

/// One sample, and what it is looked at with.
struct Look<'a> {
    sample: &'a Sample,
    outline: &'a Outline,
    seconds: f64,
}

impl Look<'_> {
    fn kind(&self, name: &ResourceName) -> &str {
        self.outline.resource(name.as_str()).map_or("slots", |resource: &OutlineResource| &resource.kind)
    }

    /// Whether no further piece of work fits.
    fn is_at_limit(&self, resource: &ResourceSample) -> bool {
        match self.kind(&resource.name) {
            "rate" => self.seconds > 0.0 && resource.used >= RATE_AT_LIMIT * resource.limit * self.seconds,
            "bytes" => resource.waiting > 0,
            _ => resource.used + self.smallest_take(&resource.name) > resource.limit,
        }
    }

    /// At its limit, and work is there that could use more of it.
    fn is_binding(&self, resource: &ResourceSample) -> bool {
        self.is_at_limit(resource) && (resource.waiting > 0 || self.has_work_for(&resource.name))
    }

    fn smallest_take(&self, name: &ResourceName) -> f64 {
        let takes = self.outline.stages.iter().flat_map(|stage| &stage.takes);
        let amounts = takes.filter(|(taken, amount)| taken == name && *amount > 0).map(|(_, amount)| *amount);
        amounts.min().unwrap_or(1) as f64
    }

    /// Whether an item waits in front of a stage that takes it. Items that come straight from the gate wait in its
    /// queue too.
    fn has_work_for(&self, name: &ResourceName) -> bool {
        let takers =
            self.outline.stages.iter().filter(|stage| stage.takes.iter().any(|(taken, _)| taken == name));
        let queued = |stage: &str| {
            self.sample.queues.iter().any(|queue| queue.stage.as_str() == stage && queue.depth > 0)
        };
        takers.into_iter().any(|stage| queued(stage.name.as_str()))
    }

    fn is_any_count_binding(&self) -> bool {
        self.sample.resources.iter().any(|it| self.kind(&it.name) != "bytes" && self.is_binding(it))
    }

    fn waits_for_bytes(&self) -> bool {
        self.sample.resources.iter().any(|it| it.name.as_str() == "memory" && it.waiting > 0)
    }
}
