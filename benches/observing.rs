//! What watching a run costs: processor time of an event on its way into the record, and of a sample; and, of the record
//! of a run, the part of its processor time that went into both.
//!
//! `cargo bench --bench observing -- RUN.jsonl`. It fails where that is above 3 %.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at what cannot be"
)]

use std::fs::File;
use std::hint::black_box;
use std::sync::Arc;

use gisrun::events::{Emitter, Event, Record, RunLog, Subscriber, Waits, read_records};
use gisrun::machine::{FamilyReading, ProcessReading};

const EVENTS: u32 = 400_000;
const SAMPLES: u32 = 2_000;
/// The most that watching may take of the processor time of a run.
const MOST: f64 = 0.03;

/// Processor time of this process so far, in seconds.
fn cpu() -> f64 {
    ProcessReading::now().cpu_seconds
}

/// Seconds of processor time of one event, the thread that writes the record included.
fn of_an_event(folder: &std::path::Path) -> f64 {
    let log = Arc::new(RunLog::create(folder.join("run.jsonl")).unwrap());
    let emitter = Emitter::new(vec![log.clone() as Arc<dyn Subscriber>]);
    let before = cpu();
    for number in 0..EVENTS {
        emitter.emit(|| Event::StageStarted {
            stage: "encoded".into(),
            item: format!("S2A_MSIL2A_20240601T102559_{number}").into(),
            attempt: 1,
            waited: Waits { queue: 0.125, places: 0.5, ..Waits::default() },
        });
    }
    log.finish().unwrap();
    (cpu() - before) / f64::from(EVENTS)
}

/// Seconds of processor time of one look at the process and what it started.
fn of_a_sample() -> f64 {
    let before = cpu();
    let first = FamilyReading::now();
    for _ in 0..SAMPLES {
        black_box((ProcessReading::now(), FamilyReading::now().starved_since(&first)));
    }
    (cpu() - before) / f64::from(SAMPLES)
}

/// Events, samples and seconds of processor time of a run.
fn counted(path: &str) -> (f64, f64, f64) {
    let records: Vec<Record> = read_records(File::open(path).unwrap()).map(Result::unwrap).collect();
    let samples = records.iter().filter(|record| matches!(record.event, Event::Sample(_))).count();
    let spent = records.iter().find_map(|record| match record.event {
        Event::RunFinished { cpu, .. } => Some(cpu),
        _ => None,
    });
    (records.len() as f64, samples as f64, spent.expect("the run has ended"))
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let (event, sample) = (of_an_event(folder.path()), of_a_sample());
    println!("an event: {:.2} µs, a sample: {:.0} µs", event * 1e6, sample * 1e6);
    if let Some(path) = std::env::args().skip(1).find(|argument| !argument.starts_with('-')) {
        let (events, samples, spent) = counted(&path);
        let share = (events * event + samples * sample) / spent;
        println!(
            "{events} events and {samples} samples of {spent:.2} s of processor time: {:.3} %",
            100.0 * share
        );
        assert!(share < MOST || cfg!(debug_assertions), "watching takes too much");
    }
}
