//! What the engine asks of and tells to the ledger.
//!
//! What earlier runs left is read once at the start, the files it names are looked at once on a blocking thread, and
//! every item is judged from memory. What must be durable before going on is awaited ([`Commits`]).

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::task::TaskTracker;

use crate::contract::{Commits, Failure, Intended};
use crate::engine::Fingerprint;
use crate::engine::foresight::Foresight;
use crate::engine::standing::{self, Standings};
use crate::ids::{ItemId, ResourceName, StageName};
use crate::ledger::{
    Beginning, Intent, Ledger, LedgerError, PastFailure, Snapshot, Standing, Verdict, verdict,
};

/// Which items are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ask {
    /// Whatever is missing.
    #[default]
    Missing,
    /// Those that failed before (`--retry-failed`).
    Failed,
    /// These (`--only`).
    Only(Vec<ItemId>),
}

/// What is remembered of earlier runs, and the way to remember this one.
#[derive(Default)]
pub struct Memory {
    ledger: Option<Ledger>,
    earlier: Snapshot,
    standing: Standings,
    ask: Ask,
    /// Items that were asked for by name and have not come yet.
    awaited: Mutex<BTreeSet<ItemId>>,
    /// How many files each item makes, where that is the same for all.
    outputs: Option<u32>,
    /// The places that items of this run write to: hash of the place → hash of the item.
    claims: Mutex<HashMap<u64, u64>>,
    fingerprints: Mutex<HashMap<ItemId, Arc<str>>>,
    /// What is told as soon as the ledger has room.
    late: TaskTracker,
    /// Takes every verdict in, in place of a run.
    foresight: Option<Arc<Foresight>>,
}

impl Memory {
    /// Remembers nothing; for runs without a ledger.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads what a ledger knows and looks at the files it names; what is known of objects in stores is given. Blocks
    /// while it does.
    pub fn recollect(
        ledger: Ledger,
        earlier: Snapshot,
        objects: Standings,
        ask: Ask,
        outputs: Option<u32>,
    ) -> Self {
        let mut standing = standing::of_files(&earlier);
        standing.extend(objects);
        let awaited = match &ask {
            Ask::Only(ids) => Mutex::new(ids.iter().cloned().collect()),
            Ask::Failed | Ask::Missing => Mutex::default(),
        };
        Self { ledger: Some(ledger), earlier, standing, ask, awaited, outputs, ..Self::default() }
    }

    /// Judges items by what earlier runs left, and remembers nothing. Blocks while it looks at files.
    pub(crate) fn foreseeing(earlier: Snapshot, objects: Standings, foresight: Arc<Foresight>) -> Self {
        let mut standing = standing::of_files(&earlier);
        standing.extend(objects);
        Self { earlier, standing, foresight: Some(foresight), ..Self::default() }
    }

    /// Who takes the verdicts in, where nothing is run.
    pub(crate) fn foresight(&self) -> Option<&Foresight> {
        self.foresight.as_deref()
    }

    /// Where an adaptive limit stood at the end of the last run.
    pub(crate) fn limit_of(&self, resource: &ResourceName) -> Option<u64> {
        self.earlier.limits.get(resource).copied()
    }

    /// Why an item is not run: it is done, or it was not asked for.
    pub(crate) fn recall(&self, item: &ItemId, fingerprint: impl FnOnce() -> Fingerprint) -> Option<String> {
        let entry = self.earlier.entries.get(item);
        match &self.ask {
            Ask::Only(ids) if ids.contains(item) => {
                self.lock_awaited().remove(item);
                return None;
            }
            Ask::Only(_) => return Some("it was not asked for".into()),
            Ask::Failed if entry.is_none_or(|entry| entry.failure.is_none()) => {
                return Some("it did not fail before".into());
            }
            Ask::Failed | Ask::Missing => {}
        }
        match self.verdict_of(item, fingerprint) {
            Verdict::Done => Some("it is done".into()),
            Verdict::Adopt => {
                self.tell(item.clone(), |ledger, item| async move { ledger.adopt(item).await }.boxed());
                Some("it was done when the last run ended".into())
            }
            Verdict::Redo { .. } => None,
        }
    }

    /// What is to be done for an item, whatever was asked for. Its fingerprint is made only where there is one to compare it
    /// with.
    pub(crate) fn verdict_of(&self, item: &ItemId, fingerprint: impl FnOnce() -> Fingerprint) -> Verdict {
        let Some(entry) = self.earlier.entries.get(item) else { return Verdict::first() };
        let Fingerprint { hash, manifest } = fingerprint();
        verdict(entry, &hash, &manifest, |place| self.standing_at(place))
    }

    fn standing_at(&self, place: &str) -> Standing {
        self.standing.get(place).cloned().unwrap_or(Standing::Absent)
    }

    /// An item begins; waits while the ledger is behind, which holds admission back.
    pub(crate) async fn begin(&self, item: &ItemId, fingerprint: Fingerprint) {
        let Some(ledger) = &self.ledger else { return };
        self.lock_fingerprints().insert(item.clone(), fingerprint.hash.clone());
        let Fingerprint { hash, manifest } = fingerprint;
        let beginning = Beginning { item: item.clone(), fingerprint: hash, manifest, outputs: self.outputs };
        complain(ledger.begin(beginning).await);
    }

