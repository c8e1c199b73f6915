//! Work that is held up by something that is no resource: a lock, a disk, a program that lets in one at a time.

use super::bound::Bounds;
use super::{Finding, Kind, MOSTLY, percent};
use crate::events::OutlineStage;
use crate::report::digest::Digest;
use crate::units::spoken_time;

/// The part of the held cores that neither computed nor waited for a processor.
const IDLE: f64 = 0.5;
/// The part of the time in which cores must be held, of those that there are.
const HELD: f64 = 0.5;

/// Cores are held and do not compute: their holders wait for each other, or for something else.
pub(super) fn behind_cores(digest: &Digest) -> Option<Finding> {
    let usage = &digest.usage;
    let cores = usage.resources.get("cores")?;
    let active = usage.cpu + usage.starved;
    let idle = 1.0 - active / cores.held.max(1e-9);
    if usage.share(cores.binding) < HELD || cores.limit < 2.0 || idle < IDLE {
        return None;
    }
    let stage = busiest(digest, |stage| !stage.per_request && takes(stage, "cores"))?;
    let figures = &digest.stages[&stage.name];
    Some(Finding {
        kind: Kind::Serialised,
        subject: stage.name.to_string(),
        says: format!(
            "something outside the limits holds `{}` up: its cores are held and do not compute",
            stage.name
        ),
        because: vec![
            format!(
                "`cores` was at its limit of {} with work waiting in {} of the time",
                cores.limit,
                percent(usage.share(cores.binding))
            ),
            format!(
                "of {} that cores were held, {} were computed and {} waited for a processor: {} were neither",
                spoken_time(cores.held),
                spoken_time(usage.cpu),
                spoken_time(usage.starved),
                percent(idle)
            ),
            format!(
                "`{}` worked on {} at once, for {} each (p50)",
                stage.name,
                figures.most_running,
                spoken_time(figures.work.quantile(0.5))
            ),
        ],
        advice: format!(
            "look for a lock, a slow disk or a service in `{}`; `isolation = \"process\"` parts what shares a lock within \
             a process, and a resource of its own with that many slots makes the wait visible",
            stage.name
        ),
        gain: None,
    })
}

/// No resource is at its limit, yet work waits.
pub(super) fn behind_nothing(digest: &Digest, bounds: &Bounds) -> Option<Finding> {
    let usage = &digest.usage;
    let is_any_pinned =
        usage.resources.values().any(|used| usage.share(used.binding.max(used.waited_for)) >= HELD);
    if is_any_pinned {
        return None;
    }
    let waits = |stage: &OutlineStage| {
        usage.queues.get(&stage.name).is_some_and(|queue| usage.share(queue.full) >= MOSTLY)
    };
    // The last one with a full queue: the queues before it are full because of it.
    let stage = digest.outline.stages.iter().rev().find(|stage| waits(stage))?;
    let figures = digest.stages.get(&stage.name)?;
    let queue = &usage.queues[&stage.name];
    let (gain, words) = bounds.gain(&[]);
    Some(Finding {
        kind: Kind::Serialised,
        subject: stage.name.to_string(),
        says: format!(
            "something outside the limits serialises `{}`: items wait for it and no resource is at its limit",
            stage.name
        ),
        because: vec![
            format!(
                "the queue into it ({} places) was full in {} of the time",
                queue.places,
                percent(usage.share(queue.full))
            ),
            format!(
                "it worked on {} at once, of {} that it may, for {} each (p50)",
                figures.most_running,
                stage.parallelism,
                spoken_time(figures.work.quantile(0.5))
            ),
            format!("the resources would let through {words}"),
        ],
        advice: format!(
            "give `{}` a resource of its own for what it waits for, so that the limit is seen and can be raised",
            stage.name
        ),
        gain,
    })
}

fn takes(stage: &OutlineStage, resource: &str) -> bool {
    stage.takes.iter().any(|(name, amount)| name.as_str() == resource && *amount > 0)
}

/// The stage of this kind in which most time is spent.
fn busiest(digest: &Digest, is_such: impl Fn(&OutlineStage) -> bool) -> Option<&OutlineStage> {
    let seconds =
        |stage: &OutlineStage| digest.stages.get(&stage.name).map_or(0.0, |figures| figures.work.sum());
    let such = digest.outline.stages.iter().filter(|stage| is_such(stage));
    such.max_by(|a, b| seconds(a).total_cmp(&seconds(b)))
}
