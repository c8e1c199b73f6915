//! How far a source runs ahead of what stands still, as exact numbers.
//!
//! Each stage works on `parallelism` items, each queue holds `queue`. An item that is worked on holds a place in the
//! queue after it, so between a source and a standing stage there are: what that stage works on, what its queue
//! holds, and what waits in the queues before, in the gate and in the place before the gate.

use std::sync::Arc;
use std::time::Duration;

use gisrun::contract::Port;
use gisrun::plan::StagePlan;

use tokio::sync::Notify;

use crate::support::{Bench, Role, at_once, behind, settle, taking};

/// The gate reads ahead for as many items as the first stage works on, one more waits to be let in, and its queue has one place.
const GATE: u64 = 2 + 1;

#[tokio::test(start_paused = true)]
async fn stops_pulling_when_a_chain_stands_still() {
    let gate = Arc::new(Notify::new());
    let bench = Bench::new(&[])
        .source("numbers", 1_000)
        .step("first", &["numbers"], at_once())
        .step("second", &["first"], at_once())
        .step("last", &["second"], behind(gate.clone()));
    let run = bench.spawn();
    settle().await;
    // last: 2 worked on + 2 in its queue; second: 2 in its queue; first: 2 in its queue; the gate.
    assert_eq!(bench.counts("last").started(), 2);
    assert_eq!(bench.counts("second").ended(), 4);
    assert_eq!(bench.counts("first").ended(), 6);
    assert_eq!(bench.counts("numbers").started(), 8 + GATE);
    run.abort();
}

#[tokio::test(start_paused = true)]
async fn pulls_everything_when_nothing_stands_still() {
    let bench = Bench::new(&[]).source("numbers", 1_000).step("last", &["numbers"], at_once());
    let outcome = bench.run().await;
    assert_eq!((outcome.done, bench.counts("last").ended()), (1_000, 1_000));
}

#[tokio::test(start_paused = true)]
async fn a_standing_branch_holds_its_sibling_back() {
    let gate = Arc::new(Notify::new());
    let bench = Bench::new(&[])
        .source("numbers", 1_000)
        .step("shared", &["numbers"], at_once())
        .step("free", &["shared"], at_once())
        .step("standing", &["shared"], behind(gate.clone()));
    let run = bench.spawn();
    settle().await;
    // Only items that had a place in both queues were worked on: 2 at the standing stage and 2 before it.
    assert_eq!(bench.counts("shared").ended(), 4);
    assert_eq!(bench.counts("free").ended(), 4);
    // And 2 in the queue before them, and the gate.
    assert_eq!(bench.counts("numbers").started(), 4 + 2 + GATE);
    run.abort();
}

#[tokio::test(start_paused = true)]
async fn two_feeders_share_the_places_of_a_standing_stage() {
    let gate = Arc::new(Notify::new());
    let bench = Bench::new(&[])
        .source("left", 1_000)
        .source("right", 1_000)
        .step("from-left", &["left"], at_once())
        .step("from-right", &["right"], at_once())
        .step("joined", &["from-left", "from-right"], behind(gate.clone()));
    let run = bench.spawn();
    settle().await;
    let passed = bench.counts("from-left").ended() + bench.counts("from-right").ended();
    assert_eq!((bench.counts("joined").started(), passed), (2, 4));
    // 2 in the queue of each feeder, and one gate for both.
    let pulled = bench.counts("left").started() + bench.counts("right").started();
    assert_eq!(pulled, 4 + 2 * 2 + GATE);
    run.abort();
}

/// Two feeders of the same two stages, each of which has one place.
fn opposite_feeders() -> Bench {
    let narrow = |stage: &mut StagePlan| (stage.queue, stage.parallelism) = (1, 1);
    let step = |bench: Bench, name: &str, from: &[&str], millis: u64| {
        let script = taking(Duration::from_millis(millis));
        bench.add(name, from, Port::Encoded, Role::Step, script, narrow)
    };
    let bench = Bench::new(&[]).source("left", 100).source("right", 100);
    let bench = step(bench, "from-left", &["left"], 3);
    let bench = step(bench, "from-right", &["right"], 5);
    let bench = step(bench, "first", &["from-left", "from-right"], 7);
    step(bench, "second", &["from-right", "from-left"], 11)
}

#[tokio::test(start_paused = true)]
async fn feeders_that_name_their_consumers_in_opposite_orders_do_not_block_each_other() {
    let mut bench = opposite_feeders();
    bench.plan.stages[3].to.reverse();
    let outcome = bench.run().await;
    assert_eq!(
        (outcome.done, bench.counts("first").ended(), bench.counts("second").ended()),
        (200, 200, 200)
    );
}

#[tokio::test(start_paused = true)]
async fn one_opened_gate_lets_one_item_through_every_queue() {
    let gate = Arc::new(Notify::new());
    let bench = Bench::new(&[]).source("numbers", 1_000).step("first", &["numbers"], at_once()).step(
        "last",
        &["first"],
        behind(gate.clone()),
    );
    let run = bench.spawn();
    settle().await;
    let before = bench.counts("numbers").started();
    gate.notify_one();
    settle().await;
    assert_eq!(bench.counts("last").ended(), 1);
    assert_eq!(bench.counts("numbers").started(), before + 1);
    run.abort();
}
