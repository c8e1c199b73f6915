//! A source that gives items more slowly than the stages could work on them.

use super::bound::Bounds;
use super::{Finding, Kind, MOSTLY, percent};
use crate::report::digest::Digest;
use crate::units::spoken_time;

/// What the stages must be able to do at least, as a multiple of what the source gave.
const FASTER: f64 = 1.5;

pub(super) fn find(digest: &Digest, bounds: &Bounds) -> Option<Finding> {
    let usage = &digest.usage;
    let is_listing_mostly = usage.share(usage.listing) >= MOSTLY;
    if !is_listing_mostly || usage.unfed < MOSTLY * usage.listing {
        return None;
    }
    let (next, gain) = bounds.without(&[])?;
    if gain < FASTER {
        return None;
    }
    let sources = digest.outline.stages.iter().filter(|stage| stage.from.is_empty());
    // Of several sources, the one that gave least a second is the slow one.
    let source = sources.min_by_key(|stage| digest.stages.get(&stage.name).map_or(0, |it| it.outputs))?;
    let given = digest.items.listed as f64 / usage.listing.max(1e-9);
    Some(Finding {
        kind: Kind::Starved,
        subject: source.name.to_string(),
        says: format!("the stages starve: `{}` gives items more slowly than they could work on them", source.name),
        because: vec![
            format!("the source listed for {} of {}", spoken_time(usage.listing), spoken_time(usage.seconds)),
            format!(
                "in {} of that time every queue was empty and every resource had room",
                percent(usage.unfed / usage.listing)
            ),
            format!("it gave {given:.1} items/s, and `{}` alone would let {:.1} items/s through", next.name, next.most),
        ],
        advice: "list more at once (`page-size` of a `stac` source), narrow the search, or list once into a file and \
                 run from that"
            .into(),
        gain: Some(gain),
    })
}