    /// Everything of an item is done.
    pub(crate) fn on_done(&self, item: &ItemId) {
        self.lock_fingerprints().remove(item);
        self.tell(item.clone(), |ledger, item| async move { ledger.finish(item).await }.boxed());
    }

    /// An item failed.
    pub(crate) fn on_failed(&self, item: &ItemId, stage: &StageName, failure: &Failure) {
        if let Some(foresight) = &self.foresight {
            foresight.on_failed(item, stage, failure);
        }
        self.lock_fingerprints().remove(item);
        let failure =
            PastFailure { stage: stage.clone(), class: failure.class, message: failure.message.clone() };
        self.tell(item.clone(), |ledger, item| async move { ledger.fail(item, failure).await }.boxed());
    }

    /// Waits until all is written; with what the adaptive limits came to.
    ///
    /// # Errors
    /// Something was not written.
    pub async fn close(&self, limits: &[(ResourceName, u64)]) -> Result<(), LedgerError> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
        for (resource, limit) in limits {
            ledger.remember_limit(resource.clone(), *limit).await?;
        }
        ledger.close().await
    }

    /// What a stage tells of an item's files.
    pub(crate) fn of(self: &Arc<Self>, item: &ItemId, stage: &StageName) -> ItemCommits {
        ItemCommits { memory: self.clone(), item: item.clone(), stage: stage.clone() }
    }

    /// Tells without waiting: at once while the ledger has room, else as soon as it has. Items that begin wait for the
    /// ledger, so no more than those under way can be behind.
    fn tell(
        &self,
        item: ItemId,
        told: impl FnOnce(Ledger, ItemId) -> BoxFuture<'static, Result<(), LedgerError>>,
    ) {
        let Some(ledger) = self.ledger.clone() else { return };
        let mut told = told(ledger, item);
        match (&mut told).now_or_never() {
            Some(result) => complain(result),
            None => drop(self.late.spawn(async move { complain(told.await) })),
        }
    }

    /// Waits until all that was told so far is in the ledger's queue, so that what is read next includes it.
    pub(crate) async fn settle(&self) {
        self.late.close();
        self.late.wait().await;
        self.late.reopen();
    }

    pub(crate) fn ledger(&self) -> Option<&Ledger> {
        self.ledger.as_ref()
    }

    /// The fingerprint of an item that is under way.
    pub(crate) fn fingerprint_of(&self, item: &ItemId) -> Option<Arc<str>> {
        self.lock_fingerprints().get(item).cloned()
    }

    /// The items that were asked for by name and that no source has listed.
    pub fn never_came(&self) -> Vec<ItemId> {
        self.lock_awaited().iter().cloned().collect()
    }

    fn lock_awaited(&self) -> std::sync::MutexGuard<'_, BTreeSet<ItemId>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_fingerprints(&self) -> std::sync::MutexGuard<'_, HashMap<ItemId, Arc<str>>> {
        self.fingerprints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A ledger that cannot be written shows at the next intent, which fails, and when it is closed.
fn complain(result: Result<(), LedgerError>) {
    if let Err(error) = result {
        tracing::error!(%error, "the ledger was not written");
    }
}

fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What one stage tells of one item's files.
pub(crate) struct ItemCommits {
    memory: Arc<Memory>,
    item: ItemId,
    stage: StageName,
}

impl Commits for ItemCommits {
    fn claim(&self, location: &str) -> Result<(), Failure> {
        let mut claims = self.memory.claims.lock().unwrap_or_else(PoisonError::into_inner);
        let own = hash_of(&self.item);
        if *claims.entry(hash_of(location)).or_insert(own) == own {
            return Ok(());
        }
        Err(Failure::item(format!("another item has the output path `{location}` too; the first stands")))
    }

    fn owns(&self, location: &str, size: u64) -> bool {
        self.memory.earlier.owns(location, size)
    }

    fn announce<'a>(&'a self, temporary: &'a Path) -> BoxFuture<'a, Result<(), Failure>> {
        self.durably(move |ledger| async move { ledger.announce(temporary).await }.boxed())
    }

    fn intend<'a>(&'a self, intended: Intended<'a>) -> BoxFuture<'a, Result<(), Failure>> {
        let intent = Intent {
            item: self.item.clone(),
            stage: self.stage.clone(),
            location: intended.location.into(),
            temporary: intended.temporary.map(Path::to_path_buf),
            size: intended.size,
            inode: intended.inode,
        };
        self.durably(move |ledger| async move { ledger.intend(intent).await }.boxed())
    }

    fn committed<'a>(&'a self, location: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        self.durably(move |ledger| async move { ledger.commit_output(location.into()).await }.boxed())
    }

    fn gone<'a>(&'a self, temporary: &'a Path) -> BoxFuture<'a, Result<(), Failure>> {
        self.durably(move |ledger| async move { ledger.forget_temporary(temporary).await }.boxed())
    }

    fn fingerprint(&self) -> Option<String> {
        self.memory.lock_fingerprints().get(&self.item).map(ToString::to_string)
    }
}

impl ItemCommits {
    /// A ledger that cannot be written stops the run: nothing that follows could be resumed.
    fn durably<'a>(
        &'a self,
        told: impl FnOnce(&'a Ledger) -> BoxFuture<'a, Result<(), LedgerError>>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        let Some(ledger) = &self.memory.ledger else { return async { Ok(()) }.boxed() };
        let told = told(ledger);
        async move { told.await.map_err(|error| Failure::fatal(error.to_string())) }.boxed()
    }
}
