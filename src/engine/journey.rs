//! An item on its way: the journey of the whole item, whose end is the end of its last part, and the parcels in which
//! its parts travel from stage to stage.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::contract::{Failure, Item};
use crate::engine::path::PathNode;
use crate::ids::{ItemId, StageName};
use crate::resources::{ByteLease, LeaseSet};

/// How a journey ended.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// Every output is there.
    Done,
    /// A stage failed; the first failure counts.
    Failed(StageName, Failure),
    /// The run ended first.
    Cancelled,
    /// It became a member of a group, or a condition dropped it.
    Absorbed,
    /// It is done already.
    Skipped(String),
}

/// Takes the end of every journey in.
pub(crate) trait Homecoming: Send + Sync {
    /// Called exactly once a journey, when its last part is gone. Must not block.
    fn on_end(&self, item: &ItemId, was_admitted: bool, ending: Ending);
}

/// The way of one item with all its windows and branches. It ends when the last holder drops it.
pub(crate) struct Journey {
    item: ItemId,
    ending: Mutex<Option<Ending>>,
    has_failed: AtomicBool,
    unit: OnceCell<LeaseSet>,
    /// What it holds beside its unit until the end.
    kept: Mutex<Vec<ByteLease>>,
    home: Arc<dyn Homecoming>,
}

impl Journey {
    /// Begins.
    pub(crate) fn begin(item: ItemId, home: Arc<dyn Homecoming>) -> Arc<Self> {
        Arc::new(Self {
            item,
            ending: Mutex::new(None),
            has_failed: AtomicBool::new(false),
            unit: OnceCell::new(),
            kept: Mutex::default(),
            home,
        })
    }

    /// The item that it is the journey of.
    pub(crate) fn item(&self) -> &ItemId {
        &self.item
    }

    /// Whether it was admitted: it holds its unit.
    pub(crate) fn is_admitted(&self) -> bool {
        self.unit.initialized()
    }

    /// Takes the unit along until the end. Where two branches are admitted at once, one takes it for both.
    pub(crate) async fn admit(&self, unit: impl Future<Output = LeaseSet>) {
        self.unit.get_or_init(|| unit).await;
    }

    /// Takes a lease along until the end.
    pub(crate) fn keep(&self, lease: ByteLease) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(lease);
    }

    /// Whether it can still come to a good end; parts of one that cannot are dropped.
    pub(crate) fn is_lost(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Ends otherwise than well; the first word counts. Returns whether this was the first.
    pub(crate) fn end(&self, ending: Ending) -> bool {
        self.has_failed.store(true, Ordering::Release);
        let mut first = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = first.is_none();
        first.get_or_insert(ending);
        is_first
    }
}

impl Drop for Journey {
    fn drop(&mut self) {
        let ending = self.ending.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.home.on_end(&self.item, self.is_admitted(), ending.unwrap_or(Ending::Done));
    }
}

/// The windows of one parent on their way to a stage that joins them; complete when the last holder drops it.
pub(crate) struct Brood {
    /// The parent.
    pub(crate) parent: ItemId,
    /// The index of the stage that joins them.
    pub(crate) stage: usize,
    /// What goes on when they are joined, its payload still lacking, where the engine cut it; else the join tells.
    pub(crate) whole: Option<Item>,
    /// Told when no window is on its way any more.
    pub(crate) on_complete: Arc<dyn Fn(&ItemId) + Send + Sync>,
}

impl Drop for Brood {
    fn drop(&mut self) {
        (self.on_complete)(&self.parent);
    }
}

/// What travels: an item, with all that it holds.
#[derive(Clone)]
pub(crate) struct Parcel {
    /// The item; dropped before the memory that pays for it.
    pub(crate) item: Item,
    /// Its way from here on; `None` before the gate.
    pub(crate) path: Option<Arc<PathNode>>,
    /// Its memory; `None` before the gate.
    pub(crate) memory: Option<ByteLease>,
    /// The joins that it is a part of.
    pub(crate) broods: Vec<Arc<Brood>>,
    /// The journey it is a part of; dropped last.
    pub(crate) journey: Arc<Journey>,
    /// When it was put into the queue.
    pub(crate) since: Instant,
}

impl Parcel {
    /// A new item without anything.
    pub(crate) fn new(item: Item, journey: Arc<Journey>) -> Self {
        Self { item, path: None, memory: None, broods: Vec::new(), journey, since: Instant::now() }
    }
}
