//! The ledger as the rest of the program sees it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::lock::Lock;
use super::writer::{Job, Work, Writer};
use super::{
    Beginning, Intent, KeptRows, LedgerError, PastFailure, RowsPlace, Snapshot, schema, statements as sql,
};
use crate::ids::{ItemId, ResourceName, StageName};

/// Jobs that may wait for the thread; more make the callers wait.
const QUEUE: usize = 4096;

/// An open ledger. Cloning shares it. Every call waits while the queue is full.
///
/// Facts are written in the order in which they were told. `intend`, `announce` and reads return when theirs is
/// committed; all others return when it is queued, and a failure shows at the next call and at `close`.
#[derive(Clone, Debug)]
pub struct Ledger {
    path: Arc<Path>,
    jobs: mpsc::Sender<Job>,
    failure: Arc<OnceLock<LedgerError>>,
}

impl Ledger {
    /// Opens or creates a ledger, its folder too, and locks it for this process until it is closed or the process
    /// ends. Blocks while it reads and checks the file.
    ///
    /// # Errors
    /// Another run holds it; the file is no ledger, damaged, or of a newer version; the disk says no.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, LedgerError> {
        let path: PathBuf = path.into();
        let lock = Lock::take(&path)?;
        let db = schema::open_to_write(&path)?;
        let failure = Arc::new(OnceLock::new());
        let (jobs, queue) = mpsc::channel(QUEUE);
        let ledger = Self { path: path.as_path().into(), jobs, failure: Arc::clone(&failure) };
        let writer = Writer { path, db, failure, lock };
        start(writer, queue).map_err(|error| LedgerError::unreachable(&ledger.path, error))?;
        Ok(ledger)
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All that it knows, everything told before this call included.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn snapshot(&self) -> Result<Snapshot, LedgerError> {
        self.read(Snapshot::load).await
    }

    /// An item begins, or begins again.
    ///
    /// # Errors
    /// An earlier write failed.
    pub async fn begin(&self, beginning: Beginning) -> Result<(), LedgerError> {
        self.write(move |db| sql::begin(db, &beginning)).await
    }

    /// A temporary file is about to be made. Returns when that is committed, so that a later run finds
    /// the file.
    ///
    /// # Errors
    /// It is not committed.
    pub async fn announce(&self, temporary: &Path) -> Result<(), LedgerError> {
        let path = temporary.to_string_lossy().into_owned();
        self.urgently(move |db| sql::announce(db, &path)).await
    }

    /// A temporary file is gone.
    ///
    /// # Errors
    /// An earlier write failed.
    pub async fn forget_temporary(&self, temporary: &Path) -> Result<(), LedgerError> {
        let path = temporary.to_string_lossy().into_owned();
        self.write(move |db| sql::forget_temporary(db, &path)).await
    }

    /// A temporary file of a run that died is not there. It was never made, or it has its final name: what was
    /// intended for it is kept, and counts if a file of its inode stands there.
    ///
    /// # Errors
    /// An earlier write failed.
    pub async fn miss_temporary(&self, temporary: &Path) -> Result<(), LedgerError> {
        let path = temporary.to_string_lossy().into_owned();
        self.write(move |db| sql::miss_temporary(db, &path)).await
    }

    /// A temporary file is about to get its final name. Returns when that is committed, so that it
    /// outlives a killed process: rename after it, not before. Dropping the future may leave the
    /// intent written, which is harmless: it counts only with a file of its inode.
    ///
    /// # Errors
    /// It is not committed; do not rename.
    pub async fn intend(&self, intent: Intent) -> Result<(), LedgerError> {
        self.urgently(move |db| sql::intend(db, &intent)).await
    }

    /// What was intended for this location has its name.
    ///
    /// # Errors
    /// An earlier write failed.
    pub async fn commit_output(&self, location: Arc<str>) -> Result<(), LedgerError> {
        self.write(move |db| sql::commit_output(db, &location)).await
    }

    /// Every stage did its work on the item.
    ///
    /// # Errors
    /// An earlier write failed.
    pub async fn finish(&self, item: ItemId) -> Result<(), LedgerError> {
        self.write(move |db| sql::finish(db, &item)).await
    }

    /// The item is done although the run that did it could not say so: see [`super::Verdict::Adopt`].
    ///
    /// # Errors
    /// An earlier write failed.
    pub async fn adopt(&self, item: ItemId) -> Result<(), LedgerError> {
        self.write(move |db| sql::adopt(db, &item)).await
    }

