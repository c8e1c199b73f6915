//! The tables, and how older ledgers become current ones.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::LedgerError;

/// `gisr` in ASCII: marks the file as a ledger (SQLite's `application_id`).
const APPLICATION_ID: i32 = 0x6769_7372;

/// Each entry makes the version after it of the one before; the first makes version 1 of nothing.
/// Entries are never changed once released.
pub(super) const MIGRATIONS: &[&str] = &[
    // Options are the same for thousands of items, so their text is kept once.
    // An output stays owned while a new one for the same place is only intended, so the two are apart.
    // `outputs.item` has no foreign key: `--fresh` forgets items, not which files are ours.
    "
    CREATE TABLE options (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE items (
        id TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        inputs TEXT NOT NULL,
        options INTEGER NOT NULL REFERENCES options (id),
        expects INTEGER,
        attempts INTEGER NOT NULL,
        failure_stage TEXT,
        failure_class TEXT,
        failure_message TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE outputs (
        location TEXT PRIMARY KEY,
        item TEXT NOT NULL,
        stage TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        size INTEGER NOT NULL,
        inode INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE intents (
        location TEXT PRIMARY KEY,
        item TEXT NOT NULL,
        stage TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        size INTEGER NOT NULL,
        inode INTEGER,
        temporary TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX intents_item ON intents (item);
    CREATE TABLE temporaries (path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE rows (
        stage TEXT NOT NULL,
        item TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        rows TEXT NOT NULL,
        PRIMARY KEY (stage, item)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE limits (resource TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    ",
    // Rows of windows stand apart, so that a parent of a million windows is never one text. The key is the order in which
    // tables are read.
    "
    CREATE TABLE parts (
        stage TEXT NOT NULL,
        item TEXT NOT NULL,
        row INTEGER NOT NULL,
        col INTEGER NOT NULL,
        part INTEGER NOT NULL,
        fingerprint TEXT NOT NULL,
        rows TEXT NOT NULL,
        PRIMARY KEY (stage, item, row, col, part)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO parts SELECT stage, item, 0, 0, 0, fingerprint, rows FROM rows;
    DROP TABLE rows;
    ALTER TABLE parts RENAME TO rows;
    ",
];

/// Opens for writing: creates or migrates, in WAL mode.
///
/// With `synchronous = NORMAL` what was committed outlives a killed process at any moment. A power loss may take the
/// last commits along and leaves the ledger sound; syncing every commit would protect them too and cost each group
/// a sync (9 ms on an ordinary cloud disk), while the outputs themselves are not synced either.
pub(super) fn open_to_write(path: &Path) -> Result<Connection, LedgerError> {
    let sorted = |error| LedgerError::of_database(path, error);
    let mut db = Connection::open(path).map_err(sorted)?;
    let version = check(&db, path)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000;
         PRAGMA temp_store = MEMORY;",
    )
    .map_err(sorted)?;
    migrate(&mut db, version).map_err(sorted)?;
    Ok(db)
}

/// Opens for reading and writes nothing; `None` for a file that was created and never written.
///
/// It cannot migrate, so a migration that changes what a snapshot selects has to leave the old form readable.
pub(super) fn open_to_read(path: &Path) -> Result<Option<Connection>, LedgerError> {
    let sorted = |error| LedgerError::of_database(path, error);
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(sorted)?;
    Ok(if check(&db, path)? == 0 { None } else { Some(db) })
}

/// Back to a single file without a log beside it, so that readers need to write nothing.
pub(super) fn settle(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;")
}

/// The version of a sound ledger or of an empty file (0).
fn check(db: &Connection, path: &Path) -> Result<usize, LedgerError> {
    let sorted = |error| LedgerError::of_database(path, error);
    let application: i32 = pragma(db, "application_id").map_err(sorted)?;
    let version: u32 = pragma(db, "user_version").map_err(sorted)?;
    let tables: i64 =
        db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(sorted)?;
    if application == 0 && tables == 0 {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        let found = format!("it is a SQLite database of another program, with {tables} tables and indices");
        return Err(LedgerError::Foreign { path: path.to_owned(), found });
    }
    if version as usize > MIGRATIONS.len() {
        let known = MIGRATIONS.len() as u32;
        return Err(LedgerError::Newer { path: path.to_owned(), found: version, known });
    }
    match pragma::<String>(db, "quick_check(1)").map_err(sorted)?.as_str() {
        "ok" => Ok(version as usize),
        detail => Err(LedgerError::Corrupt { path: path.to_owned(), detail: detail.to_owned() }),
    }
}

fn pragma<T: rusqlite::types::FromSql>(db: &Connection, name: &str) -> rusqlite::Result<T> {
    db.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}

/// Brings a ledger from `version` to the current one, whole or not at all.
fn migrate(db: &mut Connection, version: usize) -> rusqlite::Result<()> {
    if version == MIGRATIONS.len() {
        return Ok(());
    }
    let transaction = db.transaction()?;
    for migration in &MIGRATIONS[version..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as u32)?;
    transaction.commit()
}
