use super::*;
use crate::events::read_records;

const RUN: &str = include_str!("../../events/fixtures/run-v2.jsonl");

fn digest(text: &str) -> Digest {
    let mut digest = Digest::default();
    for record in read_records(text.as_bytes()) {
        digest.add(&record.unwrap());
    }
    digest
}

#[test]
fn a_run_is_told_in_figures() {
    let run = digest(RUN);
    let written = &run.stages["written"];
    assert_eq!((written.started.count(), written.finished, written.failed, written.retried), (3, 1, 1, 1));
    // a and b at once; b again when its first try had ended.
    assert_eq!((written.most_running, written.outputs), (2, 0));
    // 1.5 s of a, 0.25 s and 1.25 s of b; and 0.5 s of d, which was cancelled.
    assert_eq!(written.work.sum(), 3.5);
    assert_eq!(written.waits.queue, 0.25);
    assert_eq!(written.waits.resources["writers"], 0.25);
    assert_eq!(written.waits.retry, 0.5);
    let requests = &run.stages["scenes"].requests;
    assert_eq!((requests.made.count(), requests.statuses[&200], requests.slept), (1, 1, 0.25));
    assert_eq!((run.gate.admitted.count(), run.gate.memory.sum(), run.gate.largest), (2, 0.5, 1 << 30));
    assert_eq!(run.limits["connections"], 12);
    assert_eq!((run.items.listed, run.items.ended()), (3, 2));
    assert_eq!((run.seconds(), run.cpu()), (4.0, 3.5));
}

#[test]
fn two_shards_are_added_and_their_peaks_are_not() {
    let mut both = digest(RUN);
    both.merge(&digest(RUN));
    assert_eq!((both.items.done, both.items.failed), (2, 2));
    assert_eq!((both.stages["written"].work.sum(), both.stages["written"].most_running), (7.0, 2));
    assert_eq!((both.cpu(), both.peak_resident()), (7.0, 256 << 20));
    assert_eq!(both.causes.sorted()[0].count, 2, "one cause");
    assert_eq!(both.seconds(), 4.0, "they ran side by side");
}

#[test]
fn a_record_without_its_end_is_told_as_far_as_it_goes() {
    let cut: String =
        RUN.lines().take_while(|line| !line.contains("stopping")).map(|line| format!("{line}\n")).collect();
    let run = digest(&cut);
    assert!(run.end.is_none());
    assert_eq!((run.items.done, run.items.failed, run.seconds()), (1, 1, 3.0));
}
