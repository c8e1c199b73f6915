//! What the ledger holds of one item.

use std::path::PathBuf;
use std::sync::Arc;

use crate::events::FailureClass;
use crate::ids::{ItemId, StageName};

/// How far an item came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Begun and not ended: at work now, or interrupted with its run.
    Running,
    /// Every stage did its work.
    Done,
    /// A stage failed on it for good.
    Failed,
}

impl State {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Done => "done",
            State::Failed => "failed",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        [State::Running, State::Done, State::Failed].into_iter().find(|state| state.as_str() == text)
    }
}

/// What a fingerprint was made of, so that a difference can be named: two JSON texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Identities of the item's inputs.
    pub inputs: Arc<str>,
    /// Options of every stage on its path; one text for all items of a path, which is kept once.
    pub options: Arc<str>,
}

/// An item that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// The item.
    pub item: ItemId,
    /// Hexadecimal.
    pub fingerprint: Arc<str>,
    /// What the fingerprint was made of.
    pub manifest: Manifest,
    /// How many files it will make, where that is known; without it only [`super::Ledger::finish`] makes it done.
    pub outputs: Option<u32>,
}

/// A temporary file that is about to get its final name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The item that it belongs to; it must have begun.
    pub item: ItemId,
    /// The stage that writes it.
    pub stage: StageName,
    /// The final place: a path, or a URL without its query.
    pub location: Arc<str>,
    /// The temporary; `None` for objects in a store.
    pub temporary: Option<PathBuf>,
    /// Bytes.
    pub size: u64,
    /// The inode of the temporary, which the rename keeps; `None` for objects in a store.
    pub inode: Option<u64>,
}

/// A file that an item made, or was about to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The stage that wrote it.
    pub stage: StageName,
    /// Where it is.
    pub location: Arc<str>,
    /// The item's fingerprint when it was written.
    pub fingerprint: Arc<str>,
    /// Bytes.
    pub size: u64,
    /// The inode of its temporary; `None` for objects in a store.
    pub inode: Option<u64>,
    /// Whether it is known to have its final name; else the run may have died before the rename.
    pub is_committed: bool,
}

/// How an item failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastFailure {
    /// The stage.
    pub stage: StageName,
    /// The class.
    pub class: FailureClass,
    /// The message.
    pub message: String,
}

/// All that is known of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How far it came.
    pub state: State,
    /// Its fingerprint when it began last.
    pub fingerprint: Arc<str>,
    /// What that was made of.
    pub manifest: Manifest,
    /// How many files it was to make, where that was known.
    pub expects: Option<u32>,
    /// How many runs began it.
    pub attempts: u32,
    /// Set when it failed.
    pub failure: Option<PastFailure>,
    /// Its files, of this fingerprint and of earlier ones, by location; at one place an intended one follows the
    /// committed one that it will replace.
    pub outputs: Vec<Output>,
}

/// Where rows stand in a table: by item (bytewise), then by window, then as they were given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowsPlace {
    /// The item; the parent of a window.
    pub item: ItemId,
    /// The window's row and column; 0 and 0 for an item that is no window.
    pub window: (i64, i64),
    /// Counts the parts that the rows of one item or window are kept in, from 0.
    pub part: u32,
}

/// Rows of one item or window for one table, or a part of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRows {
    /// Where they stand.
    pub place: RowsPlace,
    /// The item's fingerprint when they were made.
    pub fingerprint: Arc<str>,
    /// JSON, as it was given.
    pub rows: String,
}

/// The spelling of a class in the ledger: that of events.
pub(super) fn class_name(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Transient => "transient",
        FailureClass::Item => "item",
        FailureClass::Fatal => "fatal",
        FailureClass::Cancelled => "cancelled",
    }
}

/// The class of that name; what is unknown concerns one item.
pub(super) fn class_of(name: &str) -> FailureClass {
    use FailureClass::{Cancelled, Fatal, Item, Transient};
    [Transient, Fatal, Cancelled].into_iter().find(|class| class_name(*class) == name).unwrap_or(Item)
}