    /// A stage failed on the item for good.
    ///
    /// # Errors
    /// An earlier write failed.
    pub async fn fail(&self, item: ItemId, failure: PastFailure) -> Result<(), LedgerError> {
        self.write(move |db| sql::fail(db, &item, &failure)).await
    }

    /// Keeps rows of an item for the table of a stage, in place of earlier ones. Told before `finish`, they are there
    /// whenever the item is done. Parts of one place are told in their order.
    ///
    /// # Errors
    /// An earlier write failed.
    pub async fn keep_rows(&self, stage: StageName, rows: KeptRows) -> Result<(), LedgerError> {
        self.write(move |db| sql::keep_rows(db, &stage, &rows)).await
    }

    /// Forgets rows for the table of a stage whose items have other inputs or options by now.
    ///
    /// # Errors
    /// An earlier write failed.
    pub async fn forget_stale_rows(&self, stage: StageName) -> Result<(), LedgerError> {
        self.write(move |db| sql::forget_stale_rows(db, &stage)).await
    }

    /// Rows for the table of a stage, of items that are done and were made with these options (as in their manifest), in
    /// order, after `after`: a page of about so many bytes, so that a table of millions of rows is never in memory at
    /// once. An empty page is the end.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn rows_after(
        &self,
        stage: StageName,
        options: Arc<str>,
        after: Option<RowsPlace>,
        bytes: usize,
    ) -> Result<Vec<KeptRows>, LedgerError> {
        self.read(move |db| sql::rows_after(db, &stage, &options, after.as_ref(), bytes)).await
    }

    /// What an adaptive limit came to: the next run's start.
    ///
    /// # Errors
    /// An earlier write failed.
    pub async fn remember_limit(&self, resource: ResourceName, value: u64) -> Result<(), LedgerError> {
        self.write(move |db| sql::remember_limit(db, &resource, value)).await
    }

    /// Forgets every item, its rows and the limits (`--fresh`). Which files are ours stays known, so that they may be
    /// replaced.
    ///
    /// # Errors
    /// It is not committed.
    pub async fn forget_all(&self) -> Result<(), LedgerError> {
        self.urgently(sql::forget_all).await
    }

    /// Temporary files of runs that died: announced or intended and not known to be gone. Remove them before new ones
    /// are announced, and [`Ledger::forget_temporary`] each, or [`Ledger::miss_temporary`] where there is none.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn temporaries(&self) -> Result<Vec<PathBuf>, LedgerError> {
        let paths = self.read(sql::temporaries).await?;
        Ok(paths.into_iter().map(PathBuf::from).collect())
    }

    /// Waits until everything told is committed, leaves one file without a log beside it, and releases the lock.
    ///
    /// # Errors
    /// Something told before is not committed.
    pub async fn close(&self) -> Result<(), LedgerError> {
        let (tx, rx) = oneshot::channel();
        self.send(Job::Close(tx)).await?;
        rx.await.map_err(|_| self.closed())?
    }

    /// Makes the next statement fail.
    #[cfg(test)]
    pub(super) async fn break_for_test(&self) {
        self.urgently(|db| db.execute_batch("DROP TABLE intents")).await.expect("it was whole");
    }

    async fn write(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), LedgerError> {
        self.send(Job::Write(Box::new(work))).await
    }

    async fn urgently(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), LedgerError> {
        let (tx, rx) = oneshot::channel();
        self.send(Job::Urgent(Box::new(work), tx)).await?;
        rx.await.map_err(|_| self.closed())?
    }

    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let (tx, rx) = oneshot::channel();
        let work: Work = Box::new(move |db| {
            drop(tx.send(query(db)?));
            Ok(())
        });
        self.urgently(work).await?;
        rx.await.map_err(|_| self.closed())
    }

    async fn send(&self, job: Job) -> Result<(), LedgerError> {
        if let Some(failure) = self.failure.get() {
            return Err(failure.clone());
        }
        self.jobs.send(job).await.map_err(|_| self.closed())
    }

    fn closed(&self) -> LedgerError {
        LedgerError::Closed { path: self.path.to_path_buf() }
    }
}

/// Runs the writer on a thread of its own: SQLite blocks, and its waits must not depend on the caller's clock.
fn start(writer: Writer, queue: mpsc::Receiver<Job>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    std::thread::Builder::new()
        .name("ledger".into())
        .spawn(move || runtime.block_on(writer.run(queue)))
        .map(drop)
}
