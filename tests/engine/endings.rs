//! How items and runs end: failures, retries, panics, timeouts, cancellation, too many failures.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gisrun::config::{MaxFailures, OnError};
use gisrun::contract::{Failure, Port};
use gisrun::engine::StopReason;
use gisrun::events::{Event, FailureClass};
use gisrun::plan::Limit;
use gisrun::remote::RetryPolicy;
use gisrun::units::Percent;
use tokio::time::Instant;

use crate::support::{Bench, Role, Script, at_once, settle, taking};

fn failing_with(failure: impl Fn(u64) -> Option<Failure> + Send + Sync + 'static) -> Script {
    let calls = AtomicU64::new(0);
    Arc::new(move |_, _| {
        let failure = failure(calls.fetch_add(1, Ordering::SeqCst));
        Box::pin(async move { failure.map_or(Ok(()), Err) })
    })
}

#[tokio::test(start_paused = true)]
async fn a_panic_fails_its_item_and_names_stage_and_item() {
    let panicking: Script = Arc::new(|item, _| {
        let panics = item.id.as_str() == "item-2";
        Box::pin(async move {
            assert!(!panics, "third time unlucky");
            Ok(())
        })
    });
    let bench = Bench::new(&[]).source("numbers", 5).step("work", &["numbers"], panicking);
    let outcome = bench.run().await;
    assert_eq!((outcome.done, outcome.failed, outcome.stopped), (4, 1, None));
    let failed = bench.events().into_iter().find_map(|event| match event {
        Event::ItemFailed { item, stage, message, .. } => {
            Some((item.to_string(), stage.to_string(), message))
        }
        _ => None,
    });
    assert_eq!(failed, Some(("item-2".into(), "work".into(), "panicked: third time unlucky".into())));
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_tried_again_without_holding_a_slot() {
    let busy_twice = failing_with(|call| (call < 2).then(|| Failure::transient("busy")));
    let bench = Bench::new(&[("slot", Limit::Slots(1))]).source("numbers", 1).add(
        "work",
        &["numbers"],
        Port::Encoded,
        Role::Step,
        busy_twice,
        |stage| {
            stage.slots = vec![("slot".into(), 1)];
            stage.retry =
                RetryPolicy { tries: 3, first_delay: Duration::from_secs(4), ..RetryPolicy::default() };
        },
    );
    let begun = Instant::now();
    let outcome = bench.run().await;
    assert_eq!((outcome.done, bench.counts("work").started()), (1, 3));
    // 4 s and 8 s, each with a jitter of at most its own length.
    assert!((12.0..=24.5).contains(&begun.elapsed().as_secs_f64()), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_last_try_fails_the_item() {
    let always_busy = failing_with(|_| Some(Failure::transient("busy")));
    let bench = Bench::new(&[]).source("numbers", 1).add(
        "work",
        &["numbers"],
        Port::Encoded,
        Role::Step,
        always_busy,
        |stage| {
            stage.retry = RetryPolicy { tries: 3, ..RetryPolicy::default() };
        },
    );
    let outcome = bench.run().await;
    assert_eq!((outcome.failed, bench.counts("work").started()), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_is_waited_for() {
    let asked = failing_with(|call| {
        (call == 0)
            .then(|| Failure { retry_after: Some(Duration::from_secs(90)), ..Failure::transient("429") })
    });
    let bench = Bench::new(&[]).source("numbers", 1).add(
        "work",
        &["numbers"],
        Port::Encoded,
        Role::Step,
        asked,
        |stage| {
            stage.retry = RetryPolicy { tries: 2, ..RetryPolicy::default() };
        },
    );
    let begun = Instant::now();
    assert_eq!(bench.run().await.done, 1);
    assert!(begun.elapsed() >= Duration::from_secs(90));
}

#[tokio::test(start_paused = true)]
async fn work_that_takes_longer_than_its_timeout_fails_its_item() {
    let bench = Bench::new(&[]).source("numbers", 2).add(
        "work",
        &["numbers"],
        Port::Encoded,
        Role::Step,
        taking(Duration::from_mins(1)),
        |stage| stage.timeout = Some(Duration::from_secs(5)),
    );
    let outcome = bench.run().await;
    assert_eq!((outcome.done, outcome.failed), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_fatal_failure_stops_the_run_and_what_runs_goes_on() {
    let fatal_once = failing_with(|call| (call == 0).then(|| Failure::fatal("no space left")));
    let bench = Bench::new(&[]).source("numbers", 1_000).step("work", &["numbers"], fatal_once);
    let outcome = bench.run().await;
    assert_eq!(outcome.failed, 1);
    assert!(outcome.done < 20, "{outcome:?}");
    let Some(StopReason::Aborted(reason)) = outcome.stopped else { panic!("{:?}", outcome.stopped) };
    assert!(
        reason.contains("`work`") && reason.contains("item-0") && reason.contains("no space left"),
        "{reason}"
    );
}

/// The run is over as soon as its only item fails.
#[tokio::test(start_paused = true)]
async fn what_stops_a_run_is_told_however_soon_it_ends() {
    let fails = failing_with(|_| Some(Failure::fatal("no space left")));
    let bench = Bench::new(&[]).source("numbers", 1).step("work", &["numbers"], fails);
    bench.run().await;
    let told = bench.events().into_iter().filter(|event| matches!(event, Event::Stopping { .. }));
    assert_eq!(told.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn on_error_stop_makes_a_failed_item_stop_the_run() {
    let fails = failing_with(|_| Some(Failure::item("broken")));
    let bench = Bench::new(&[]).source("numbers", 1_000).add(
        "work",
        &["numbers"],
        Port::Encoded,
        Role::Step,
        fails,
        |stage| {
            stage.on_error = OnError::Stop;
        },
    );
    assert!(matches!(bench.run().await.stopped, Some(StopReason::Aborted(_))));
}

#[tokio::test(start_paused = true)]
async fn a_count_of_failures_above_the_limit_stops_the_run() {
    let fails = failing_with(|_| Some(Failure::item("broken")));
    let bench = Bench::new(&[]).max_failures(MaxFailures::Count(10)).source("numbers", 1_000).step(
        "work",
        &["numbers"],
        fails,
    );
    let outcome = bench.run().await;
    assert!(outcome.failed >= 11 && outcome.failed < 40, "{outcome:?}");
    assert!(matches!(outcome.stopped, Some(StopReason::Aborted(_))));
}

#[tokio::test(start_paused = true)]
async fn a_share_of_failures_is_judged_at_the_end_of_a_short_run() {
    let half = failing_with(|call| (call % 2 == 0).then(|| Failure::item("broken")));
    let bench = Bench::new(&[]).max_failures(MaxFailures::Share(Percent(0.05))).source("numbers", 10).step(
        "work",
        &["numbers"],
        half,
    );
    let outcome = bench.run().await;
    assert_eq!((outcome.done, outcome.failed), (5, 5));
    assert!(matches!(outcome.stopped, Some(StopReason::Aborted(_))));
}

#[tokio::test(start_paused = true)]
async fn a_share_of_failures_below_the_limit_is_no_reason_to_stop() {
    let one = failing_with(|call| (call == 0).then(|| Failure::item("broken")));
    let bench = Bench::new(&[]).max_failures(MaxFailures::Share(Percent(0.05))).source("numbers", 100).step(
        "work",
        &["numbers"],
        one,
    );
    let outcome = bench.run().await;
    assert_eq!((outcome.done, outcome.failed, outcome.stopped), (99, 1, None));
}

#[tokio::test(start_paused = true)]
async fn the_first_signal_lets_admitted_items_finish() {
    let bench = Bench::new(&[])
        .source("numbers", 1_000)
        .step("work", &["numbers"], taking(Duration::from_secs(10)))
        .step("last", &["work"], at_once());
    let run = bench.spawn();
    settle().await;
    bench.stop.stop_admission(StopReason::Signal(2));
    let outcome = run.await.unwrap();
    assert_eq!(outcome.stopped, Some(StopReason::Signal(2)));
    assert_eq!(outcome.done, bench.counts("last").ended());
    assert!(outcome.done >= 4 && outcome.done < 20, "{outcome:?}");
    assert_eq!(bench.counts("work").started(), outcome.done);
}

#[tokio::test(start_paused = true)]
async fn the_second_signal_ends_all_work_at_once() {
    let bench =
        Bench::new(&[]).source("numbers", 1_000).step("work", &["numbers"], taking(Duration::from_hours(1)));
    let begun = Instant::now();
    let run = bench.spawn();
    settle().await;
    bench.stop.abort_work(StopReason::Signal(15));
    let outcome = run.await.unwrap();
    assert_eq!(outcome.done, 0);
    assert!(outcome.cancelled >= 2, "{outcome:?}");
    assert!(begun.elapsed() < Duration::from_mins(1));
}

#[tokio::test(start_paused = true)]
async fn every_start_has_one_end() {
    let mixed = failing_with(|call| match call % 5 {
        0 => Some(Failure::item("broken")),
        1 => Some(Failure::transient("busy")),
        _ => None,
    });
    let bench = Bench::new(&[]).source("numbers", 50).add(
        "work",
        &["numbers"],
        Port::Encoded,
        Role::Step,
        mixed,
        |stage| {
            stage.retry = RetryPolicy { tries: 2, ..RetryPolicy::default() };
        },
    );
    let outcome = bench.run().await;
    assert_eq!(outcome.done + outcome.failed, 50);
    // By item and try: begun and not ended, and what the end was.
    let (mut open, mut retried) = (HashSet::new(), 0);
    for event in bench.events() {
        match event {
            Event::StageStarted { item, attempt, .. } => assert!(open.insert((item, attempt))),
            Event::StageRetried { item, attempt, .. } => {
                retried += 1;
                assert!(open.remove(&(item, attempt)), "it ended twice");
            }
            Event::StageFinished { item, attempt, .. }
            | Event::StageFailed { item, attempt, .. }
            | Event::StageCancelled { item, attempt, .. } => {
                assert!(open.remove(&(item, attempt)), "it ended twice");
            }
            _ => {}
        }
    }
    assert!(retried > 0);
    assert_eq!(open.len(), 0, "they never ended");
}

#[tokio::test(start_paused = true)]
async fn an_item_that_needs_more_memory_than_there_is_fails_without_waiting() {
    let bench = Bench::new(&[("memory", Limit::Bytes(1_000))]).source("numbers", 3).add(
        "work",
        &["numbers"],
        Port::Encoded,
        Role::Step,
        at_once(),
        |stage| stage.memory = gisrun::plan::MemoryDemand::Declared(1_001),
    );
    let outcome = bench.run().await;
    assert_eq!((outcome.done, outcome.failed), (0, 3));
    let message = bench.events().into_iter().find_map(|event| match event {
        Event::ItemFailed { class: FailureClass::Item, message, .. } => Some(message),
        _ => None,
    });
    assert!(
        message.is_some_and(|text| text.contains("1001") && text.contains("1000") && text.contains("memory"))
    );
}

#[tokio::test(start_paused = true)]
async fn memory_bounds_how_many_items_are_under_way() {
    let bench = Bench::new(&[("memory", Limit::Bytes(1_000))]).source("numbers", 30).add(
        "work",
        &["numbers"],
        Port::Encoded,
        Role::Step,
        taking(Duration::from_secs(1)),
        |stage| {
            stage.memory = gisrun::plan::MemoryDemand::Declared(400);
            (stage.parallelism, stage.queue) = (8, 8);
        },
    );
    let outcome = bench.run().await;
    assert_eq!((outcome.done, bench.counts("work").most()), (30, 2));
    assert_eq!(outcome.peak_reserved, 800);
}
