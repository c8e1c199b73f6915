//! The commands of `docs/events.md` do what is said of them there.

use std::process::Command;

use crate::job::Job;
use crate::meadows;

const DOCS: &str = include_str!("../../docs/events.md");

/// The command below the paragraph that begins so.
fn documented(beginning: &str) -> &'static str {
    let paragraph = DOCS.find(beginning).unwrap_or_else(|| panic!("no paragraph begins with `{beginning}`"));
    let block = &DOCS[paragraph..];
    block.split("```sh\n").nth(1).unwrap().split("```").next().unwrap()
}

/// What a command says in the folder of a run, `run.jsonl` being its record.
fn shell(job: &Job, command: &str) -> String {
    std::fs::copy(job.path(".gisrun/job.run.jsonl"), job.path("run.jsonl")).unwrap();
    let output = Command::new("sh").arg("-c").arg(command).current_dir(job.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn starts_in_each_second_add_up_to_all_starts() {
    let job = meadows(12);
    job.run().expect_exit(0);
    let told = shell(&job, documented("Tries that a stage started in each second"));
    let counts: Vec<u64> =
        told.lines().map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect();
    assert_eq!(counts.iter().sum::<u64>(), 12);
    assert!(counts.is_sorted_by(|a, b| a >= b), "{told}");
}

#[test]
fn the_most_at_once_is_what_the_record_tells() {
    let job = meadows(12);
    job.run().expect_exit(0);
    let told: serde_json::Value =
        serde_json::from_str(&shell(&job, documented("The most items that were in each stage"))).unwrap();
    for stage in ["bands", "ndvi", "encoded", "written"] {
        assert_eq!(told[stage], job.record().most_at_once(stage), "{told}");
    }
}

#[test]
fn open_files_are_told_from_the_beginning_on() {
    let job = meadows(2);
    job.run().expect_exit(0);
    let told = shell(&job, documented("Open files over time"));
    let rows: Vec<Vec<f64>> =
        told.lines().map(|line| line.split('\t').map(|cell| cell.parse().unwrap()).collect()).collect();
    assert!(rows.len() >= 2, "one at the beginning and one at the end: {told}");
    assert!(rows.iter().all(|row| row[0] >= 0.0 && row[1] > 3.0), "{told}");
}

#[test]
fn failures_are_counted_by_their_words() {
    let job = meadows(2);
    for name in ["x", "y", "z"] {
        std::fs::write(job.path(&format!("in/{name}.tif")), "no raster").unwrap();
    }
    job.run().expect_exit(1);
    let told = shell(&job, documented("Why items failed"));
    assert!(told.trim_start().starts_with("3 "), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}
