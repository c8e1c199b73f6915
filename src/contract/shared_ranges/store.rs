//! Where shared ranges lie: in files on scratch, written from end to end, of which the oldest goes when room is needed.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::contract::TemporaryFile;
use crate::resources::Bytes as Budget;

/// A file that has this many bytes gets no more, so that the oldest ranges can go by themselves.
const FULL: u64 = 16 << 20;

/// Tells the files of this process apart.
pub(super) type FileId = u64;

/// The files of one object's ranges.
#[derive(Debug)]
pub(super) struct Store {
    scratch: PathBuf,
    budget: Budget,
    /// The oldest first; the last one is written to.
    files: VecDeque<Arc<StoreFile>>,
    /// Bytes of the last one.
    written: u64,
}

#[derive(Debug)]
struct StoreFile {
    id: FileId,
    handle: File,
    temporary: TemporaryFile,
}

/// A place in a file, which is there while this is held.
#[derive(Clone, Debug)]
pub(super) struct Place {
    file: Arc<StoreFile>,
    offset: u64,
}

impl Store {
    pub(super) fn new(scratch: PathBuf, budget: Budget) -> Self {
        Self { scratch, budget, files: VecDeque::new(), written: 0 }
    }

    /// Drops the oldest files while somebody else needs the disk; which ones.
    pub(super) fn make_room(&mut self) -> Vec<FileId> {
        let mut dropped = Vec::new();
        while self.budget.waiting() > 0 || self.budget.used() > self.budget.capacity() {
            let Some(oldest) = self.files.pop_front() else { break };
            dropped.push(oldest.id);
        }
        dropped
    }

    /// Writes a range at the end of the last file, or into a new one. Blocks.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<Place> {
        let file = self.open()?;
        let place = Place { file: Arc::clone(&file), offset: self.written };
        if let Some(lease) = &file.temporary.lease {
            lease.grow_to(self.written + bytes.len() as u64);
        }
        file.handle.write_all_at(bytes, place.offset)?;
        self.written += bytes.len() as u64;
        Ok(place)
    }

    fn open(&mut self) -> io::Result<Arc<StoreFile>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if let Some(last) = self.files.back().filter(|_| self.written < FULL) {
            return Ok(Arc::clone(last));
        }
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = self.scratch.join(format!("ranges-{}-{id}", std::process::id()));
        let handle = File::options().read(true).write(true).create_new(true).open(&path)?;
        let temporary = TemporaryFile { path, lease: Some(self.budget.overdraw(0)) };
        let file = Arc::new(StoreFile { id, handle, temporary });
        self.files.push_back(Arc::clone(&file));
        self.written = 0;
        Ok(file)
    }
}

impl Place {
    pub(super) fn file_id(&self) -> FileId {
        self.file.id
    }

    /// A place so many bytes further on.
    pub(super) fn at(&self, further: u64) -> Self {
        Self { file: Arc::clone(&self.file), offset: self.offset + further }
    }

    pub(super) fn read(&self, length: usize) -> io::Result<Bytes> {
        let mut bytes = vec![0; length];
        self.file.handle.read_exact_at(&mut bytes, self.offset)?;
        Ok(bytes.into())
    }
}
