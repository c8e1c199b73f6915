//! Where each tile of a file lies.

use std::io::{self, Write};

use super::layout::Level;

/// Offsets and sizes of the tiles of one directory, row by row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) offsets: Vec<u64>,
    pub(super) sizes: Vec<u32>,
}

impl Places {
    /// Tiles that lie nowhere yet.
    fn unknown(level: &Level) -> Self {
        Self { offsets: vec![0; level.tiles()], sizes: vec![0; level.tiles()] }
    }
}

/// The tiles of a whole file.
#[derive(Clone, Debug)]
pub(super) struct TileIndex {
    /// By level, largest first.
    pub(super) images: Vec<Places>,
    /// By level; empty where the file has no mask.
    pub(super) masks: Vec<Places>,
}

impl TileIndex {
    /// The index of a file with no tile written.
    pub(super) fn unknown(levels: &[Level], has_mask: bool) -> Self {
        let images: Vec<Places> = levels.iter().map(Places::unknown).collect();
        Self { masks: if has_mask { images.clone() } else { Vec::new() }, images }
    }

    /// Places one tile and its mask behind `cursor`, with the frames that a COG has; returns where the next begins.
    pub(super) fn place(
        &mut self,
        (level, tile): (usize, usize),
        sizes: (usize, usize),
        cursor: u64,
        frame: Frame,
    ) -> u64 {
        let cursor = frame.place(&mut self.images[level], tile, sizes.0, cursor);
        match self.masks.get_mut(level) {
            Some(masks) => frame.place(masks, tile, sizes.1, cursor),
            None => cursor,
        }
    }
}

/// What stands before and after each tile of a COG: its size in four bytes, and its last four bytes again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) is_framed: bool,
}

impl Frame {
    /// Bytes of the frame of one tile.
    pub(super) fn size(self) -> u64 {
        if self.is_framed { 8 } else { 0 }
    }

    fn place(self, places: &mut Places, tile: usize, size: usize, cursor: u64) -> u64 {
        places.offsets[tile] = cursor + self.size() / 2;
        places.sizes[tile] = size as u32;
        cursor + size as u64 + self.size()
    }

    /// Writes a tile in its frame. What a tile shorter than four bytes repeats begins with zeros.
    pub(super) fn write(self, tile: &[u8], out: &mut impl Write) -> io::Result<()> {
        if !self.is_framed {
            return out.write_all(tile);
        }
        let mut last = [0; 4];
        let count = tile.len().min(4);
        last[4 - count..].copy_from_slice(&tile[tile.len() - count..]);
        out.write_all(&(tile.len() as u32).to_le_bytes())?;
        out.write_all(tile)?;
        out.write_all(&last)
    }
}
