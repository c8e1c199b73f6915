//! What the record, its samples and the ledger cost a run: the same pipeline with them and without, in alternating pairs, each
//! run in a process of its own.
//!
//! `cargo bench --bench watching -- PIPELINE [PAIRS]`. Nothing is skipped in either: the ledger is a new one each time, so the
//! pipeline says `existing = "replace"`. `benches/main_job.py --watching` serves the sixteen scenes and calls it. The figures
//! are processor time, the median of the pairs' ratios; it fails where that is above 1.03.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at what cannot be"
)]

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use gisrun::cli::{PipelineFile, schema};
use gisrun::engine::{self, Ask, Memory, Services, Stop};
use gisrun::events::{Emitter, RunLog, Subscriber};
use gisrun::ledger::{Ledger, Snapshot};
use gisrun::machine::{Machine, ProcessReading};
use gisrun::remote::{AccessRules, Client, ClientOptions, parse_raster_header};
use gisrun::{ops, plan, raster};

/// The most that a run may take for being watched, as a ratio of processor time.
const MOST: f64 = 1.03;
const PAIRS: usize = 7;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["with", pipeline, folder] => println!("{}", cpu_of_run(pipeline, Some(Path::new(folder)))),
        ["without", pipeline, _] => println!("{}", cpu_of_run(pipeline, None)),
        [pipeline] => compare(pipeline, PAIRS),
        [pipeline, pairs] => compare(pipeline, pairs.parse().expect("a number of pairs")),
        _ => println!(
            "nothing is compared without a pipeline: `cargo bench --bench watching -- PIPELINE [PAIRS]`"
        ),
    }
}

fn compare(pipeline: &str, pairs: usize) {
    let mut ratios = Vec::new();
    // The first pair fills the page cache.
    for pair in 0..=pairs {
        let (with, without) = (in_a_process("with", pipeline), in_a_process("without", pipeline));
        if pair > 0 {
            println!("with {with:.2} s, without {without:.2} s of processor time: {:.3}", with / without);
            ratios.push(with / without);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    println!("median of {pairs} pairs: {median:.3}");
    assert!(median < MOST || cfg!(debug_assertions), "watching takes too much");
}

fn in_a_process(how: &str, pipeline: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    let ended = command.args([how, pipeline]).arg(folder.path()).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8_lossy(&ended.stdout).trim().parse().unwrap()
}

/// Runs a pipeline, watched where there is a folder for the record and the ledger; seconds of processor time.
fn cpu_of_run(pipeline: &str, watched_in: Option<&Path>) -> f64 {
    let registry = ops::registry();
    let file = PipelineFile::open(Path::new(pipeline), &[], &schema::compile(&registry));
    let written = file.loaded.pipeline.expect("a sound pipeline");
    let machine = Machine::detect(|_| None, Path::new("/"));
    let plan = plan::resolve(&written, &registry, &machine).0.expect("a sound pipeline");
    raster::initialise(plan.gdal_share());
    std::fs::create_dir_all(&plan.run.scratch).unwrap();
    let access = AccessRules::compile(&written.access).unwrap();
    let client = Client::new(ClientOptions::default(), access, Some(parse_raster_header()));
    let log = watched_in.map(|folder| Arc::new(RunLog::create(folder.join("run.jsonl")).unwrap()));
    let memory = watched_in.map_or_else(Memory::none, |folder| {
        let ledger = Ledger::open(folder.join("job.sqlite")).unwrap();
        Memory::recollect(ledger, Snapshot::default(), HashMap::new(), Ask::Missing, Some(1))
    });
    let services = Services {
        emitter: Emitter::new(log.iter().map(|log| log.clone() as Arc<dyn Subscriber>).collect()),
        client,
        memory: Arc::new(memory),
        stop: Stop::default(),
        workers: None,
        sample_every: if watched_in.is_some() { Duration::from_secs(1) } else { Duration::MAX },
        stall_after: Duration::from_mins(1),
    };
    let remembered = services.memory.clone();
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(
        async {
            let outcome = engine::run(Arc::new(plan), services).await;
            assert!(outcome.failed == 0 && outcome.done > 0 && outcome.stopped.is_none(), "{outcome:?}");
            remembered.close(&[]).await.unwrap();
        },
    );
    if let Some(log) = log {
        log.finish().unwrap();
    }
    ProcessReading::now().cpu_seconds
}
