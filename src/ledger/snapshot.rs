//! Everything a ledger knows, read at once.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, Result, Row};

use super::entry::class_of;
use super::schema::open_to_read;
use super::{Entry, LedgerError, Manifest, Output, PastFailure, State};
use crate::ids::{ItemId, ResourceName};

/// Everything a ledger knows, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// What is known of each item.
    pub entries: HashMap<ItemId, Entry>,
    /// What the adaptive limits came to, for the next run's start.
    pub limits: BTreeMap<ResourceName, u64>,
    /// What this pipeline has put, or was about to put, at each location.
    placed: HashMap<Arc<str>, Placed>,
}

/// What this pipeline has put at a location.
#[derive(Clone, Debug, Default)]
struct Placed {
    /// Whether a file is known to have come to stand there.
    is_committed: bool,
    /// Bytes of those that were about to.
    intended: Vec<u64>,
}

impl Placed {
    fn add(&mut self, output: &Output) {
        if output.is_committed {
            self.is_committed = true;
        } else {
            self.intended.push(output.size);
        }
    }
}

impl Snapshot {
    /// Reads a ledger and writes nothing; a ledger that is not there knows nothing. A run may be using it.
    ///
    /// # Errors
    /// A file that is no ledger, damaged, or of a newer version.
    pub fn read(path: &Path) -> std::result::Result<Self, LedgerError> {
        if !path.exists() {
            return Ok(Self::default());
        }
        match open_to_read(path)? {
            Some(db) => Self::load(&db).map_err(|error| LedgerError::of_database(path, error)),
            None => Ok(Self::default()),
        }
    }

    /// Whether the file of so many bytes that stands at a location is this pipeline's to replace: one was put there, and
    /// may have been cut off or changed since; or a run was about to put one of this size there when it ended.
    pub fn owns(&self, location: &str, size: u64) -> bool {
        self.placed.get(location).is_some_and(|placed| placed.is_committed || placed.intended.contains(&size))
    }

    pub(super) fn load(db: &Connection) -> Result<Self> {
        let mut snapshot = Self { entries: load_entries(db)?, limits: load_limits(db)?, ..Self::default() };
        snapshot.load_outputs(db)?;
        Ok(snapshot)
    }

    /// Hands the outputs to their items; those of forgotten items are known all the same.
    fn load_outputs(&mut self, db: &Connection) -> Result<()> {
        let mut statement = db.prepare(
            "SELECT item, stage, location, fingerprint, size, inode, 1 AS is_committed FROM outputs
             UNION ALL SELECT item, stage, location, fingerprint, size, inode, 0 FROM intents
             ORDER BY location, is_committed DESC",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (item, output) = (ItemId::from(text(row, 0)?), output(row)?);
            self.placed.entry(Arc::clone(&output.location)).or_default().add(&output);
            if let Some(entry) = self.entries.get_mut(&item) {
                entry.outputs.push(output);
            }
        }
        Ok(())
    }
}

fn load_entries(db: &Connection) -> Result<HashMap<ItemId, Entry>> {
    let options = load_options(db)?;
    let mut statement = db.prepare(
        "SELECT id, state, fingerprint, inputs, options, expects, attempts,
                failure_stage, failure_class, failure_message FROM items",
    )?;
    let mut rows = statement.query([])?;
    let mut entries = HashMap::new();
    while let Some(row) = rows.next()? {
        entries.insert(text(row, 0)?.into(), entry(row, &options)?);
    }
    Ok(entries)
}

fn load_options(db: &Connection) -> Result<HashMap<i64, Arc<str>>> {
    db.prepare("SELECT id, text FROM options")?
        .query_map([], |row| Ok((row.get(0)?, text(row, 1)?)))?
        .collect()
}

fn load_limits(db: &Connection) -> Result<BTreeMap<ResourceName, u64>> {
    db.prepare("SELECT resource, value FROM limits")?
        .query_map([], |row| Ok((text(row, 0)?.into(), row.get::<_, i64>(1)? as u64)))?
        .collect()
}

fn entry(row: &Row, options: &HashMap<i64, Arc<str>>) -> Result<Entry> {
    let manifest =
        Manifest { inputs: text(row, 3)?, options: options.get(&row.get(4)?).cloned().unwrap_or_default() };
    Ok(Entry {
        // A state that nobody knows is one that did not end.
        state: State::parse(row.get_ref(1)?.as_str()?).unwrap_or(State::Running),
        fingerprint: text(row, 2)?,
        manifest,
        expects: row.get(5)?,
        attempts: row.get(6)?,
        failure: failure(row)?,
        outputs: Vec::new(),
    })
}

fn failure(row: &Row) -> Result<Option<PastFailure>> {
    let Some(stage) = row.get::<_, Option<String>>(7)? else { return Ok(None) };
    let class = row.get::<_, Option<String>>(8)?.unwrap_or_default();
    let message = row.get::<_, Option<String>>(9)?.unwrap_or_default();
    Ok(Some(PastFailure { stage: stage.into(), class: class_of(&class), message }))
}

fn output(row: &Row) -> Result<Output> {
    Ok(Output {
        stage: text(row, 1)?.into(),
        location: text(row, 2)?,
        fingerprint: text(row, 3)?,
        size: row.get::<_, i64>(4)? as u64,
        inode: row.get::<_, Option<i64>>(5)?.map(|inode| inode as u64),
        is_committed: row.get(6)?,
    })
}

fn text(row: &Row, column: usize) -> Result<Arc<str>> {
    Ok(Arc::from(row.get_ref(column)?.as_str()?))
}
