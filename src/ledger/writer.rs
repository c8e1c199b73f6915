//! The one thread that writes: it takes queued jobs, commits them in groups, and answers those who wait.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::lock::Lock;
use super::{LedgerError, schema};

/// How long jobs that nobody waits for are gathered before they are committed. A killed process loses as much.
const GATHERING: Duration = Duration::from_millis(20);
/// The most jobs of one commit.
const LARGEST_GROUP: usize = 2000;

/// Something to write or read.
pub(super) type Work = Box<dyn FnOnce(&Connection) -> rusqlite::Result<()> + Send>;
/// What became of the commit.
pub(super) type Answer = Result<(), LedgerError>;

/// One entry of the queue.
pub(super) enum Job {
    /// To be committed some time soon.
    Write(Work),
    /// To be committed as soon as possible; somebody waits for the answer.
    Urgent(Work, oneshot::Sender<Answer>),
    /// After everything before it: settle the file and end.
    Close(oneshot::Sender<Answer>),
}

/// What the thread owns.
pub(super) struct Writer {
    pub(super) path: PathBuf,
    pub(super) db: Connection,
    /// The first failure; from then on nothing is written, so that what is there stays in order.
    pub(super) failure: Arc<OnceLock<LedgerError>>,
    /// Released after the file is settled.
    pub(super) lock: Lock,
}

impl Writer {
    /// Works until it is told to close or every handle is dropped.
    pub(super) async fn run(self, mut jobs: mpsc::Receiver<Job>) {
        let mut closing = None;
        while closing.is_none()
            && let Some(first) = jobs.recv().await
        {
            let group = gather(first, &mut jobs).await;
            closing = self.commit(group);
        }
        drop(jobs);
        let answer = self.settle();
        if let Some(closing) = closing {
            answer_to(closing, answer);
        }
    }

    /// Commits a group and answers; the answer that is owed when the group ends with a close.
    fn commit(&self, group: Vec<Job>) -> Option<oneshot::Sender<Answer>> {
        let (mut works, mut waiting, mut closing) = (Vec::new(), Vec::new(), None);
        for job in group {
            match job {
                Job::Write(work) => works.push(work),
                Job::Urgent(work, answer) => {
                    works.push(work);
                    waiting.push(answer);
                }
                Job::Close(answer) => closing = Some(answer),
            }
        }
        let answer = self.write(works);
        for waiting in waiting {
            answer_to(waiting, answer.clone());
        }
        closing
    }

    fn write(&self, works: Vec<Work>) -> Answer {
        if let Some(failure) = self.failure.get() {
            return Err(failure.clone());
        }
        self.write_all(works).map_err(|error| {
            let failure = LedgerError::of_database(&self.path, error);
            self.failure.get_or_init(|| failure).clone()
        })
    }

    fn write_all(&self, works: Vec<Work>) -> rusqlite::Result<()> {
        // Nobody else writes through this connection, so nothing is nested.
        let transaction = self.db.unchecked_transaction()?;
        works.into_iter().try_for_each(|work| work(&transaction))?;
        transaction.commit()
    }

    fn settle(self) -> Answer {
        let settled = schema::settle(&self.db).map_err(|error| LedgerError::of_database(&self.path, error));
        drop(self.db);
        drop(self.lock);
        self.failure.get().cloned().map_or(settled, Err)
    }
}

/// The jobs of one commit: all that are queued, and while nobody waits, what comes within a moment.
async fn gather(first: Job, jobs: &mut mpsc::Receiver<Job>) -> Vec<Job> {
    let until = Instant::now() + GATHERING;
    let mut group = vec![first];
    while group.len() < LARGEST_GROUP {
        let next = match jobs.try_recv() {
            Ok(job) => Some(job),
            Err(_) if group.iter().any(is_urgent) => None,
            Err(_) => timeout_at(until, jobs.recv()).await.ok().flatten(),
        };
        match next {
            Some(job) => group.push(job),
            None => break,
        }
    }
    group
}

fn is_urgent(job: &Job) -> bool {
    !matches!(job, Job::Write(_))
}

fn answer_to(waiting: oneshot::Sender<Answer>, answer: Answer) {
    // Who no longer waits was cancelled and needs no answer.
    drop(waiting.send(answer));
}
