//! What is written, one function a fact.

use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::entry::class_name;
use super::{Beginning, Intent, KeptRows, PastFailure, RowsPlace, State};
use crate::ids::{ItemId, ResourceName, StageName};

/// An item begins, or begins again: what it failed with before is forgotten, its outputs stay owned.
pub(super) fn begin(db: &Connection, beginning: &Beginning) -> Result<()> {
    let Beginning { item, fingerprint, manifest, outputs } = beginning;
    let options = intern(db, &manifest.options)?;
    db.prepare_cached(
        "INSERT INTO items (id, state, fingerprint, inputs, options, expects, attempts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1)
         ON CONFLICT (id) DO UPDATE SET state = ?2, fingerprint = ?3, inputs = ?4, options = ?5, expects = ?6,
             attempts = attempts + 1, failure_stage = NULL, failure_class = NULL, failure_message = NULL",
    )?
    .execute(params![
        item.as_str(),
        State::Running.as_str(),
        fingerprint,
        manifest.inputs,
        options,
        outputs
    ])?;
    Ok(())
}

/// The number of an options text, which is kept once.
fn intern(db: &Connection, text: &str) -> Result<i64> {
    let known = db
        .prepare_cached("SELECT id FROM options WHERE text = ?1")?
        .query_row([text], |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        return Ok(id);
    }
    db.prepare_cached("INSERT INTO options (text) VALUES (?1)")?.insert([text])
}

/// A temporary file is about to be made.
pub(super) fn announce(db: &Connection, path: &str) -> Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO temporaries VALUES (?1)")?.execute([path])?;
    Ok(())
}

/// A temporary file is gone, and with it what was intended for it: its inode may be another file's next.
pub(super) fn forget_temporary(db: &Connection, path: &str) -> Result<()> {
    db.prepare_cached("DELETE FROM temporaries WHERE path = ?1")?.execute([path])?;
    db.prepare_cached("DELETE FROM intents WHERE temporary = ?1")?.execute([path])?;
    Ok(())
}

/// A temporary file is not there: it was never made, or it has its final name. What was intended for it stays.
pub(super) fn miss_temporary(db: &Connection, path: &str) -> Result<()> {
    db.prepare_cached("DELETE FROM temporaries WHERE path = ?1")?.execute([path])?;
    Ok(())
}

/// A temporary file is about to get its final name.
pub(super) fn intend(db: &Connection, intent: &Intent) -> Result<()> {
    let temporary = intent.temporary.as_ref().map(|path| path.to_string_lossy());
    db.prepare_cached(
        "INSERT OR REPLACE INTO intents (location, item, stage, fingerprint, size, inode, temporary)
         VALUES (?1, ?2, ?3, coalesce((SELECT fingerprint FROM items WHERE id = ?2), ''), ?4, ?5, ?6)",
    )?
    .execute(params![
        intent.location,
        intent.item.as_str(),
        intent.stage.as_str(),
        intent.size as i64,
        intent.inode.map(|inode| inode as i64),
        temporary
    ])?;
    Ok(())
}

/// What was intended for a place is there.
pub(super) fn commit_output(db: &Connection, location: &str) -> Result<()> {
    db.prepare_cached(
        "DELETE FROM temporaries WHERE path = (SELECT temporary FROM intents WHERE location = ?1)",
    )?
    .execute([location])?;
    db.prepare_cached(
        "INSERT OR REPLACE INTO outputs (location, item, stage, fingerprint, size, inode)
         SELECT location, item, stage, fingerprint, size, inode FROM intents WHERE location = ?1",
    )?
    .execute([location])?;
    db.prepare_cached("DELETE FROM intents WHERE location = ?1")?.execute([location])?;
    Ok(())
}

/// Every stage did its work.
pub(super) fn finish(db: &Connection, item: &ItemId) -> Result<()> {
    db.prepare_cached("UPDATE items SET state = ?2 WHERE id = ?1")?
        .execute(params![item.as_str(), State::Done.as_str()])?;
    Ok(())
}

/// What was intended for the item is there, and it is done.
pub(super) fn adopt(db: &Connection, item: &ItemId) -> Result<()> {
    let locations: Vec<String> = db
        .prepare_cached("SELECT location FROM intents WHERE item = ?1")?
        .query_map([item.as_str()], |row| row.get(0))?
        .collect::<Result<_>>()?;
    locations.iter().try_for_each(|location| commit_output(db, location))?;
    finish(db, item)
}

