//! How many items a second each resource would let through.

use crate::events::OutlineResource;
use crate::report::digest::Digest;

/// Processor time, which is no declared resource.
pub(super) const PROCESSORS: &str = "the machine's cores";

/// What every count, rate and the processors would let through.
pub(super) struct Bounds {
    /// Items a second as the run had them.
    pub(super) throughput: f64,
    all: Vec<Bound>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    pub(super) name: String,
    /// Items a second.
    pub(super) most: f64,
    /// How much of it was used: 0 to 1.
    pub(super) used: f64,
}

impl Bounds {
    /// Of counts that are held while something works on them, and rates. What an item holds all its way, and memory,
    /// are held the longer the more everything waits, so that they say nothing of a faster run.
    pub(super) fn of(digest: &Digest) -> Self {
        let (items, seconds) = (digest.pieces() as f64, digest.usage.seconds);
        let throughput = if seconds > 0.0 { items / seconds } else { 0.0 };
        let declared = digest.outline.resources.iter().filter(|it| is_bound(digest, it)).map(|resource| {
            let limit = limit(digest, resource);
            (resource.name.to_string(), busy(digest, resource), limit)
        });
        let (cores, _) = digest.outline.cores_granted;
        let processors = (PROCESSORS.to_owned(), digest.cpu(), cores as f64);
        let all = declared
            .chain([processors])
            .filter(|(_, busy, limit)| *busy > 0.0 && *limit > 0.0 && seconds > 0.0)
            .map(|(name, busy, limit)| Bound {
                name,
                most: limit * items / busy,
                used: busy / (limit * seconds),
            })
            .collect();
        Self { throughput, all }
    }

    /// The one that is used most.
    pub(super) fn tightest(&self) -> Option<&Bound> {
        self.all.iter().max_by(|a, b| a.used.total_cmp(&b.used))
    }

    /// The next one that would bind if these did not, and how many times as fast the run would be then at most.
    pub(super) fn without(&self, names: &[&str]) -> Option<(&Bound, f64)> {
        let others = self.all.iter().filter(|bound| !names.contains(&bound.name.as_str()));
        let next = others.min_by(|a, b| a.most.total_cmp(&b.most))?;
        Some((next, (next.most / self.throughput).max(1.0)))
    }

    /// The gain in words: what raising `names` brings at most and what binds then.
    pub(super) fn gain(&self, names: &[&str]) -> (Option<f64>, String) {
        match self.without(names) {
            Some((next, gain)) => {
                let words = format!(
                    "at most {gain:.1} times the throughput, {:.1} items/s; then `{}` binds",
                    next.most, next.name
                );
                (Some(gain), words)
            }
            None => (None, "nothing else is used that would bind next".to_owned()),
        }
    }
}

fn is_bound(digest: &Digest, resource: &OutlineResource) -> bool {
    resource.kind != "bytes" && !digest.outline.unit.contains(&resource.name)
}

/// The limit in force: of one that is found by measuring, where it stands.
pub(super) fn limit(digest: &Digest, resource: &OutlineResource) -> f64 {
    digest.limits.get(&resource.name).map_or(resource.limit, |limit| *limit as f64)
}

/// Amount × seconds in which work held it: each try where an item's work takes it, each request elsewhere; tokens of a
/// rate.
fn busy(digest: &Digest, resource: &OutlineResource) -> f64 {
    if resource.kind == "rate" {
        return digest.usage.resources.get(&resource.name).map_or(0.0, |usage| usage.held);
    }
    let stages = digest.outline.stages.iter();
    let held = stages.filter_map(|stage| {
        let (_, amount) = stage.takes.iter().find(|(name, _)| *name == resource.name)?;
        let figures = digest.stages.get(&stage.name)?;
        let seconds = if stage.per_request { figures.requests.took.sum() } else { figures.work.sum() };
        Some(seconds * *amount as f64)
    });
    held.sum()
}
