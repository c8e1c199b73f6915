//! The report: everything that is told of a run, as one value that is rendered as text, JSON or a page.

use std::collections::BTreeMap;

use serde::Serialize;

use super::calibration::{Calibration, calibrate};
use super::digest::{Digest, ItemCounts, PerSecond, StageFigures};
use super::retry;
use super::time_spent::{Spent, time_spent};
use super::verdict::{Verdict, judge};
use super::words::clean;
use crate::events::{OutlineResource, OutlineStage};
use crate::ids::{ResourceName, StageName};

/// Everything that is told of a run, or of several that are taken together. Times are in seconds, sizes in bytes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Report {
    pub(super) runs: Vec<RunReport>,
    pub(super) seconds: f64,
    pub(super) items: ItemCounts,
    pub(super) items_per_second: f64,
    pub(super) verdict: Verdict,
    pub(super) stages: Vec<StageReport>,
    pub(super) time: Vec<Spent>,
    pub(super) resources: Vec<ResourceReport>,
    pub(super) queues: Vec<QueueReport>,
    pub(super) process: ProcessReport,
    pub(super) incidents: IncidentReport,
    pub(super) failures: Vec<FailureReport>,
    pub(super) calibration: Vec<Calibration>,
}

/// One of the runs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct RunReport {
    pub(super) pipeline: String,
    pub(super) run: String,
    pub(super) program: String,
    /// Whether the record has its end.
    pub(super) ended: bool,
    pub(super) exit: Option<u8>,
    pub(super) stopped: Option<String>,
    pub(super) verdict: Option<Verdict>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct StageReport {
    pub(super) name: String,
    pub(super) op: String,
    pub(super) started: u64,
    pub(super) finished: u64,
    pub(super) failed: u64,
    pub(super) retried: u64,
    pub(super) cancelled: u64,
    pub(super) outputs: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) most_at_once: u64,
    pub(super) parallelism: u64,
    pub(super) per_second: f64,
    pub(super) starts_per_second: Rates,
    /// Seconds before a try: in the queue, for places and resources, asleep.
    pub(super) wait: Quantiles,
    /// Seconds of a try.
    pub(super) work: Quantiles,
    pub(super) requests: Option<RequestReport>,
}

