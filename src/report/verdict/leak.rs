//! Open files that are never closed.

use super::{Finding, Kind};
use crate::report::digest::{Climbed, Digest};

/// The fewest files that a climb has; a pool of connections or of tables of PROJ may grow by a few.
const FEWEST: u64 = 16;
/// The fewest files an item; what is opened once for all items is less.
const AN_ITEM: f64 = 0.2;

pub(super) fn find(digest: &Digest) -> Option<Finding> {
    let Climbed { from, to, items } = digest.usage.descriptors.climbed()?;
    let an_item = (to - from) as f64 / items as f64;
    if to - from < FEWEST || an_item < AN_ITEM {
        return None;
    }
    let mut because =
        vec![format!("{from} files were open at least early in the run and {to} late, {items} items later")];
    let (granted, source) = &digest.outline.descriptors_granted;
    if *granted > to {
        let left = (*granted - to) as f64 / an_item;
        because.push(format!(
            "the limit of {granted} [{source}] is reached after about {left:.0} further items"
        ));
    }
    Some(Finding {
        kind: Kind::DescriptorLeak,
        subject: "descriptors".into(),
        says: format!("open files climb by {an_item:.1} an item and never come back: something leaks descriptors"),
        because,
        advice: "find the stage whose code keeps files open (`isolation = \"process\"` ends what it leaks with its \
                 worker), or split the run before the limit is reached"
            .into(),
        gain: None,
    })
}
