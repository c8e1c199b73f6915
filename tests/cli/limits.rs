//! What the record of a run shows of its limits.

use gisrun::events::Event;

use crate::job::Job;
use crate::record::Run;
use crate::scene::Scene;
use crate::served::{names, pipeline, serve, serve_scenes, urls};

const LIMITS: &str = "connections.slots = 3\ncores.slots = 2";
const CORES: i64 = 2;
const COMPUTING: [&str; 3] = ["bands", "ndvi", "encoded"];

#[test]
fn three_connections_two_cores_and_queues_of_four_are_kept() {
    let run = run_with_queues_of(4, 3);
    assert_eq!(run.most_at_once("fetched"), 3);
    assert_within_limits(&run, 4);
}

/// A fetch holds the only place before the stage below while it works, so no other fetch can.
#[test]
fn queues_of_one_let_one_item_be_fetched_at_a_time() {
    let run = run_with_queues_of(1, 1);
    assert_eq!(run.most_at_once("fetched"), 1);
    assert_within_limits(&run, 1);
}

/// Runs 24 scenes; their bodies wait until `fetches` of them are asked for at once.
fn run_with_queues_of(queue: i64, fetches: usize) -> Run {
    let names = names(24);
    let job = Job::new("");
    // Too large to come whole with the header.
    let server = serve_scenes(&job, &names, &Scene::meadow_of(256));
    job.rewrite(&pipeline(&urls(&server, &names), LIMITS, &format!("queue = {queue}")));

    server.hold(|request| request.nth > 1);
    let run = job.start();
    server.wait_until("fetches at once", |traffic| (traffic.held == fetches).then_some(()));
    server.release();
    assert_eq!(run.end(), Some(0));

    let most = server.wait_until("the end", |traffic| (traffic.open == 0).then_some(traffic.most_open));
    assert!(most <= 3, "{most} requests at once");
    assert_eq!(job.outputs().len(), names.len());
    job.record()
}

fn assert_within_limits(run: &Run, queue: i64) {
    for stage in COMPUTING {
        assert!(run.most_at_once(stage) <= CORES, "{stage}");
    }
    for (before, after) in [("fetched", "bands"), ("bands", "ndvi"), ("ndvi", "encoded")] {
        // One that works holds a place for what it makes; of those that left the queue each waits for a core.
        let between = run.most_between(before, after);
        assert!(between <= queue + CORES, "{between} items between the start of `{before}` and of `{after}`");
    }
}

/// One item is read, and no other for an hour.
#[test]
fn a_stalled_stage_stops_the_source_at_an_exact_number_of_items() {
    const QUEUE: usize = 4;
    let names = names(40);
    let job = Job::new("");
    let server = serve(&job, &names);
    let limits = format!("{LIMITS}\nturns.rate = {{ limit = \"1/h\", burst = 1 }}");
    let text = pipeline(&urls(&server, &names), &limits, &format!("queue = {QUEUE}"));
    job.rewrite(&text.replace("[stages.bands]\n", "[stages.bands]\nuses = [\"turns\"]\n"));
    let read = 1;
    // As many as decode at once wait for their turn, and the queue before them is full.
    let fetched = read + CORES as usize + QUEUE;
    // The queue before the fetches is full, and one more has its memory and waits for a place there.
    let admitted = fetched + QUEUE + 1;
    // As many as fetch at once are in the gate, that one among them, and one waits before it.
    let listed = admitted + 2 + 1;

    let mut run = job.start_telling();
    let seen = run.events_until(|seen| {
        seen.count(is_listed) == listed
            && seen.count(is_admitted) == admitted
            && seen.finished_in("fetched") == fetched
    });
    run.interrupt_twice();
    let (code, rest) = run.end_telling();

    assert_eq!(code, Some(130));
    let run = seen.and(rest).until_stopping();
    assert_eq!((run.count(is_listed), run.count(is_admitted)), (listed, admitted));
    assert_eq!((run.finished_in("fetched"), run.finished_in("bands")), (fetched, read));
    assert_eq!(server.requests().len(), listed - 1, "a header for each item but the one before the gate");
}

/// The summary tells where a measured limit came to, and the next run begins there.
#[test]
fn an_adaptive_limit_is_told_and_remembered() {
    let names = names(40);
    let job = Job::new("");
    let server = serve(&job, &names);
    let adaptive = "connections.slots = { adaptive = { from = 2, to = 16 } }";
    job.rewrite(&pipeline(&urls(&server, &names), adaptive, ""));

    let first = job.run().expect_exit(0);
    let told = first.line_with(&["limit found: `connections`"]).to_owned();
    let found: f64 = told.split(' ').nth(3).unwrap().parse().unwrap();
    assert!((2.0..=16.0).contains(&found), "{told}");

    job.run().expect_exit(0);
    assert_eq!(job.record().first_limit("connections"), Some(found), "{told}");
}

fn is_listed(event: &Event) -> bool {
    matches!(event, Event::ItemListed { .. })
}

fn is_admitted(event: &Event) -> bool {
    matches!(event, Event::ItemAdmitted { .. })
}
