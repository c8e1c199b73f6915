//! A resource at its limit while others idle.

use super::bound::{Bounds, PROCESSORS, limit};
use super::{Finding, Kind, MOSTLY, percent};
use crate::events::OutlineResource;
use crate::report::digest::{Digest, ResourceUsage};

/// What raising it must bring at least: below that others are as near to their limits, and the plan is balanced.
const WORTHWHILE: f64 = 1.25;
/// The resource that shares out the machine's cores.
const CORES: &str = "cores";

pub(super) fn find(digest: &Digest, bounds: &Bounds) -> Option<Finding> {
    let usage = &digest.usage;
    let candidates = digest.outline.resources.iter().filter_map(|resource| {
        let used = usage.resources.get(&resource.name)?;
        let share = usage.share(used.binding);
        (resource.kind != "bytes" && share >= MOSTLY && !is_still_found(digest, resource))
            .then_some((resource, used))
    });
    let (resource, used) = candidates.max_by(|a, b| a.1.binding.total_cmp(&b.1.binding))?;
    let names: &[&str] =
        if resource.name.as_str() == CORES { &[CORES, PROCESSORS] } else { &[resource.name.as_str()] };
    let (gain, words) = gain(digest, bounds, resource, names);
    if gain.is_some_and(|gain| gain < WORTHWHILE) {
        return None;
    }
    Some(Finding {
        kind: Kind::Pinned,
        subject: resource.name.to_string(),
        says: format!("`{}` is the bottleneck: it is at its limit while others idle", resource.name),
        because: because(digest, resource, used, &words),
        advice: advice(digest, resource),
        gain,
    })
}

/// A limit that is found by measuring and stands below its highest is where the service wants it.
fn is_still_found(digest: &Digest, resource: &OutlineResource) -> bool {
    digest.limits.get(&resource.name).is_some_and(|limit| (*limit as f64) < resource.limit)
}

/// Cores cannot be raised above what the machine grants.
fn gain(
    digest: &Digest,
    bounds: &Bounds,
    resource: &OutlineResource,
    names: &[&str],
) -> (Option<f64>, String) {
    if resource.name.as_str() != CORES {
        return bounds.gain(names);
    }
    let granted = digest.outline.cores_granted.0 as f64;
    let by_machine = (granted / limit(digest, resource)).max(1.0);
    match bounds.without(names) {
        Some((_, gain)) if gain < by_machine => bounds.gain(names),
        _ => {
            let words =
                format!("at most {by_machine:.1} times the throughput, with the {granted} cores granted");
            (Some(by_machine), words)
        }
    }
}

fn because(digest: &Digest, resource: &OutlineResource, used: &ResourceUsage, gain: &str) -> Vec<String> {
    let usage = &digest.usage;
    let shown = crate::report::words::limit(resource, limit(digest, resource));
    let mut because = vec![format!(
        "it was at its limit of {shown} with work waiting in {} of the time",
        percent(usage.share(used.binding))
    )];
    let idle: Vec<String> = digest
        .outline
        .resources
        .iter()
        .filter(|other| {
            other.name != resource.name && other.kind == "slots" && !digest.outline.unit.contains(&other.name)
        })
        .filter_map(|other| {
            let mean = usage.resources.get(&other.name)?.held / usage.seconds.max(1e-9);
            let share = mean / limit(digest, other);
            (share < 0.5).then(|| format!("`{}` {}", other.name, percent(share)))
        })
        .collect();
    if !idle.is_empty() {
        because.push(format!("meanwhile others were used little: {}", idle.join(", ")));
    }
    because.push(format!("raising it would bring {gain}"));
    because
}

fn advice(digest: &Digest, resource: &OutlineResource) -> String {
    let name = &resource.name;
    let limit = limit(digest, resource);
    if digest.outline.unit.contains(name) {
        return format!("raise `{name}` (and the limit of open files with `ulimit -n`), or shard the run");
    }
    match resource.kind.as_str() {
        "rate" => {
            format!("raise `{name}.rate` if the service allows it, or shard over several keys or hosts")
        }
        _ if name.as_str() == CORES => "write `cores.slots = \"cores\"`, or shard the run".to_owned(),
        _ => format!(
            "raise it, for instance `{name}.slots = {}`, or find its bound: `gisrun sweep {} --resource {name} --values {}..{}`",
            (limit * 2.0) as u64,
            crate::report::words::quoted(&digest.identity.pipeline),
            limit as u64,
            (limit * 16.0) as u64
        ),
    }
}
