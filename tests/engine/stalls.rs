//! A run that stands still says who waits for what, and who holds it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use gisrun::contract::{Failure, Port};
use gisrun::events::Event;
use gisrun::plan::{Limit, MemoryDemand};
use gisrun::remote::RetryPolicy;
use gisrun::resources::ByteLease;
use tokio::sync::Notify;

use crate::support::{Bench, Role, Script, at_once, behind};

const LONG: Duration = Duration::from_hours(1);

/// Where a stage puts the memory that it never gives back.
type Hoard = Arc<Mutex<Vec<ByteLease>>>;

/// Keeps the first item's memory for itself: the deadlock that is planted.
fn hoarding(hoard: &Hoard) -> Script {
    let hoard = hoard.clone();
    Arc::new(move |item, context| {
        if ["item-0", "item-0/0"].contains(&item.id.as_str()) {
            hoard.lock().unwrap().push(context.memory.split(60));
        }
        async { Ok(()) }.boxed()
    })
}

/// Each item needs 60 of 100 bytes at the stage `kept`.
fn bench(hoard: &Hoard) -> Bench {
    let bench = Bench::new(&[("memory", Limit::Bytes(100))]).source("items", 2);
    bench.add("kept", &["items"], Port::Encoded, Role::Step, hoarding(hoard), |stage| {
        stage.memory = MemoryDemand::Declared(60);
    })
}

fn stalls(bench: &Bench) -> Vec<Vec<String>> {
    let told = bench.events().into_iter().filter_map(|event| match event {
        Event::Stalled { waiting, .. } => Some(waiting),
        _ => None,
    });
    told.collect()
}

#[tokio::test(start_paused = true)]
async fn memory_that_never_comes_back_is_told_with_who_waits_and_who_holds_it() {
    let hoard = Hoard::default();
    let bench = bench(&hoard);
    let run = bench.spawn();
    tokio::time::sleep(LONG).await;
    let expected =
        "item `item-1` (60) waits for `memory`, of which 60 of 100 bytes are held by item `item-0` (60)";
    assert_eq!(stalls(&bench), [[expected]], "told once in an hour");
    hoard.lock().unwrap().clear();
    assert_eq!(run.await.unwrap().done, 2, "the watchdog ends nothing");
}

#[tokio::test(start_paused = true)]
async fn a_parent_whose_windows_stand_still_is_no_sign_of_life() {
    let hoard = Hoard::default();
    let bench = Bench::new(&[("memory", Limit::Bytes(100))])
        .source("items", 1)
        .add("cut", &["items"], Port::Asset, Role::Windows { each: 9 }, at_once(), |_| {})
        .add("kept", &["cut"], Port::Encoded, Role::Step, hoarding(&hoard), |stage| {
            stage.memory = MemoryDemand::Declared(60);
        });
    let run = bench.spawn();
    tokio::time::sleep(LONG).await;
    let told = stalls(&bench).concat();
    let names = |words: [&str; 2]| told.iter().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(names(["item `item-0/1` (60) waits for `memory`", "held by item `item-0/0` (60)"]), "{told:?}");
    assert!(names(["stage `cut` (1) waits for `queue into the gate (windows)`", "stage `cut`"]), "{told:?}");
    hoard.lock().unwrap().clear();
    assert_eq!(run.await.unwrap().done, 1);
}

#[tokio::test(start_paused = true)]
async fn what_runs_is_no_standstill_however_long_it_takes() {
    let gate = Arc::new(Notify::new());
    let bench = Bench::new(&[]).source("items", 9).step("slow", &["items"], behind(gate.clone()));
    let run = bench.spawn();
    tokio::time::sleep(LONG).await;
    assert_eq!(stalls(&bench), Vec::<Vec<String>>::new());
    while !run.is_finished() {
        gate.notify_one();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(run.await.unwrap().done, 9);
}

#[tokio::test(start_paused = true)]
async fn a_pause_before_the_next_try_is_no_standstill() {
    let tries = Arc::new(Mutex::new(0));
    let failing_once: Script = Arc::new(move |_, _| {
        let mut tries = tries.lock().unwrap();
        *tries += 1;
        let result = if *tries == 1 { Err(Failure::transient("not now")) } else { Ok(()) };
        async move { result }.boxed()
    });
    let bench = Bench::new(&[]).source("items", 9).add(
        "tried",
        &["items"],
        Port::Encoded,
        Role::Step,
        failing_once,
        |stage| {
            stage.parallelism = 1;
            stage.retry = RetryPolicy { tries: 2, first_delay: LONG, max_delay: LONG, total: LONG * 4 };
        },
    );
    assert_eq!(bench.run().await.done, 9);
    assert_eq!(stalls(&bench), Vec::<Vec<String>>::new());
}
