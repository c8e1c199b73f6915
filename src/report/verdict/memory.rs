//! A memory budget that lets in fewer items than everything else could work on.

use super::bound::Bounds;
use super::{Finding, Kind, percent};
use crate::report::digest::Digest;
use crate::units::{ByteSize, spoken_time};

/// The part of the time in which memory alone was waited for.
const OFTEN: f64 = 0.4;

pub(super) fn find(digest: &Digest, bounds: &Bounds) -> Option<Finding> {
    let usage = &digest.usage;
    let alone = usage.share(usage.memory_alone);
    let admitted = digest.gate.admitted.count();
    if alone < OFTEN || admitted == 0 {
        return None;
    }
    let budget = digest.outline.resource("memory")?.limit as u64;
    let each = digest.gate.reserved / admitted;
    let (granted, source) = &digest.outline.memory_granted;
    let (gain, words) = bounds.gain(&[]);
    let advice = if budget < *granted / 2 {
        format!("raise `memory.bytes` (the machine grants {} [{source}])", ByteSize(*granted))
    } else {
        "cut the items with a `window` stage, so that each takes less; or use a machine with more memory"
            .to_owned()
    };
    Some(Finding {
        kind: Kind::MemoryBound,
        subject: "memory".into(),
        says: "items wait for `memory` while everything else has room: the budget is the bottleneck".into(),
        because: vec![
            format!(
                "in {} of the time items waited for memory and no count or rate was at its limit",
                percent(alone)
            ),
            format!("an item waited {} for it on average", spoken_time(digest.gate.memory.mean())),
            format!(
                "an item takes {} on average and {} at most, and the budget of {} holds {} of them",
                ByteSize(each),
                ByteSize(digest.gate.largest),
                ByteSize(budget),
                budget / each.max(1)
            ),
            format!("more memory would bring {words}"),
        ],
        advice,
        gain,
    })
}
