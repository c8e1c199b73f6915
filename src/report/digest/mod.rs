//! A run in figures: one fold over its events, in memory that does not grow with the run.

mod climb;
mod per_second;
mod sketch;
mod stage;
mod usage;

use std::collections::BTreeMap;

use crate::events::{Event, Outline, Record};
use crate::ids::{ResourceName, StageName};
use crate::report::causes::Causes;

pub(crate) use climb::Climbed;
pub(crate) use per_second::PerSecond;
pub(crate) use sketch::Sketch;
pub(crate) use stage::StageFigures;
pub(crate) use usage::{Fullest, ResourceUsage, Usage};

use stage::End;
use usage::Moment;

/// A run in figures.
#[derive(Debug, Default)]
pub struct Digest {
    pub(crate) identity: Identity,
    pub(crate) outline: Outline,
    pub(crate) span: Option<(f64, f64)>,
    pub(crate) items: ItemCounts,
    pub(crate) stages: BTreeMap<StageName, StageFigures>,
    pub(crate) gate: GateFigures,
    pub(crate) usage: Usage,
    pub(crate) causes: Causes,
    pub(crate) incidents: Incidents,
    /// Where adaptive limits stand.
    pub(crate) limits: BTreeMap<ResourceName, u64>,
    pub(crate) end: Option<RunEnd>,
    open_sources: u64,
    /// When the last source ended.
    pub(crate) sources_ended: Option<f64>,
}

/// Which run it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Identity {
    pub(crate) version: u32,
    pub(crate) program: String,
    pub(crate) pipeline: String,
    pub(crate) run: String,
}

/// Items by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct ItemCounts {
    pub(crate) listed: u64,
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    pub(crate) cancelled: u64,
}

impl ItemCounts {
    /// Items that were worked on to their end.
    pub(crate) fn ended(&self) -> u64 {
        self.done + self.failed
    }
}

/// Admission.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GateFigures {
    pub(crate) admitted: PerSecond,
    pub(crate) unit: f64,
    pub(crate) header: f64,
    pub(crate) memory: Sketch,
    pub(crate) reserved: u64,
    pub(crate) largest: u64,
}

/// What happened beside the plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Incidents {
    pub(crate) overdrafts: u64,
    pub(crate) overdrawn: u64,
    pub(crate) stalls: u64,
    /// What the last stall said.
    pub(crate) stalled: Vec<String>,
    pub(crate) stopping: Option<String>,
    /// What was odd about inputs, with the stage and the first item.
    pub(crate) warnings: Vec<String>,
}

/// What only the last event tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RunEnd {
    pub(crate) seconds: f64,
    pub(crate) exit: u8,
    pub(crate) peak_resident: u64,
    pub(crate) peak_reserved: u64,
    pub(crate) memory_budget: u64,
    pub(crate) cpu: f64,
}

impl Digest {
    /// Takes one event in.
    pub fn add(&mut self, record: &Record) {
        let at = record.ts;
        let (began, ended) = self.span.unwrap_or((at, at));
        self.span = Some((began.min(at), ended.max(at)));
        match &record.event {
            Event::RunStarted { version, program, pipeline, run, outline } => {
                let (program, pipeline, run) = (program.clone(), pipeline.clone(), run.clone());
                self.identity = Identity { version: *version, program, pipeline, run };
                self.begin(outline);
            }
            Event::ItemListed { stage, .. } => {
                self.items.listed += 1;
                self.stage(stage).outputs += 1;
            }
            Event::SourceEnded { .. } => self.source_ended(at),
            Event::ItemSkipped { .. } => self.items.skipped += 1,
            Event::ItemFinished { .. } => self.items.done += 1,
            Event::ItemFailed { item, stage, message, .. } => {
                self.items.failed += 1;
                self.causes.add(stage, item, message);
            }
            Event::Sample(sample) => {
                let moment = Moment { at, is_listing: self.open_sources > 0, ended: self.pieces() };
                self.usage.add(sample, &moment, &self.outline);
            }
            Event::LimitChanged { resource, to, .. } => drop(self.limits.insert(resource.clone(), *to)),
            Event::RunFinished { .. } => self.finish(&record.event),
            _ => {
                self.add_work(at, &record.event);
                self.add_incident(&record.event);
            }
        }
    }

    fn begin(&mut self, outline: &Outline) {
        self.outline = outline.clone();
        self.open_sources = outline.stages.iter().filter(|stage| stage.from.is_empty()).count() as u64;
        for stage in &outline.stages {
            self.stage(&stage.name);
        }
    }

    fn source_ended(&mut self, at: f64) {
        self.open_sources = self.open_sources.saturating_sub(1);
        if self.open_sources == 0 {
            self.sources_ended = Some(at);
        }
    }

    fn stage(&mut self, name: &StageName) -> &mut StageFigures {
        self.stages.entry(name.clone()).or_default()
    }

