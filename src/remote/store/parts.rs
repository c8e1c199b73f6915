//! The parts in which an object is written.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use bytes::Bytes;
use object_store::PutPayload;
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use super::objects::{ObjectBody, PART};

/// What is still to be written.
pub(super) enum Parts<'a> {
    /// Pieces in memory, which are cut and never copied.
    Memory(VecDeque<Bytes>),
    /// The rest of a file.
    File { file: File, path: &'a Path, left: u64 },
}

/// A file, and what the system says of it.
type DiskError<'a> = (&'a Path, io::Error);

impl<'a> Parts<'a> {
    pub(super) async fn of(body: ObjectBody<'a>) -> Result<Self, DiskError<'a>> {
        match body {
            ObjectBody::Bytes(pieces) => Ok(Self::Memory(pieces.into())),
            ObjectBody::File(path) => Self::of_file(path).await.map_err(|error| (path, error)),
        }
    }

    async fn of_file(path: &'a Path) -> io::Result<Self> {
        let file = File::open(path).await?;
        let left = file.metadata().await?.len();
        Ok(Self::File { file, path, left })
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> u64 {
        match self {
            Self::Memory(pieces) => pieces.iter().map(|piece| piece.len() as u64).sum(),
            Self::File { left, .. } => *left,
        }
    }

    /// The next part, of [`PART`] bytes but for the last; `None` after it.
    pub(super) async fn next(&mut self) -> Result<Option<PutPayload>, DiskError<'a>> {
        let size = self.left().min(PART);
        if size == 0 {
            return Ok(None);
        }
        match self {
            Self::Memory(pieces) => Ok(Some(taken(pieces, size as usize))),
            Self::File { file, path, left } => {
                let mut part = vec![0; size as usize];
                file.read_exact(&mut part).await.map_err(|error| (*path, error))?;
                *left -= size;
                Ok(Some(part.into()))
            }
        }
    }
}

/// The first `size` bytes of pieces that have as many.
fn taken(pieces: &mut VecDeque<Bytes>, mut size: usize) -> PutPayload {
    let mut part = Vec::new();
    while let Some(piece) = pieces.front_mut().filter(|_| size > 0) {
        let cut = piece.split_to(size.min(piece.len()));
        size -= cut.len();
        if piece.is_empty() {
            pieces.pop_front();
        }
        part.push(cut);
    }
    part.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sizes(body: ObjectBody<'_>) -> Vec<usize> {
        let mut parts = Parts::of(body).await.expect("it is there");
        let mut sizes = Vec::new();
        while let Some(part) = parts.next().await.expect("it is there") {
            sizes.push(part.content_length());
        }
        sizes
    }

    #[tokio::test]
    async fn parts_have_one_size_wherever_the_bytes_are() {
        let part = PART as usize;
        let bytes = Bytes::from(vec![7; 2 * part + 5]);
        let pieces = vec![bytes.slice(..3), Bytes::new(), bytes.slice(3..part + 9), bytes.slice(part + 9..)];
        assert_eq!(sizes(ObjectBody::Bytes(pieces)).await, [part, part, 5]);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("object");
        std::fs::write(&path, &bytes).expect("written");
        assert_eq!(sizes(ObjectBody::File(&path)).await, [part, part, 5]);
        assert_eq!(sizes(ObjectBody::Bytes(Vec::new())).await, [] as [usize; 0]);
    }
}
