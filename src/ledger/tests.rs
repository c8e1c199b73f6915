//! The ledger as a whole: what is told is there after any end of the process.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::events::FailureClass;

/// A folder and the path of a ledger in it.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/run.ledger");
    (folder, path)
}

fn beginning(item: &str, fingerprint: &str) -> Beginning {
    Beginning {
        item: item.into(),
        fingerprint: fingerprint.into(),
        manifest: Manifest { inputs: "\"etag\"".into(), options: "{\"warp\":{}}".into() },
        outputs: Some(1),
    }
}

fn intent(item: &str, location: &str, inode: u64) -> Intent {
    Intent {
        item: item.into(),
        stage: "written".into(),
        location: location.into(),
        temporary: Some(format!(".{location}").into()),
        size: 20,
        inode: Some(inode),
    }
}

async fn write_one(ledger: &Ledger, item: &str, location: &str, fingerprint: &str, inode: u64) {
    ledger.begin(beginning(item, fingerprint)).await.unwrap();
    ledger.intend(intent(item, location, inode)).await.unwrap();
    ledger.commit_output(location.into()).await.unwrap();
    ledger.finish(item.into()).await.unwrap();
}

#[tokio::test]
async fn what_was_told_is_there_after_closing() {
    let (_folder, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    write_one(&ledger, "a", "a.tif", "f1", u64::MAX).await;
    ledger.begin(beginning("b", "f2")).await.unwrap();
    let failure = PastFailure { stage: "warp".into(), class: FailureClass::Transient, message: "429".into() };
    ledger.fail("b".into(), failure.clone()).await.unwrap();
    ledger.remember_limit("connections".into(), 48).await.unwrap();
    ledger.close().await.unwrap();

    assert!(!path.with_extension("ledger-wal").exists(), "one file is left");
    let read = Snapshot::read(&path).unwrap();
    let entry = &read.entries["a"];
    assert_eq!((entry.state, &*entry.fingerprint, entry.attempts), (State::Done, "f1", 1));
    assert_eq!(entry.manifest, beginning("a", "f1").manifest);
    assert_eq!((entry.outputs[0].inode, entry.outputs[0].is_committed), (Some(u64::MAX), true));
    assert_eq!((read.entries["b"].state, &read.entries["b"].failure), (State::Failed, &Some(failure)));
    assert_eq!(read.limits["connections"], 48);
    assert!(Arc::ptr_eq(&entry.manifest.options, &read.entries["b"].manifest.options), "kept once");
}

#[tokio::test]
async fn beginning_again_counts_and_forgets_the_failure_but_not_the_files() {
    let (_folder, path) = place();
    let ledger = Ledger::open(path).unwrap();
    write_one(&ledger, "a", "a.tif", "f1", 7).await;
    ledger.begin(beginning("a", "f2")).await.unwrap();
    ledger.intend(intent("a", "a.tif", 8)).await.unwrap();
    let entry = &ledger.snapshot().await.unwrap().entries["a"];
    assert_eq!((entry.state, entry.attempts, entry.failure.is_none()), (State::Running, 2, true));
    let outputs: Vec<_> = entry
        .outputs
        .iter()
        .map(|output| (&*output.fingerprint, output.inode, output.is_committed))
        .collect();
    assert_eq!(outputs, [("f1", Some(7), true), ("f2", Some(8), false)]);
}

/// What a killed process leaves: the files as they are, the lock released.
fn killed(path: &Path) -> (TempDir, PathBuf) {
    let (folder, copy) = place();
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    for suffix in ["", "-wal"] {
        let from = PathBuf::from(format!("{}{suffix}", path.display()));
        fs::copy(from, format!("{}{suffix}", copy.display())).unwrap();
    }
    (folder, copy)
}

#[tokio::test]
async fn an_intent_outlives_a_killed_process_and_is_adopted_if_the_file_is_there() {
    let (_folder, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    ledger.announce(".never-intended.tif".as_ref()).await.unwrap();
    ledger.begin(beginning("a", "f1")).await.unwrap();
    ledger.intend(intent("a", "a.tif", 7)).await.unwrap();
    let (_copy, path) = killed(&path);

    let ledger = Ledger::open(path).unwrap();
    let look = |snapshot: &Snapshot| {
        let manifest = beginning("a", "f1").manifest;
        verdict(&snapshot.entries["a"], "f1", &manifest, |_| Standing::File { size: 20, inode: 7 })
    };
    assert_eq!(look(&ledger.snapshot().await.unwrap()), Verdict::Adopt);
    let mut stale = ledger.temporaries().await.unwrap();
    stale.sort();
    assert_eq!(stale, [".a.tif", ".never-intended.tif"].map(PathBuf::from));
    ledger.adopt("a".into()).await.unwrap();
    assert_eq!(look(&ledger.snapshot().await.unwrap()), Verdict::Done);
    ledger.forget_temporary(".never-intended.tif".as_ref()).await.unwrap();
    assert!(ledger.temporaries().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_missing_temporary_leaves_its_intent_for_it_may_have_been_renamed() {
    let (_folder, path) = place();
    let ledger = Ledger::open(path).unwrap();
    ledger.begin(beginning("a", "f1")).await.unwrap();
    ledger.announce(".a.tif".as_ref()).await.unwrap();
    ledger.intend(intent("a", "a.tif", 7)).await.unwrap();
    ledger.miss_temporary(".a.tif".as_ref()).await.unwrap();
    let outputs = ledger.snapshot().await.unwrap().entries["a"].outputs.clone();
    assert_eq!(
        outputs.iter().map(|output| (output.inode, output.is_committed)).collect::<Vec<_>>(),
        [(Some(7), false)]
    );
}

#[tokio::test]
async fn a_forgotten_temporary_takes_its_intent_along() {
    let (_folder, path) = place();
    let ledger = Ledger::open(path).unwrap();
    ledger.begin(beginning("a", "f1")).await.unwrap();
    ledger.intend(intent("a", "a.tif", 7)).await.unwrap();
    ledger.forget_temporary(".a.tif".as_ref()).await.unwrap();
    assert!(ledger.snapshot().await.unwrap().entries["a"].outputs.is_empty());
}

#[tokio::test]
async fn what_was_placed_is_known_whatever_its_size_and_after_everything_is_forgotten() {
    let (_folder, path) = place();
    let ledger = Ledger::open(path).unwrap();
    write_one(&ledger, "a", "a.tif", "f1", 7).await;
    ledger.intend(Intent { size: 99, ..intent("a", "b.tif", 8) }).await.unwrap();

    ledger.forget_all().await.unwrap();
    let snapshot = ledger.snapshot().await.unwrap();
    assert!(snapshot.entries.is_empty());
    assert!(snapshot.owns("a.tif", 20) && snapshot.owns("a.tif", 0));
    assert!(snapshot.owns("b.tif", 99) && !snapshot.owns("b.tif", 98));
    assert!(!snapshot.owns("c.tif", 20));
}

fn kept(item: &str, window: (i64, i64), part: u32) -> KeptRows {
    let place = RowsPlace { item: item.into(), window, part };
    KeptRows { place, fingerprint: "f".into(), rows: "[1]".into() }
}

fn begun_with(item: &str, fingerprint: &str, options: &str) -> Beginning {
    let manifest = Manifest { inputs: "".into(), options: options.into() };
    Beginning { item: item.into(), fingerprint: fingerprint.into(), manifest, outputs: None }
}

#[tokio::test]
async fn rows_come_back_page_by_page_in_the_order_of_items_and_windows() {
    let (_folder, path) = place();
    let ledger = Ledger::open(path).unwrap();
    for item in ["c", "a", "b"] {
        ledger.begin(begun_with(item, "f", "now")).await.unwrap();
    }
    let places = [
        ("c", (0, 0), 0),
        ("a", (10, 2), 0),
        ("a", (-1, 3), 0),
        ("a", (10, 1), 1),
        ("a", (10, 1), 0),
        ("b", (0, 0), 0),
    ];
    for (item, window, part) in places {
        ledger.keep_rows("table".into(), kept(item, window, part)).await.unwrap();
    }
    ledger.keep_rows("table".into(), kept("a", (10, 1), 1)).await.unwrap();
    ledger.keep_rows("other".into(), kept("a", (0, 0), 0)).await.unwrap();
    for item in ["c", "a", "b"] {
        ledger.finish(item.into()).await.unwrap();
    }
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = ledger.rows_after("table".into(), "now".into(), after, 5).await.unwrap();
        let Some(last) = page.last() else { break };
        assert!(page.len() <= 2, "two texts of three bytes fill five");
        after = Some(last.place.clone());
        all.extend(page);
    }
    let expected = [
        kept("a", (-1, 3), 0),
        kept("a", (10, 1), 0),
        kept("a", (10, 1), 1),
        kept("a", (10, 2), 0),
        kept("b", (0, 0), 0),
        kept("c", (0, 0), 0),
    ];
    assert_eq!(all, expected);
}

#[tokio::test]
async fn only_rows_of_items_that_are_done_with_the_present_options_count() {
    let (_folder, path) = place();
    let ledger = Ledger::open(path).unwrap();
    let cases =
        [("done", "f", "now"), ("unfinished", "f", "now"), ("changed", "g", "now"), ("older", "f", "before")];
    for (item, fingerprint, options) in cases {
        ledger.begin(begun_with(item, fingerprint, options)).await.unwrap();
        ledger.keep_rows("table".into(), kept(item, (0, 0), 0)).await.unwrap();
        if item != "unfinished" {
            ledger.finish(item.into()).await.unwrap();
        }
    }
    let read = async || ledger.rows_after("table".into(), "now".into(), None, 1000).await.unwrap();
    assert_eq!(read().await, [kept("done", (0, 0), 0)]);
    ledger.forget_stale_rows("table".into()).await.unwrap();
    ledger.finish("unfinished".into()).await.unwrap();
    assert_eq!(read().await, [kept("done", (0, 0), 0), kept("unfinished", (0, 0), 0)]);
}

#[tokio::test]
async fn a_second_run_is_refused_with_the_holders_process() {
    let (_folder, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    let refused = Ledger::open(&path).unwrap_err();
    assert!(matches!(&refused, LedgerError::InUse { .. }));
    assert!(refused.to_string().contains(&format!("in use by process {}", std::process::id())), "{refused}");
    ledger.close().await.unwrap();
    assert!(Ledger::open(&path).is_ok());
}

#[tokio::test]
async fn a_closed_ledger_says_so() {
    let (_folder, path) = place();
    let ledger = Ledger::open(path).unwrap();
    ledger.close().await.unwrap();
    assert!(matches!(ledger.finish("a".into()).await, Err(LedgerError::Closed { .. })));
    assert!(matches!(ledger.close().await, Err(LedgerError::Closed { .. })));
}

#[tokio::test]
async fn a_failed_write_is_told_to_all_who_come_after() {
    let (_folder, path) = place();
    let ledger = Ledger::open(path).unwrap();
    ledger.begin(beginning("a", "f1")).await.unwrap();
    ledger.break_for_test().await;
    assert!(matches!(ledger.intend(intent("a", "a.tif", 7)).await, Err(LedgerError::Database { .. })));
    assert!(matches!(ledger.finish("a".into()).await, Err(LedgerError::Database { .. })));
}

/// Every file that is no current ledger is refused by writers and readers alike, and left as it is.
#[test]
fn files_that_are_no_ledger_are_refused_untouched() {
    let foreign = |path: &Path| {
        Connection::open(path).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    };
    let newer = |path: &Path| {
        let db = Connection::open(path).unwrap();
        db.execute_batch(include_str!("fixtures/v1.sql")).unwrap();
        db.execute_batch("PRAGMA user_version = 999").unwrap();
    };
    let cut = |path: &Path| {
        Connection::open(path).unwrap().execute_batch(include_str!("fixtures/v1.sql")).unwrap();
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    };
    let text =
        |path: &Path| fs::write(path, "GIF89a is no ledger, and long enough to have a header").unwrap();
    let cases: [(&dyn Fn(&Path), &str); 4] = [
        (&foreign, "it is a SQLite database of another program"),
        (&newer, "has version 999, and this gisrun reads up to 2"),
        (&cut, "is damaged"),
        (&text, "it is no SQLite database"),
    ];
    for (make, expected) in cases {
        let (_folder, path) = place();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        make(&path);
        let before = fs::read(&path).unwrap();
        for refused in [Ledger::open(&path).unwrap_err(), Snapshot::read(&path).unwrap_err()] {
            assert!(refused.to_string().contains(expected), "{refused}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[test]
fn reading_a_ledger_that_is_not_there_makes_none() {
    let (_folder, path) = place();
    assert!(Snapshot::read(&path).unwrap().entries.is_empty());
    assert!(!path.parent().unwrap().exists());
}

#[tokio::test]
async fn a_ledger_of_version_1_loads() {
    let (_folder, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    Connection::open(&path).unwrap().execute_batch(include_str!("fixtures/v1.sql")).unwrap();
    let ledger = Ledger::open(&path).unwrap();
    let snapshot = ledger.snapshot().await.unwrap();
    let states = ["done", "failed", "interrupted"].map(|id| snapshot.entries[id].state);
    assert_eq!(states, [State::Done, State::Failed, State::Running]);
    assert_eq!(snapshot.entries["done"].attempts, 2);
    assert_eq!(snapshot.entries["failed"].failure.as_ref().unwrap().message, "no CRS");
    assert_eq!(snapshot.entries["interrupted"].outputs[0].inode, Some(u64::MAX));
    assert!(snapshot.owns("out/done.tif", 20) && !snapshot.owns("out/never.tif", 20));
    assert_eq!(snapshot.limits["connections"], 48);
    let options = snapshot.entries["done"].manifest.options.clone();
    let rows = ledger.rows_after("table".into(), options, None, 9).await.unwrap();
    assert_eq!(rows[0].rows, r#"[["mean",1.5]]"#);
}
