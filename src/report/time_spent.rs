//! Where the time of all items went: work in each stage, and waiting for each thing.

use serde::Serialize;

use super::digest::Digest;

/// Less than this part of all time is left out.
const SMALLEST: f64 = 0.001;

/// One place where time went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Spent {
    /// In words: work in a stage, or waiting for what, before which stage.
    pub(super) what: String,
    /// Whether it was waited.
    pub(super) waiting: bool,
    /// Seconds of all items together.
    pub(super) seconds: f64,
    /// Its part of all, 0 to 1.
    pub(super) share: f64,
}

/// The places where time went, the largest first. Requests of one item may wait side by side, so that what is waited
/// for them can be more than the time that passed.
pub(super) fn time_spent(digest: &Digest) -> Vec<Spent> {
    let gate = &digest.gate;
    let mut spent = vec![
        waited("waiting to be admitted: its unit".into(), gate.unit),
        waited("reading headers".into(), gate.header),
        waited("waiting to be admitted: `memory`".into(), gate.memory.sum()),
    ];
    for (name, figures) in &digest.stages {
        spent.push(Spent { waiting: false, ..waited(format!("work in `{name}`"), figures.net_work()) });
        spent.push(waited(format!("in the queue into `{name}`"), figures.waits.queue));
        spent.push(waited(format!("for places after `{name}`"), figures.waits.places));
        spent.push(waited(
            format!("asleep before another try in `{name}`"),
            figures.waits.retry + figures.requests.slept,
        ));
        let resources = figures.waits.resources.iter().chain(&figures.requests.waited);
        spent.extend(resources.map(|(resource, it)| waited(format!("for `{resource}` in `{name}`"), *it)));
    }
    let all: f64 = spent.iter().map(|it| it.seconds).sum();
    spent.retain(|it| it.seconds > SMALLEST * all);
    for it in &mut spent {
        it.share = it.seconds / all;
    }
    spent.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    spent
}

fn waited(what: String, seconds: f64) -> Spent {
    Spent { what, waiting: true, seconds, share: 0.0 }
}
