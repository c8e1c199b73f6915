//! Ctrl-C in the middle of a run.

use std::collections::BTreeSet;

use crate::job::Job;
use crate::served::{names, pipeline, serve, urls};

#[test]
fn the_first_interrupt_lets_running_items_finish_and_the_next_run_does_the_rest() {
    let names = names(8);
    let job = Job::new("");
    let server = serve(&job, &names);
    job.rewrite(&pipeline(&urls(&server, &names), "connections.slots = 2", ""));

    server.hold(|_| true);
    let mut run = job.start();
    server.wait_until("two requests", |traffic| (traffic.held == 2).then_some(()));
    run.interrupt();
    server.release();
    assert_eq!(run.end(), Some(130));

    let first = job.record().finished();
    assert!(!first.is_empty() && first.len() < names.len(), "{first:?}");
    assert_eq!(job.outputs(), files(&first), "complete files of finished items, and nothing else");

    let rest = job.run().expect_exit(0);
    assert_eq!(job.record().skipped(), first, "{}", rest.stderr);
    assert_eq!(job.outputs(), files(&names));
}

#[test]
fn the_second_interrupt_ends_what_runs_and_leaves_nothing_half_written() {
    let names = names(8);
    let job = Job::new("");
    let server = serve(&job, &names);
    job.rewrite(&pipeline(&urls(&server, &names), "connections.slots = 2", ""));

    server.hold(|_| true);
    let mut run = job.start();
    server.wait_until("two requests", |traffic| (traffic.held == 2).then_some(()));
    run.interrupt_twice();
    assert_eq!(run.end(), Some(130), "no answer ever came");
    assert_eq!(job.outputs(), BTreeSet::new());

    server.release();
    job.run().expect_exit(0);
    assert_eq!(job.outputs(), files(&names));
}

fn files(names: &[String]) -> BTreeSet<String> {
    names.iter().map(|name| format!("{name}.tif")).collect()
}
