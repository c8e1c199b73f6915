//! Runs of the library, for faults that no shipped op has. Their records are read by the real program.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gisrun::cli::schema;
use gisrun::config::{Inputs, load};
use gisrun::engine::{self, Memory, Services, Stop};
use gisrun::events::{self, Emitter, Event, RunLog};
use gisrun::machine::{Granted, Machine};
use gisrun::plan;
use gisrun::remote::Client;

use crate::job::Job;
use crate::{alone, expect_only, findings, planted_ops};

/// A machine of four cores, whatever this one has.
fn machine() -> Machine {
    let granted = |value| Granted { value, source: "test".into() };
    Machine { cores: granted(4), memory: granted(1 << 30), descriptors: granted(1024), shards: granted(1) }
}

/// Runs a pipeline of planted ops and leaves its record as `run.jsonl`, sampled often, since the run is short.
fn run(stages: &str) -> Job {
    let job = Job::new("");
    let registry = planted_ops::registry();
    let text = format!("name = \"planted\"\n[stages]\n{stages}");
    let inputs = Inputs { sets: &[], environment: &|_| None };
    let loaded = load(&job.path("job.toml"), &text, &inputs, &schema::compile(&registry));
    assert_eq!(loaded.faults, []);
    let (plan, faults) = plan::resolve(&loaded.pipeline.unwrap(), &registry, &machine());
    let plan = plan.unwrap_or_else(|| panic!("{faults:?}"));
    tokio::runtime::Runtime::new().unwrap().block_on(execute(plan, &job.path("run.jsonl")));
    job
}

async fn execute(plan: plan::Plan, record: &Path) {
    let log = Arc::new(RunLog::create(record).unwrap());
    let emitter = Emitter::new(vec![log.clone()]);
    let (version, run, outline) = (events::VERSION, "test".to_owned(), plan.outline());
    let (program, pipeline) = ("gisrun".to_owned(), "job.toml".to_owned());
    emitter.emit(|| Event::RunStarted { version, program, pipeline, run, outline });
    let services = Services {
        emitter,
        client: Client::default(),
        memory: Arc::new(Memory::none()),
        stop: Stop::default(),
        workers: None,
        sample_every: Duration::from_millis(50),
        stall_after: Duration::from_mins(1),
    };
    let outcome = engine::run(Arc::new(plan), services).await;
    assert_eq!(outcome.failed, 0);
    log.finish().unwrap();
}

/// So many items, each computing for 8 ms.
fn spun(items: u64, fault: &str) -> Job {
    run(&format!(
        "items = {{ counted = {{ items = {items} }} }}\nwork = {{ from = \"items\", spun = {{ fault = \"{fault}\" }} }}"
    ))
}

#[test]
fn a_hidden_lock_holds_cores_that_do_not_compute() {
    let _alone = alone();
    let finding = expect_only(&spun(200, "lock"), "run.jsonl", "serialised", "work");
    assert!(finding["because"][2].as_str().unwrap().contains("worked on 4 at once"), "{finding:#}");
}

#[test]
fn the_same_work_without_the_lock_is_healthy() {
    let _alone = alone();
    let (found, report) = findings(&spun(400, "none"), "run.jsonl");
    assert_eq!(found, [], "{report:#}");
}

#[test]
fn a_file_that_stays_open_for_each_item_is_a_leak() {
    let _alone = alone();
    let finding = expect_only(&spun(300, "leak"), "run.jsonl", "descriptor-leak", "descriptors");
    assert!(finding["says"].as_str().unwrap().contains("climb by 1.0 an item"), "{finding:#}");
}

#[test]
fn a_source_that_takes_its_time_starves_the_stages() {
    let _alone = alone();
    let job = run(
        "items = { counted = { items = 60, pause = 40 } }\nwork = { from = \"items\", spun = { fault = \"none\" } }",
    );
    expect_only(&job, "run.jsonl", "starved", "items");
}
