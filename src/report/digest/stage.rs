//! What became of the items of one stage, and of its requests.

use std::collections::BTreeMap;

use super::per_second::PerSecond;
use super::sketch::Sketch;
use crate::events::Waits;
use crate::ids::ResourceName;

/// One stage's part of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StageFigures {
    /// Tries that began.
    pub(crate) started: PerSecond,
    pub(crate) finished: u64,
    pub(crate) failed: u64,
    pub(crate) retried: u64,
    pub(crate) cancelled: u64,
    /// Items that it sent on; of a source, that it listed.
    pub(crate) outputs: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    /// Items that are in it now, and the most at once.
    pub(crate) running: u64,
    pub(crate) most_running: u64,
    /// Seconds of work of each try, and of waiting before it.
    pub(crate) work: Sketch,
    pub(crate) wait: Sketch,
    /// The parts of all waits, in seconds.
    pub(crate) waits: Waits,
    pub(crate) requests: RequestFigures,
}

/// The requests of one stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RequestFigures {
    pub(crate) made: PerSecond,
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) took: Sketch,
    /// Seconds of all, by resource.
    pub(crate) waited: BTreeMap<ResourceName, f64>,
    pub(crate) slept: f64,
    pub(crate) bytes: u64,
}

/// How a try ended.
pub(super) enum End {
    Finished { bytes_in: u64, bytes_out: u64, outputs: u64 },
    Failed,
    Retried,
    Cancelled,
}

impl StageFigures {
    pub(super) fn start(&mut self, at: f64, waited: &Waits) {
        self.started.add(at);
        self.running += 1;
        self.most_running = self.most_running.max(self.running);
        self.wait.add(waited.total());
        add_waits(&mut self.waits, waited);
    }

    pub(super) fn end(&mut self, worked: f64, end: &End) {
        self.running = self.running.saturating_sub(1);
        self.work.add(worked);
        match end {
            End::Finished { bytes_in, bytes_out, outputs } => {
                self.finished += 1;
                self.bytes_in += bytes_in;
                self.bytes_out += bytes_out;
                self.outputs += outputs;
            }
            End::Failed => self.failed += 1,
            End::Retried => self.retried += 1,
            End::Cancelled => self.cancelled += 1,
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.started.merge(&other.started);
        self.finished += other.finished;
        self.failed += other.failed;
        self.retried += other.retried;
        self.cancelled += other.cancelled;
        self.outputs += other.outputs;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.most_running = self.most_running.max(other.most_running);
        self.work.merge(&other.work);
        self.wait.merge(&other.wait);
        add_waits(&mut self.waits, &other.waits);
        self.requests.merge(&other.requests);
    }

    /// Seconds in the stage that are neither waiting for what its requests take nor asleep.
    pub(crate) fn net_work(&self) -> f64 {
        let aside: f64 = self.requests.waited.values().sum::<f64>() + self.requests.slept;
        (self.work.sum() - aside).max(0.0)
    }
}

impl RequestFigures {
    pub(super) fn add(
        &mut self,
        at: f64,
        status: u16,
        waited: &BTreeMap<ResourceName, f64>,
        (slept, took, bytes): (f64, f64, u64),
    ) {
        self.made.add(at - took);
        *self.statuses.entry(status).or_default() += 1;
        self.took.add(took);
        self.slept += slept;
        self.bytes += bytes;
        add_each(&mut self.waited, waited);
    }

    fn merge(&mut self, other: &Self) {
        self.made.merge(&other.made);
        self.took.merge(&other.took);
        self.slept += other.slept;
        self.bytes += other.bytes;
        add_each(&mut self.waited, &other.waited);
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
    }

    /// Answers by which the service said that it is asked too much (RFC 6585 section 4, RFC 9110 section 15.6.4).
    pub(crate) fn throttled(&self) -> u64 {
        [429, 503].iter().filter_map(|status| self.statuses.get(status)).sum()
    }
}

fn add_waits(all: &mut Waits, more: &Waits) {
    all.queue += more.queue;
    all.places += more.places;
    all.retry += more.retry;
    add_each(&mut all.resources, &more.resources);
}

fn add_each(all: &mut BTreeMap<ResourceName, f64>, more: &BTreeMap<ResourceName, f64>) {
    for (name, seconds) in more {
        *all.entry(name.clone()).or_default() += seconds;
    }
}
