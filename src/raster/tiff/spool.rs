//! A scratch file whose space is taken and given back; several threads use it at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

/// A scratch file.
pub(super) struct Spool {
    file: File,
    space: Mutex<Space>,
}

/// Bytes of a scratch file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl Spool {
    /// A spool in an empty file that is open for reading and writing.
    pub(super) fn new(file: File) -> Self {
        Self { file, space: Mutex::default() }
    }

    /// Writes bytes where there is room.
    pub(super) fn put(&self, bytes: &[u8]) -> io::Result<Piece> {
        let piece = self.space().take(bytes.len() as u64);
        self.file.write_all_at(bytes, piece.offset)?;
        Ok(piece)
    }

    /// Reads bytes back, in place of what `out` held.
    pub(super) fn get(&self, piece: Piece, out: &mut Vec<u8>) -> io::Result<()> {
        out.resize(piece.size as usize, 0);
        self.file.read_exact_at(out, piece.offset)
    }

    /// Gives bytes back.
    pub(super) fn free(&self, piece: Piece) {
        self.space().give_back(piece);
    }

    /// The size of the file.
    pub(super) fn size(&self) -> u64 {
        self.space().end
    }

    fn space(&self) -> std::sync::MutexGuard<'_, Space> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which bytes of a file are free.
#[derive(Debug, Default)]
struct Space {
    end: u64,
    /// Gaps by offset, with their sizes; no two touch.
    gaps: BTreeMap<u64, u64>,
}

impl Space {
    /// The first gap that is large enough, else the end.
    fn take(&mut self, size: u64) -> Piece {
        let gap = self.gaps.iter().find(|(_, room)| **room >= size).map(|(offset, room)| (*offset, *room));
        let Some((offset, room)) = gap else {
            self.end += size;
            return Piece { offset: self.end - size, size };
        };
        self.gaps.remove(&offset);
        if room > size {
            self.gaps.insert(offset + size, room - size);
        }
        Piece { offset, size }
    }

    fn give_back(&mut self, piece: Piece) {
        let Piece { mut offset, mut size } = piece;
        if let Some((before, room)) = self.gaps.range(..offset).next_back().map(|(at, room)| (*at, *room))
            && before + room == offset
        {
            self.gaps.remove(&before);
            offset = before;
            size += room;
        }
        if let Some(room) = self.gaps.remove(&(offset + size)) {
            size += room;
        }
        self.gaps.insert(offset, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_neighbours_become_one_gap_that_is_used_again() {
        let mut space = Space::default();
        let pieces: Vec<Piece> = [10, 20, 30, 40].iter().map(|size| space.take(*size)).collect();
        for at in [0, 2, 1] {
            space.give_back(pieces[at]);
        }
        assert_eq!(space.gaps, BTreeMap::from([(0, 60)]));
        assert_eq!(space.take(50), Piece { offset: 0, size: 50 });
        assert_eq!(space.take(11), Piece { offset: 100, size: 11 });
        assert_eq!(space.take(10), Piece { offset: 50, size: 10 });
        assert_eq!(space.end, 111);
    }

    #[test]
    fn bytes_come_back() {
        let spool = Spool::new(tempfile::tempfile().unwrap());
        let (one, two) = (spool.put(b"one").unwrap(), spool.put(b"three").unwrap());
        let mut out = Vec::new();
        spool.get(two, &mut out).unwrap();
        assert_eq!(out, b"three");
        spool.get(one, &mut out).unwrap();
        assert_eq!(out, b"one");
    }
}