#[derive(Debug, Serialize)]
pub(super) struct Rates {
    pub(super) mean: f64,
    pub(super) most: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Quantiles {
    pub(super) p50: f64,
    pub(super) p95: f64,
    pub(super) sum: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct RequestReport {
    pub(super) made: u64,
    pub(super) statuses: BTreeMap<u16, u64>,
    pub(super) per_second: Rates,
    pub(super) took: Quantiles,
    pub(super) waited: BTreeMap<ResourceName, f64>,
    pub(super) slept: f64,
    pub(super) bytes: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ResourceReport {
    pub(super) name: ResourceName,
    pub(super) kind: String,
    pub(super) limit: f64,
    pub(super) derivation: String,
    /// On average and at most; of a rate, a second.
    pub(super) used: f64,
    pub(super) peak: f64,
    /// Parts of the time, 0 to 1.
    pub(super) at_limit: f64,
    pub(super) waited_for: f64,
}

/// The queue into a stage.
#[derive(Debug, Serialize)]
pub(super) struct QueueReport {
    pub(super) stage: StageName,
    pub(super) places: u64,
    /// Items in it on average.
    pub(super) depth: f64,
    /// Parts of the time in which it was not empty, and full: 0 to 1.
    pub(super) filled: f64,
    pub(super) full: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ProcessReport {
    pub(super) cores_granted: u64,
    pub(super) cpu_seconds: f64,
    /// Seconds in which threads waited for a processor.
    pub(super) starved_seconds: f64,
    pub(super) memory_granted: u64,
    pub(super) peak_resident: u64,
    pub(super) memory_budget: u64,
    pub(super) peak_reserved: u64,
    pub(super) descriptors_granted: u64,
    pub(super) peak_descriptors: u64,
    pub(super) peak_threads: u64,
    /// Programs and workers at once, and bytes of their resident memory together, at most.
    pub(super) most_programs: u64,
    pub(super) peak_programs_resident: u64,
    pub(super) samples: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct IncidentReport {
    pub(super) overdrafts: u64,
    pub(super) overdrawn_bytes: u64,
    pub(super) stalls: u64,
    /// What the last stall said.
    pub(super) stalled: Vec<String>,
    /// What was odd about inputs, with the stage and the first item.
    pub(super) warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct FailureReport {
    pub(super) count: u64,
    pub(super) stage: String,
    pub(super) item: String,
    pub(super) message: String,
    /// The command that tries this one again.
    pub(super) retry: String,
}

impl Report {
    /// Of one run, or of several together: shards of a job, or a job that was resumed. Each has a verdict of its own then,
    /// beside that of their sums.
    pub fn of(digests: &[Digest]) -> Self {
        let mut all = Digest::default();
        for digest in digests {
            all.merge(digest);
        }
        let digest = if let [only] = digests { only } else { &all };
        let seconds = digest.seconds();
        Self {
            runs: digests.iter().map(|it| RunReport::of(it, digests.len() > 1)).collect(),
            seconds,
            items: digest.items,
            items_per_second: per(digest.items.ended() as f64, seconds),
            verdict: judge(digest),
            stages: digest.outline.stages.iter().map(|stage| StageReport::of(digest, stage)).collect(),
            time: time_spent(digest),
            resources: digest.outline.resources.iter().map(|it| ResourceReport::of(digest, it)).collect(),
            queues: queues(digest),
            process: ProcessReport::of(digest),
            incidents: IncidentReport {
                overdrafts: digest.incidents.overdrafts,
                overdrawn_bytes: digest.incidents.overdrawn,
                stalls: digest.incidents.stalls,
                stalled: digest.incidents.stalled.clone(),
                warnings: digest.incidents.warnings.clone(),
            },
            failures: failures(digest),
            calibration: calibrate(digest),
        }
    }

    /// What the figures say.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }
}

impl RunReport {
    fn of(digest: &Digest, is_one_of_many: bool) -> Self {
        Self {
            pipeline: digest.identity.pipeline.clone(),
            run: digest.identity.run.clone(),
            program: digest.identity.program.clone(),
            ended: digest.end.is_some(),
            exit: digest.end.map(|end| end.exit),
            stopped: digest.incidents.stopping.clone(),
            verdict: is_one_of_many.then(|| judge(digest)),
        }
    }
}

impl StageReport {
    fn of(digest: &Digest, stage: &OutlineStage) -> Self {
        let nothing = StageFigures::default();
        let figures = digest.stages.get(&stage.name).unwrap_or(&nothing);
        let is_source = stage.from.is_empty();
        let given = if is_source { figures.outputs } else { figures.finished };
        Self {
            name: stage.name.to_string(),
            op: stage.op.clone(),
            started: figures.started.count(),
            finished: given,
            failed: figures.failed,
            retried: figures.retried,
            cancelled: figures.cancelled,
            outputs: figures.outputs,
            bytes_in: figures.bytes_in,
            bytes_out: figures.bytes_out,
            most_at_once: figures.most_running,
            parallelism: stage.parallelism,
            per_second: per(given as f64, digest.seconds()),
            starts_per_second: Rates::of(&figures.started),
            wait: Quantiles::of(&figures.wait),
            work: Quantiles::of(&figures.work),
            requests: RequestReport::of(figures),
        }
    }
}

impl Rates {
    fn of(counts: &PerSecond) -> Self {
        Self { mean: counts.mean(), most: counts.most() }
    }
}

impl Quantiles {
    fn of(times: &super::digest::Sketch) -> Self {
        Self { p50: times.quantile(0.5), p95: times.quantile(0.95), sum: times.sum() }
    }
}

impl RequestReport {
    fn of(figures: &StageFigures) -> Option<Self> {
        let requests = &figures.requests;
        (requests.made.count() > 0).then(|| Self {
            made: requests.made.count(),
            statuses: requests.statuses.clone(),
            per_second: Rates::of(&requests.made),
            took: Quantiles::of(&requests.took),
            waited: requests.waited.clone(),
            slept: requests.slept,
            bytes: requests.bytes,
        })
    }
}

impl ResourceReport {
    fn of(digest: &Digest, resource: &OutlineResource) -> Self {
        let usage = &digest.usage;
        let used = usage.resources.get(&resource.name).cloned().unwrap_or_default();
        Self {
            name: resource.name.clone(),
            kind: resource.kind.clone(),
            limit: digest.limits.get(&resource.name).map_or(resource.limit, |limit| *limit as f64),
            derivation: resource.derivation.clone(),
            used: per(used.held, usage.seconds),
            peak: used.peak,
            at_limit: usage.share(used.at_limit),
            waited_for: usage.share(used.waited_for),
        }
    }
}

impl ProcessReport {
    fn of(digest: &Digest) -> Self {
        let (outline, usage) = (&digest.outline, &digest.usage);
        let memory = outline.resource("memory").map_or(0.0, |memory| memory.limit) as u64;
        Self {
            cores_granted: outline.cores_granted.0,
            cpu_seconds: digest.cpu(),
            starved_seconds: usage.starved,
            memory_granted: outline.memory_granted.0,
            peak_resident: digest.peak_resident(),
            memory_budget: digest.end.map_or(memory, |end| end.memory_budget),
            peak_reserved: digest.end.map_or(0, |end| end.peak_reserved),
            descriptors_granted: outline.descriptors_granted.0,
            peak_descriptors: usage.peak_descriptors,
            peak_threads: usage.peak_threads,
            most_programs: usage.programs.most,
            peak_programs_resident: usage.programs.peak,
            samples: usage.samples,
        }
    }
}

fn queues(digest: &Digest) -> Vec<QueueReport> {
    let usage = &digest.usage;
    let queues = usage.queues.iter().map(|(stage, queue)| QueueReport {
        stage: stage.clone(),
        places: queue.places,
        depth: per(queue.depth, usage.seconds),
        filled: usage.share(queue.filled),
        full: usage.share(queue.full),
    });
    queues.collect()
}

fn failures(digest: &Digest) -> Vec<FailureReport> {
    let pipeline = &digest.identity.pipeline;
    let causes = digest.causes.sorted().into_iter().map(|cause| FailureReport {
        count: cause.count,
        stage: cause.stage.to_string(),
        item: clean(cause.item.as_str()),
        message: clean(&cause.message),
        retry: retry::one(pipeline, cause.item.as_str()),
    });
    causes.collect()
}

/// So much a second.
fn per(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}
