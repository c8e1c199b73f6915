//! Memory that turns out otherwise than announced: what grows is told and repaid, what is no longer needed is given back.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use gisrun::contract::Port;
use gisrun::events::Event;
use gisrun::plan::{Limit, MemoryDemand};
use tokio::time::Instant;

use crate::support::{Bench, Role, Script, taking};

const SECOND: Duration = Duration::from_secs(1);

/// Each of two items announces 30 of 100 bytes; the first turns out to need `needed` and takes ten seconds.
fn bench(needed: u64) -> Bench {
    let script: Script = Arc::new(move |item, context| {
        let is_first = item.id.as_str() == "item-0";
        if is_first {
            context.memory.grow_to(needed);
        }
        tokio::time::sleep(if is_first { 10 * SECOND } else { SECOND }).map(Ok).boxed()
    });
    Bench::new(&[("memory", Limit::Bytes(100))]).source("items", 2).add(
        "work",
        &["items"],
        Port::Encoded,
        Role::Step,
        script,
        |stage| stage.memory = MemoryDemand::Declared(30),
    )
}

fn overdrafts(bench: &Bench) -> Vec<(String, u64)> {
    let told = bench.events().into_iter().filter_map(|event| match event {
        Event::Overdraft { item, bytes } => Some((item.to_string(), bytes)),
        _ => None,
    });
    told.collect()
}

#[tokio::test(start_paused = true)]
async fn what_grows_beyond_the_budget_is_told_as_an_overdraft() {
    let mut bench = bench(130);
    bench.plan.stages[1].parallelism = 1;
    let begun = Instant::now();
    let outcome = bench.run().await;
    assert_eq!((outcome.done, outcome.peak_reserved), (2, 160));
    assert_eq!(overdrafts(&bench), [("item-0".to_owned(), 60)], "130 + 30 are 60 above 100");
    assert_eq!(begun.elapsed().as_secs(), 11);
}

#[tokio::test(start_paused = true)]
async fn what_grows_within_the_budget_is_no_overdraft() {
    let bench = bench(70);
    let outcome = bench.run().await;
    assert_eq!((outcome.done, outcome.peak_reserved), (2, 100));
    assert_eq!(overdrafts(&bench), []);
}

/// An overdraft stands for ten seconds; what comes then is let in when it is repaid.
#[tokio::test(start_paused = true)]
async fn nobody_is_admitted_while_an_overdraft_stands() {
    let script: Script = Arc::new(move |item, context| {
        if item.id.as_str() == "item-0" {
            context.memory.grow_to(130);
            return tokio::time::sleep(10 * SECOND).map(Ok).boxed();
        }
        async { Ok(()) }.boxed()
    });
    let bench = Bench::new(&[("memory", Limit::Bytes(100))]).source("items", 9).add(
        "work",
        &["items"],
        Port::Encoded,
        Role::Step,
        script,
        |stage| stage.memory = MemoryDemand::Declared(60),
    );
    let run = bench.spawn();
    tokio::time::sleep(9 * SECOND).await;
    let admitted = |bench: &Bench| {
        bench.events().iter().filter(|event| matches!(event, Event::ItemAdmitted { .. })).count()
    };
    assert_eq!(admitted(&bench), 1);
    assert_eq!((run.await.unwrap().done, admitted(&bench)), (9, 9));
}

/// The first stage needs 60 of 100 bytes and the second 10: with what is given back between them the next item fits.
#[tokio::test(start_paused = true)]
async fn memory_shrinks_to_what_the_rest_of_the_way_needs() {
    let demand =
        |bytes| move |stage: &mut gisrun::plan::StagePlan| stage.memory = MemoryDemand::Declared(bytes);
    let bench = Bench::new(&[("memory", Limit::Bytes(100))])
        .source("items", 20)
        .add("large", &["items"], Port::Encoded, Role::Step, taking(SECOND), demand(60))
        .add("small", &["large"], Port::Encoded, Role::Step, taking(2 * SECOND), demand(10));
    let outcome = bench.run().await;
    assert_eq!((outcome.done, outcome.peak_reserved), (20, 80), "60 and twice 10");
    assert_eq!((bench.counts("large").most(), bench.counts("small").most()), (1, 2));
}
