//! A service that asks for less.

use super::{Finding, Kind, percent};
use crate::report::digest::Digest;
use crate::units::{spoken_count, spoken_time};

/// The fewest answers of that kind, and the smallest part of all requests, that are a sign.
const FEWEST: u64 = 3;
const SHARE: f64 = 0.02;

pub(super) fn find(digest: &Digest) -> Option<Finding> {
    let figures = digest.stages.iter().map(|(name, figures)| (name, &figures.requests));
    let (stage, requests) = figures.max_by_key(|(_, requests)| requests.throttled())?;
    let (throttled, made) = (requests.throttled(), requests.made.count());
    if throttled < FEWEST || (throttled as f64) < SHARE * made as f64 {
        return None;
    }
    let statuses: Vec<String> = [429, 503]
        .iter()
        .filter_map(|status| {
            requests.statuses.get(status).map(|count| format!("{} × {status}", spoken_count(*count)))
        })
        .collect();
    let served = (made - throttled) as f64 / digest.usage.seconds.max(1e-9);
    Some(Finding {
        kind: Kind::Throttled,
        subject: stage.to_string(),
        says: format!("the service that `{stage}` asks throttles the run: raising limits makes it worse"),
        because: vec![
            format!(
                "{} of {} requests ({}) were answered so: {}",
                spoken_count(throttled),
                spoken_count(made),
                percent(throttled as f64 / made as f64),
                statuses.join(", ")
            ),
            format!("{} were slept before other tries", spoken_time(requests.slept)),
            format!("it served {served:.1} requests/s"),
        ],
        advice: format!(
            "ask it for less: declare `service.rate = \"{}/s\"` under `[resources]` and give `{stage}` `uses = \
             [\"service\"]`, or let `connections.slots = {{ adaptive = {{ from = 1, to = {} }} }}` find the bound",
            as_rate(served),
            connections(digest)
        ),
        gain: None,
    })
}

/// Whole requests a second, or tenths below ten.
fn as_rate(served: f64) -> String {
    if served < 10.0 { format!("{:.1}", served.max(0.1)) } else { format!("{served:.0}") }
}

fn connections(digest: &Digest) -> u64 {
    digest.outline.resource("connections").map_or(16, |resource| resource.limit as u64)
}
