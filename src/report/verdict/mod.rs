//! What a run's figures say about why it was not faster.
//!
//! One resource at its limit while others idle is the bottleneck; every resource below its limit while queues are full
//! means that something outside the limits serialises; descriptors that climb with the items are a leak. Each finding
//! carries the figures that it is drawn from. The bounds are those of operational analysis: a resource that is held
//! `D` seconds an item lets through at most `limit ÷ D` items a second (Denning and Buzen, *The operational analysis of
//! queueing network models*, Computing Surveys 10, 1978).

mod bound;
mod leak;
mod memory;
mod pinned;
mod serialised;
mod starvation;
mod throttling;

use serde::Serialize;

use super::digest::Digest;
use bound::Bounds;

/// A share of the time from which on something is the rule and not the exception.
const MOSTLY: f64 = 0.6;
/// The fewest samples, and seconds under way, that say anything.
const FEWEST_SAMPLES: u64 = 4;
/// The fewest items, or windows of them, that say anything.
const FEWEST_ITEMS: u64 = 8;

/// What is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A resource is at its limit while others idle.
    Pinned,
    /// Work is held up by something that is no resource.
    Serialised,
    /// Open files climb with the items.
    DescriptorLeak,
    /// The source gives items more slowly than the stages could work on them.
    Starved,
    /// A service asks for less.
    Throttled,
    /// Items wait for memory while everything else idles.
    MemoryBound,
}

/// One thing that keeps a run from being faster, or safe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// The resource or stage that it concerns.
    pub subject: String,
    /// It, in a sentence.
    pub says: String,
    /// The figures that it is drawn from.
    pub because: Vec<String>,
    /// What to do about it.
    pub advice: String,
    /// What it would bring at most: the throughput then, as a multiple of what it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
}

/// What the figures say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether there was enough to judge.
    pub judged: bool,
    /// What is to be mended, the most telling first.
    pub findings: Vec<Finding>,
    /// The whole, in a sentence.
    pub says: String,
}

/// Judges a run.
pub(super) fn judge(digest: &Digest) -> Verdict {
    if digest.usage.samples < FEWEST_SAMPLES || digest.pieces() < FEWEST_ITEMS {
        let says = format!(
            "too little to judge: {} items in {} samples, expected at least {FEWEST_ITEMS} in {FEWEST_SAMPLES}",
            digest.pieces(),
            digest.usage.samples
        );
        return Verdict { judged: false, findings: Vec::new(), says };
    }
    let bounds = Bounds::of(digest);
    let mut findings: Vec<Finding> = limiting(digest, &bounds).into_iter().collect();
    findings.extend(leak::find(digest));
    let says = match findings.first() {
        Some(finding) => finding.says.clone(),
        None => healthy(digest, &bounds),
    };
    Verdict { judged: true, findings, says }
}

/// The one thing that limits: the later ones are consequences of the earlier.
fn limiting(digest: &Digest, bounds: &Bounds) -> Option<Finding> {
    throttling::find(digest)
        .or_else(|| starvation::find(digest, bounds))
        .or_else(|| serialised::behind_cores(digest))
        .or_else(|| pinned::find(digest, bounds))
        .or_else(|| memory::find(digest, bounds))
        .or_else(|| serialised::behind_nothing(digest, bounds))
}

/// What binds where nothing is wrong.
fn healthy(digest: &Digest, bounds: &Bounds) -> String {
    let (cores, _) = &digest.outline.cores_granted;
    let seconds = digest.usage.seconds;
    let busy = if seconds > 0.0 { digest.cpu() / seconds } else { 0.0 };
    let wanted = if seconds > 0.0 { (digest.usage.cpu + digest.usage.starved) / seconds } else { 0.0 };
    if busy > MOSTLY * *cores as f64 {
        return format!(
            "the machine's {cores} cores bind: {busy:.1} of them were busy on average; shard for more"
        );
    }
    if wanted > MOSTLY * *cores as f64 {
        return format!(
            "the machine's {cores} cores bind, and others use them too: {busy:.1} were busy for this run while it \
             wanted {wanted:.1}"
        );
    }
    match bounds.tightest() {
        Some(bound) => {
            format!("nothing is wrong: `{}` is used most, {:.0} %", bound.name, 100.0 * bound.used)
        }
        None => "nothing is wrong".to_owned(),
    }
}

/// `37 %`
fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
mod tests;