/// A stage failed for good.
pub(super) fn fail(db: &Connection, item: &ItemId, failure: &PastFailure) -> Result<()> {
    db.prepare_cached(
        "UPDATE items SET state = ?2, failure_stage = ?3, failure_class = ?4, failure_message = ?5
         WHERE id = ?1",
    )?
    .execute(params![
        item.as_str(),
        State::Failed.as_str(),
        failure.stage.as_str(),
        class_name(failure.class),
        failure.message
    ])?;
    Ok(())
}

/// Keeps rows of an item for a table, in place of earlier ones of the same place and the parts that follow it.
pub(super) fn keep_rows(db: &Connection, stage: &StageName, kept: &KeptRows) -> Result<()> {
    let RowsPlace { item, window: (row, col), part } = &kept.place;
    db.prepare_cached(
        "DELETE FROM rows WHERE stage = ?1 AND item = ?2 AND row = ?3 AND col = ?4 AND part >= ?5",
    )?
    .execute(params![stage.as_str(), item.as_str(), row, col, part])?;
    db.prepare_cached("INSERT INTO rows (stage, item, row, col, part, fingerprint, rows) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
        .execute(params![stage.as_str(), item.as_str(), row, col, part, kept.fingerprint, kept.rows])?;
    Ok(())
}

/// Forgets rows for a table that no item stands behind any more: those of other inputs or options.
pub(super) fn forget_stale_rows(db: &Connection, stage: &StageName) -> Result<()> {
    db.prepare_cached(
        "DELETE FROM rows WHERE stage = ?1 AND NOT EXISTS
             (SELECT 1 FROM items WHERE items.id = rows.item AND items.fingerprint = rows.fingerprint)",
    )?
    .execute([stage.as_str()])?;
    Ok(())
}

/// The rows of items that are done with these options, after a place, in order: as many as fill `bytes`, one at least.
pub(super) fn rows_after(
    db: &Connection,
    stage: &StageName,
    options: &str,
    after: Option<&RowsPlace>,
    bytes: usize,
) -> Result<Vec<KeptRows>> {
    let start = RowsPlace { item: "".into(), window: (i64::MIN, i64::MIN), part: 0 };
    let RowsPlace { item, window: (row, col), part } = after.unwrap_or(&start);
    let mut statement = db.prepare_cached(
        "SELECT rows.item, rows.row, rows.col, rows.part, rows.fingerprint, rows.rows FROM rows
         JOIN items ON items.id = rows.item AND items.fingerprint = rows.fingerprint
         WHERE rows.stage = ?1 AND (rows.item, rows.row, rows.col, rows.part) > (?2, ?3, ?4, ?5)
             AND items.state = ?6 AND items.options = (SELECT id FROM options WHERE text = ?7)
         ORDER BY rows.item, rows.row, rows.col, rows.part",
    )?;
    let state = State::Done.as_str();
    let mut found =
        statement.query(params![stage.as_str(), item.as_str(), row, col, part, state, options])?;
    let (mut page, mut held) = (Vec::new(), 0);
    while held < bytes
        && let Some(row) = found.next()?
    {
        let kept = kept_rows(row)?;
        held += kept.rows.len();
        page.push(kept);
    }
    Ok(page)
}

fn kept_rows(row: &Row) -> Result<KeptRows> {
    let item = row.get::<_, String>(0)?.into();
    let place = RowsPlace { item, window: (row.get(1)?, row.get(2)?), part: row.get(3)? };
    Ok(KeptRows { place, fingerprint: row.get::<_, String>(4)?.into(), rows: row.get(5)? })
}

/// What an adaptive limit came to.
pub(super) fn remember_limit(db: &Connection, resource: &ResourceName, value: u64) -> Result<()> {
    db.prepare_cached("INSERT OR REPLACE INTO limits (resource, value) VALUES (?1, ?2)")?
        .execute(params![resource.as_str(), value as i64])?;
    Ok(())
}

/// Forgets every item and its rows. Which files are ours stays known, else they could not be replaced.
pub(super) fn forget_all(db: &Connection) -> Result<()> {
    db.execute_batch("DELETE FROM items; DELETE FROM rows; DELETE FROM options; DELETE FROM limits;")
}

/// Temporary files that were announced or intended and are not known to be gone.
pub(super) fn temporaries(db: &Connection) -> Result<Vec<String>> {
    db.prepare_cached(
        "SELECT path FROM temporaries UNION SELECT temporary FROM intents WHERE temporary IS NOT NULL",
    )?
    .query_map([], |row| row.get(0))?
    .collect()
}
