//! Ranges of a remote file that the windows of one parent share: each is fetched by the first who needs it and kept, as
//! it came, on scratch.
//!
//! A range is either claimed, while somebody fetches it, or kept. A claim that is dropped without its bytes makes the
//! range free again, so a failure or a cancellation stalls nobody. What is kept is a cache: where the disk is needed for
//! something else the oldest goes first, and is fetched again if a window still asks for it.

mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use tokio::sync::watch;

use self::store::{Place, Store};
use crate::remote::{MERGE_GAP, MERGE_LIMIT, merge, off_loop};
use crate::resources::Bytes as Budget;

/// The shared ranges of one remote file in one state. Cloning shares them.
#[derive(Clone, Debug)]
pub struct SharedRanges(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    known: Mutex<Known>,
    store: Mutex<Store>,
    /// Told whenever a claim ends.
    ended: watch::Sender<()>,
}

/// What is claimed or kept, by where it begins; never overlapping.
#[derive(Debug, Default)]
struct Known(BTreeMap<u64, Entry>);

#[derive(Debug)]
struct Entry {
    end: u64,
    /// `None` while it is on its way.
    place: Option<Place>,
}

/// What becomes of ranges that somebody needs.
#[derive(Debug)]
pub struct Sharing {
    /// What lies on scratch.
    pub kept: Vec<KeptRange>,
    /// What is the caller's to fetch, neighbours merged.
    pub claims: Vec<Claim>,
    ended: watch::Receiver<()>,
}

/// A range on scratch; it stays readable while this is held.
#[derive(Clone, Debug)]
pub struct KeptRange {
    start: u64,
    length: u64,
    place: Place,
}

/// A range that its holder fetches for everybody.
#[derive(Debug)]
pub struct Claim {
    ranges: SharedRanges,
    range: Range<u64>,
}

impl SharedRanges {
    /// Nothing is kept yet. Files are made in `scratch` and paid for by `budget`.
    pub fn new(scratch: PathBuf, budget: Budget) -> Self {
        let store = Mutex::new(Store::new(scratch, budget));
        Self(Arc::new(Shared { known: Mutex::default(), store, ended: watch::Sender::default() }))
    }

    /// Takes what is kept of these ranges, and claims what nobody has claimed. What is neither is on its way:
    /// [`Sharing::others`] waits for it, after which this is to be asked again.
    pub fn share(&self, wanted: &[Range<u64>]) -> Sharing {
        let ended = self.0.ended.subscribe();
        let mut known = self.known();
        let kept = wanted.iter().flat_map(|range| known.kept(range)).collect();
        let free: Vec<_> = wanted.iter().flat_map(|range| known.free(range)).collect();
        // The gaps between neighbours are fetched with them, but for those that are known already.
        let merged = merge(&free, MERGE_GAP, MERGE_LIMIT);
        let claims = merged.iter().flat_map(|range| known.free(range)).collect::<Vec<_>>();
        for range in &claims {
            known.0.insert(range.start, Entry { end: range.end, place: None });
        }
        drop(known);
        let claim = |range| Claim { ranges: self.clone(), range };
        Sharing { kept, claims: claims.into_iter().map(claim).collect(), ended }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().expect("nothing panics while it holds the ranges")
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.store.lock().expect("nothing panics while it writes a range")
    }

    /// Writes a range to scratch; `None` where the disk says no. Blocks.
    fn write(&self, bytes: &[u8]) -> Option<Place> {
        let mut store = self.store();
        let dropped = store.make_room();
        if !dropped.is_empty() {
            self.known().forget(&dropped);
        }
        let written = store.write(bytes);
        written.inspect_err(|error| tracing::debug!(%error, "a range is not kept on scratch")).ok()
    }
}

impl Sharing {
    /// Waits until a claim of anybody ends that had not ended when this was made. Cancel-safe.
    pub async fn others(&mut self) {
        // The sender lives in the ranges, which the caller holds.
        drop(self.ended.changed().await);
    }
}

impl KeptRange {
    /// Where it begins in the file.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Reads it back. Blocks.
    ///
    /// # Errors
    /// The disk says no.
    pub fn read(&self) -> std::io::Result<Bytes> {
        self.place.read(self.length as usize)
    }
}

impl Claim {
    /// What is to be fetched.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Keeps the bytes of the range for the others, if the disk has room.
    pub async fn keep(self, bytes: Bytes) {
        let ranges = self.ranges.clone();
        let place = off_loop(move || ranges.write(&bytes)).await;
        if let Some(entry) = self.ranges.known().0.get_mut(&self.range.start) {
            entry.place = place;
        }
    }
}

impl Drop for Claim {
    /// Ends the claim; without its bytes the range is free again.
    fn drop(&mut self) {
        let mut known = self.ranges.known();
        if known.0.get(&self.range.start).is_some_and(|entry| entry.place.is_none()) {
            known.0.remove(&self.range.start);
        }
        drop(known);
        self.ranges.0.ended.send_replace(());
    }
}

impl Known {
    /// What touches a range, by offset.
    fn touching(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, &Entry)> {
        let before = self.0.range(..range.start).next_back().filter(|(_, entry)| entry.end > range.start);
        before.into_iter().chain(self.0.range(range.clone())).map(|(start, entry)| (*start, entry))
    }

    /// The parts of a range that are on scratch.
    fn kept(&self, range: &Range<u64>) -> Vec<KeptRange> {
        let part = |(start, entry): (u64, &Entry)| {
            let place = entry.place.as_ref()?;
            let (from, to) = (start.max(range.start), entry.end.min(range.end));
            Some(KeptRange { start: from, length: to - from, place: place.at(from - start) })
        };
        self.touching(range).filter_map(part).collect()
    }

    /// The parts of a range that are neither kept nor on their way.
    fn free(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut free = Vec::new();
        let mut at = range.start;
        for (start, entry) in self.touching(range) {
            free.push(at..start.max(at));
            at = entry.end;
        }
        free.push(at..range.end.max(at));
        free.retain(|range| !range.is_empty());
        free
    }

    /// Forgets what lay in these files.
    fn forget(&mut self, files: &[store::FileId]) {
        self.0.retain(|_, entry| entry.place.as_ref().is_none_or(|place| !files.contains(&place.file_id())));
    }
}
