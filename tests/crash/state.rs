//! What a killed run left behind, read from copies so that looking changes nothing.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use gisrun::events::{Event, read_records};
use rusqlite::Connection;

/// The ledger and the outputs at one moment.
pub(crate) struct State {
    pub(crate) done: Done,
    pub(crate) intents: u64,
    pub(crate) temporaries: u64,
}

/// Items that are done, each with the inode of its output: its ledger says so, or its file is the one that was meant.
#[derive(Default)]
pub(crate) struct Done(BTreeMap<String, u64>);

impl State {
    /// Fails when the ledger does not open or is not sound.
    pub(crate) fn of(folder: &Path) -> Self {
        let temporaries =
            outputs(folder).filter(|path| path.to_string_lossy().contains("gisrun-partial")).count() as u64;
        let copy = tempfile::tempdir().unwrap();
        for name in ["job.sqlite", "job.sqlite-wal"] {
            let original = folder.join(".gisrun").join(name);
            if original.exists() {
                fs::copy(original, copy.path().join(name)).unwrap();
            }
        }
        let db = Connection::open(copy.path().join("job.sqlite")).unwrap();
        let check: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
        let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        if tables == 0 {
            return Self { done: Done::default(), intents: 0, temporaries };
        }
        let (intended, committed) = (files(&db, "intents"), files(&db, "outputs"));
        let stands = |(item, location, inode): &(String, String, u64)| {
            let found = fs::metadata(location).ok()?.ino();
            (found == *inode).then(|| (item.clone(), found))
        };
        let done = committed.iter().chain(&intended).filter_map(stands).collect();
        Self { done: Done(done), intents: intended.len() as u64, temporaries }
    }
}

impl Done {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The last run skipped all of them, worked on none, and their files are the same as before.
    pub(crate) fn assert_skipped_and_untouched(&self, folder: &Path) {
        let events = events(folder);
        let skipped = |event: &Event| match event {
            Event::ItemSkipped { item, .. } => Some(item.to_string()),
            _ => None,
        };
        let skipped: Vec<String> = events.iter().filter_map(skipped).collect();
        for (item, inode) in &self.0 {
            assert!(skipped.contains(item), "`{item}` was done and is not skipped");
            let found = fs::metadata(folder.join(format!("out/{item}.tif"))).unwrap().ino();
            assert_eq!(found, *inode, "the file of `{item}`, which was done");
        }
        self.assert_not_begun_again(folder);
    }

    /// The last run, as far as its record goes, worked on none of them.
    pub(crate) fn assert_not_begun_again(&self, folder: &Path) {
        for event in events(folder) {
            if let Event::StageStarted { stage, item, .. } = event {
                assert!(!self.0.contains_key(item.as_str()), "`{item}` was done and is at `{stage}` again");
            }
        }
    }
}

/// (item, location, inode) of a table's rows.
fn files(db: &Connection, table: &str) -> Vec<(String, String, u64)> {
    let mut rows = db.prepare(&format!("SELECT item, location, inode FROM {table}")).unwrap();
    let rows = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?.cast_unsigned())))
        .unwrap();
    rows.map(Result::unwrap).collect()
}

/// The events of the last run up to where it was killed; its last line may be cut short.
fn events(folder: &Path) -> Vec<Event> {
    let Ok(file) = File::open(folder.join(".gisrun/job.run.jsonl")) else { return Vec::new() };
    read_records(file).map_while(Result::ok).map(|record| record.event).collect()
}

fn outputs(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder.join("out")).into_iter().flatten().map(|entry| entry.unwrap().path())
}
