//! What the record of a run shows of its limits.

use gisrun::events::Event;

use crate::job::Job;
use crate::record::Run;
use crate::served::{names, pipeline, serve, urls};

const STAGES: [&str; 5] = ["fetched", "bands", "ndvi", "encoded", "written"];

#[test]
fn three_connections_two_cores_and_queues_of_four_are_kept() {
    let run = run_with("connections.slots = 3\ncores.slots = 2", 4, 3);
    assert_eq!(run.most_at_once("fetched"), 3);
    for stage in ["bands", "ndvi", "encoded"] {
        assert!(run.most_at_once(stage) <= 2, "{stage}");
    }
    assert!(on_cores_at_once(&run) <= 2, "the two cores are shared by all stages that compute");
    assert_bounds(&run, 4);
}

#[test]
fn one_connection_and_queues_of_one_are_kept() {
    let run = run_with("connections.slots = 1\ncores.slots = 2", 1, 1);
    assert_eq!(run.most_at_once("fetched"), 1);
    assert_bounds(&run, 1);
}

/// Runs 24 scenes whose first answers wait until the source can run no further ahead.
fn run_with(resources: &str, queue: usize, connections: usize) -> Run {
    let names = names(24);
    let job = Job::new("");
    let server = serve(&job, &names);
    job.rewrite(&pipeline(&urls(&server, &names), resources, &format!("queue = {queue}")));

    server.hold();
    let run = job.start();
    server
        .wait_until("as many requests as connections", |traffic| (traffic.held == connections).then_some(()));
    server.release();
    assert_eq!(run.end(), Some(0));

    let most = server.wait_until("the end", |traffic| (traffic.open == 0).then_some(traffic.most_open));
    assert_eq!(most, connections, "the most requests that the server ever saw at once");
    assert_eq!(job.outputs().len(), names.len());
    let run = job.record();
    // The gate reads the headers of as many items as fetch at once, and one more waits before it.
    assert!(run.listed_before_the_first_answer() <= connections + 1);
    run
}

fn assert_bounds(run: &Run, queue: i64) {
    for pair in STAGES.windows(2) {
        let between = run.most_between(pair[0], pair[1]);
        assert!(between <= queue, "{between} items between `{}` and `{}`", pair[0], pair[1]);
    }
}

/// The most items at once in the stages that take a core each.
fn on_cores_at_once(run: &Run) -> i64 {
    let is_computing = |stage: &str| ["bands", "ndvi", "encoded"].contains(&stage);
    let changes = run.events().map(|event| match event {
        Event::StageStarted { stage, .. } if is_computing(stage.as_str()) => 1,
        Event::StageFinished { stage, .. } if is_computing(stage.as_str()) => -1,
        _ => 0,
    });
    let sums = changes.scan(0, |sum, change| {
        *sum += change;
        Some(*sum)
    });
    sums.max().unwrap_or(0)
}
