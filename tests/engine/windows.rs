//! One parent into many windows and back.

use std::sync::Arc;
use std::time::Duration;

use gisrun::contract::Port;
use gisrun::events::{Event, Sample};
use gisrun::plan::Limit;
use tokio::sync::Notify;

use crate::support::{Bench, Role, at_once, behind, settle};

fn windowed(items: u64, each: u64) -> Bench {
    Bench::new(&[("units", Limit::Slots(1))]).unit("units").source("parents", items).add(
        "windows",
        &["parents"],
        Port::Asset,
        Role::Windows { each },
        at_once(),
        |stage| stage.parallelism = 1,
    )
}

#[tokio::test(start_paused = true)]
async fn joins_every_window_of_every_parent_with_one_unit() {
    let bench = windowed(3, 7).step("work", &["windows"], at_once()).add(
        "joined",
        &["work"],
        Port::Encoded,
        Role::Join,
        at_once(),
        |_| {},
    );
    let outcome = bench.run().await;
    assert_eq!((outcome.done, outcome.failed), (3, 0));
    let mut order = bench.counts("joined").order.lock().unwrap().clone();
    order.sort();
    assert_eq!(order, ["item-0 of 7", "item-1 of 7", "item-2 of 7"]);
}

#[tokio::test(start_paused = true)]
async fn twenty_thousand_windows_run_ahead_no_further_than_a_few() {
    let gate = Arc::new(Notify::new());
    let bench = windowed(1, 20_736).step("standing", &["windows"], behind(gate));
    let run = bench.spawn();
    settle().await;
    // 2 worked on, 2 in the queue, and the gate: 2 read ahead and 1 in the place before it.
    assert_eq!(bench.counts("windows").started(), 2 + 2 + 2 + 1);
    run.abort();
}

/// Two parents of three windows each, which are worked on behind the gate and joined with 60 bytes of scratch a parent.
fn spooling(scratch: u64, gate: Arc<Notify>) -> Bench {
    let two_at_once = |stage: &mut gisrun::plan::StagePlan| stage.parallelism = 2;
    Bench::new(&[("scratch", Limit::Bytes(scratch))])
        .source("parents", 2)
        .add("windows", &["parents"], Port::Asset, Role::Windows { each: 3 }, at_once(), two_at_once)
        .step("work", &["windows"], behind(gate))
        .add("joined", &["work"], Port::Encoded, Role::Spool { bytes: 60 }, at_once(), |_| {})
}

#[tokio::test(start_paused = true)]
async fn a_parent_waits_until_there_is_scratch_for_it() {
    for (scratch, windows) in [(119, 3), (120, 6)] {
        let gate = Arc::new(Notify::new());
        let bench = spooling(scratch, gate.clone());
        let run = bench.spawn();
        settle().await;
        assert_eq!(bench.counts("windows").started(), windows, "with {scratch} bytes");
        while !run.is_finished() {
            gate.notify_one();
            settle().await;
        }
        assert_eq!(run.await.unwrap().done, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_needs_more_scratch_than_there_is_fails_without_waiting() {
    let bench = spooling(59, Arc::new(Notify::new()));
    assert_eq!(bench.run().await.failed, 2);
    let told = bench.events().into_iter().any(|event| match event {
        gisrun::events::Event::ItemFailed { message, .. } => {
            message == "`scratch` needs 60 bytes and the budget is 59: free disk, or set `[run] scratch` to a larger one"
        }
        _ => false,
    });
    assert!(told);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_waits_for_a_unit_does_not_wait_for_the_windows_behind_it() {
    // Whole items and windows of the same items meet at the gate; a unit is there for one item at a time.
    let bench = windowed(5, 9).step("whole", &["parents"], at_once()).step("parts", &["windows"], at_once());
    let outcome = bench.run().await;
    assert_eq!(outcome.done, 5);
    assert_eq!((bench.counts("whole").ended(), bench.counts("parts").ended()), (5, 45));
}

#[tokio::test(start_paused = true)]
async fn a_failed_window_fails_its_parent_once_and_its_siblings_are_dropped() {
    let failing: crate::support::Script = Arc::new(|item, _| {
        let fails = item.id.as_str() == "item-1/3";
        Box::pin(
            async move { if fails { Err(gisrun::contract::Failure::item("broken window")) } else { Ok(()) } },
        )
    });
    let bench = windowed(3, 7).step("work", &["windows"], failing).add(
        "joined",
        &["work"],
        Port::Encoded,
        Role::Join,
        at_once(),
        |_| {},
    );
    let outcome = bench.run().await;
    assert_eq!((outcome.done, outcome.failed), (2, 1));
    assert_eq!(bench.counts("joined").ended(), 2);
    let failures = bench.events().into_iter().filter(
        |event| matches!(event, gisrun::events::Event::ItemFailed { item, .. } if item.as_str() == "item-1"),
    );
    assert_eq!(failures.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn events_tell_how_many_items_each_stage_sent_on() {
    let bench = windowed(3, 7).step("work", &["windows"], at_once()).add(
        "joined",
        &["work"],
        Port::Encoded,
        Role::Join,
        at_once(),
        |_| {},
    );
    bench.run().await;
    let sent_on = |stage: &str| -> Vec<(String, u64)> {
        let events = bench.events().into_iter().filter_map(|event| match event {
            Event::StageFinished { stage: at, item, outputs, .. } if at.as_str() == stage => {
                Some((item.to_string(), outputs))
            }
            _ => None,
        });
        events.collect()
    };
    let sum = |stage: &str| sent_on(stage).iter().map(|(_, outputs)| outputs).sum::<u64>();
    assert_eq!((sum("windows"), sum("work"), sum("joined")), (21, 21, 3));
    let mut whole: Vec<_> = sent_on("joined").into_iter().filter(|(_, outputs)| *outputs > 0).collect();
    whole.sort();
    assert_eq!(
        whole,
        [("item-0".into(), 1), ("item-1".into(), 1), ("item-2".into(), 1)],
        "told as the parents"
    );
}

#[tokio::test(start_paused = true)]
async fn samples_tell_who_holds_what_from_the_beginning_to_the_end() {
    let gate = Arc::new(Notify::new());
    let bench = Bench::new(&[("units", Limit::Slots(2))]).unit("units").source("numbers", 3).step(
        "held",
        &["numbers"],
        behind(gate.clone()),
    );
    let run = bench.spawn();
    tokio::time::sleep(Duration::from_mins(15)).await;
    while !run.is_finished() {
        gate.notify_waiters();
        settle().await;
    }
    let samples: Vec<Sample> = bench
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Sample(sample) => Some(sample),
            _ => None,
        })
        .collect();
    // At the beginning, after ten minutes, and at the end.
    let used: Vec<f64> = samples.iter().map(|sample| sample.resources[0].used).collect();
    assert_eq!(used, [0.0, 2.0, 0.0]);
    let mut holders = samples[1].resources[0].holders.clone();
    holders.sort();
    assert_eq!(holders, ["item `item-0` (1)", "item `item-1` (1)"]);
    assert_eq!((samples[1].resources[0].waiting, samples[1].items), (1, 2));
}
