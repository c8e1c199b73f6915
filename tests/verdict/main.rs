//! Real runs with one thing wrong each, which the verdict names; and healthy ones, of which it says nothing.
//!
//! The figures of a process are those of all that it does, so these runs are made one after the other.

#![allow(clippy::unwrap_used, reason = "a test stops at what cannot be")]

mod inside;
#[allow(dead_code, reason = "shared with the tests of the command line, which use more of it")]
#[path = "../cli/job.rs"]
mod job;
mod planted_ops;
mod programs;
#[allow(dead_code, reason = "shared with the tests of the command line, which use more of it")]
#[path = "../cli/record.rs"]
mod record;
#[allow(dead_code, reason = "shared with the tests of the command line, which use more of it")]
#[path = "../cli/scene.rs"]
mod scene;
#[allow(dead_code, reason = "shared with the tests of the command line, which use more of it")]
#[path = "../support/server.rs"]
mod server;

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value as Json;

use job::Job;

/// Held by whoever runs something.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `gisrun report` finds in a run: `kind` and `subject` of each finding, and the whole report.
pub(crate) fn findings(job: &Job, run: &str) -> (Vec<(String, String)>, Json) {
    let told = job.gisrun(&["report", run, "--format", "json"]).expect_exit(0);
    let report: Json = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(report["verdict"]["judged"], true, "{report:#}");
    let text = |finding: &Json, key: &str| finding[key].as_str().unwrap().to_owned();
    let found = report["verdict"]["findings"].as_array().unwrap();
    (found.iter().map(|it| (text(it, "kind"), text(it, "subject"))).collect(), report)
}

/// Fails unless this alone is found; the finding.
#[track_caller]
pub(crate) fn expect_only(job: &Job, run: &str, kind: &str, subject: &str) -> Json {
    let (found, report) = findings(job, run);
    assert_eq!(found, [(kind.to_owned(), subject.to_owned())], "{report:#}");
    report["verdict"]["findings"][0].clone()
}