    fn add_work(&mut self, at: f64, event: &Event) {
        match event {
            Event::ItemAdmitted { unit, header, memory, reserved, .. } => {
                self.gate.admitted.add(at);
                self.gate.unit += unit;
                self.gate.header += header;
                self.gate.memory.add(*memory);
                self.gate.reserved += reserved;
                self.gate.largest = self.gate.largest.max(*reserved);
            }
            Event::StageStarted { stage, waited, .. } => self.stage(stage).start(at, waited),
            Event::StageFinished { stage, worked, bytes_in, bytes_out, outputs, .. } => {
                let (bytes_in, bytes_out, outputs) = (*bytes_in, *bytes_out, *outputs);
                self.stage(stage).end(*worked, &End::Finished { bytes_in, bytes_out, outputs });
            }
            Event::StageFailed { stage, worked, .. } => self.stage(stage).end(*worked, &End::Failed),
            Event::StageRetried { stage, worked, .. } => self.stage(stage).end(*worked, &End::Retried),
            Event::StageCancelled { stage, worked, .. } => self.stage(stage).end(*worked, &End::Cancelled),
            Event::Request { stage, status, waited, slept, took, bytes, .. } => {
                self.stage(stage).requests.add(at, *status, waited, (*slept, *took, *bytes));
            }
            _ => {}
        }
    }

    fn add_incident(&mut self, event: &Event) {
        let incidents = &mut self.incidents;
        match event {
            Event::Overdraft { bytes, .. } => {
                incidents.overdrafts += 1;
                incidents.overdrawn += bytes;
            }
            Event::Stalled { waiting, .. } => {
                incidents.stalls += 1;
                incidents.stalled.clone_from(waiting);
            }
            Event::Stopping { reason, .. } => incidents.stopping = Some(reason.clone()),
            Event::StageWarned { stage, item, message } => {
                incidents.warnings.push(format!("in `{stage}`: `{item}`: {message}"));
            }
            _ => {}
        }
    }

    fn finish(&mut self, event: &Event) {
        if let Event::RunFinished {
            seconds,
            done,
            failed,
            skipped,
            cancelled,
            exit,
            peak_resident,
            peak_reserved,
            memory_budget,
            cpu,
        } = event
        {
            let listed = self.items.listed;
            let (done, failed, skipped, cancelled) = (*done, *failed, *skipped, *cancelled);
            self.items = ItemCounts { listed, done, failed, skipped, cancelled };
            self.end = Some(RunEnd {
                seconds: *seconds,
                exit: *exit,
                peak_resident: *peak_resident,
                peak_reserved: *peak_reserved,
                memory_budget: *memory_budget,
                cpu: *cpu,
            });
        }
    }

    /// The moments of the first event and the last, in seconds since 1970; `None` without one.
    pub fn span(&self) -> Option<(f64, f64)> {
        self.span
    }

    /// Seconds from the first event to the last, or as the last one tells.
    pub(crate) fn seconds(&self) -> f64 {
        let span = self.span.map_or(0.0, |(began, ended)| ended - began);
        self.end.map_or(span, |end| end.seconds.max(span))
    }

    /// Pieces of work that came to their end: items, or where one item is cut into windows, these.
    pub(crate) fn pieces(&self) -> u64 {
        let most = self.stages.values().map(|figures| figures.finished).max();
        self.items.ended().max(most.unwrap_or(0))
    }

    /// Seconds of processor time.
    pub(crate) fn cpu(&self) -> f64 {
        self.end.map_or(0.0, |end| end.cpu).max(self.usage.cpu)
    }

    /// The most bytes of resident memory.
    pub(crate) fn peak_resident(&self) -> u64 {
        self.end.map_or(0, |end| end.peak_resident).max(self.usage.peak_resident)
    }

    /// Takes in a run that went on beside or after this one: shards of a job, or a job that was resumed. Counts and
    /// times are added, peaks are those of the one that had most, and the plan is that of the first.
    pub fn merge(&mut self, other: &Self) {
        if self.outline.stages.is_empty() {
            (self.outline, self.identity) = (other.outline.clone(), other.identity.clone());
        }
        self.span = match (self.span, other.span) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, another) => one.or(another),
        };
        let (mine, theirs) = (&mut self.items, &other.items);
        mine.listed += theirs.listed;
        mine.done += theirs.done;
        mine.failed += theirs.failed;
        mine.skipped += theirs.skipped;
        mine.cancelled += theirs.cancelled;
        for (name, figures) in &other.stages {
            self.stage(name).merge(figures);
        }
        self.gate.merge(&other.gate);
        self.usage.merge(&other.usage);
        self.causes.merge(&other.causes);
        self.incidents.overdrafts += other.incidents.overdrafts;
        self.incidents.overdrawn += other.incidents.overdrawn;
        self.incidents.stalls += other.incidents.stalls;
        self.incidents.warnings.extend(other.incidents.warnings.iter().cloned());
        self.limits.extend(other.limits.clone());
        self.end = match (self.end, other.end) {
            (Some(one), Some(another)) => Some(one.with(another)),
            (one, another) => one.or(another),
        };
    }
}

impl GateFigures {
    fn merge(&mut self, other: &Self) {
        self.admitted.merge(&other.admitted);
        self.unit += other.unit;
        self.header += other.header;
        self.memory.merge(&other.memory);
        self.reserved += other.reserved;
        self.largest = self.largest.max(other.largest);
    }
}

impl RunEnd {
    fn with(self, other: Self) -> Self {
        Self {
            // The span counts for runs that are merged.
            seconds: 0.0,
            exit: self.exit.max(other.exit),
            peak_resident: self.peak_resident.max(other.peak_resident),
            peak_reserved: self.peak_reserved.max(other.peak_reserved),
            memory_budget: self.memory_budget.max(other.memory_budget),
            cpu: self.cpu + other.cpu,
        }
    }
}

#[cfg(test)]
mod tests;
