//! Puts a file together from windows that come in any order, several at a time.
//!
//! A tile that a window covers is compressed at once; of a tile that windows share, the parts wait on scratch until the
//! last one came. A complete tile is halved into its part of the overview above, which becomes complete in the same way.
//! Compressed tiles wait on scratch too, and the file is put together from them alone. In memory stays 64 bytes a tile.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::check::check;
use super::form::{Form, with_sample};
use super::load::Source;
use super::missing::Missing;
use super::places::TileIndex;
use super::reduce::halve;
use super::sample::Sample;
use super::spool::{Piece, Spool};
use super::tile::TileEncoder;
use super::{Block, Part, TiffError};
use crate::raster::{Member, Window};

/// A file under assembly.
pub trait TileAssembly: Send + Sync {
    /// Takes one window in.
    ///
    /// # Errors
    /// A window that does not belong here or came twice, pixels that the file cannot mark, a full disk, cancellation.
    fn add(&self, window: &Member, is_cancelled: &dyn Fn() -> bool) -> Result<(), TiffError>;

    /// Writes the file; pixels that never came are missing. Returns its size in bytes.
    ///
    /// # Errors
    /// Pixels that never came where the file cannot mark missing ones, a full disk, cancellation.
    fn finish(&self, out: &File, is_cancelled: &dyn Fn() -> bool) -> Result<u64, TiffError>;

    /// Bytes on scratch now, the finished file apart.
    fn spooled(&self) -> u64;
}

/// Begins a file of this form; `tiles` and `parts` are empty scratch files, open for reading and writing.
///
/// # Errors
/// A compression level that does not exist.
pub fn assembly(form: Form, tiles: File, parts: File) -> Result<Box<dyn TileAssembly>, TiffError> {
    with_sample!(form.data_type, T => Ok(Box::new(Assembly::<T>::new(form, tiles, parts)?)))
}

struct Assembly<T> {
    form: Form,
    missing: Missing<T>,
    tiles: Spool,
    parts: Spool,
    /// By level, largest first.
    levels: Mutex<Vec<LevelState>>,
    /// Encoders that no thread uses now.
    encoders: Mutex<Vec<TileEncoder<T>>>,
    /// The tile with every pixel missing, and its mask.
    blank: (Vec<u8>, Vec<u8>),
}

/// What is known of the tiles of one level.
struct LevelState {
    done: Vec<Done>,
    waiting: HashMap<usize, Waiting>,
}

/// A tile of which parts came.
#[derive(Default)]
struct Waiting {
    /// How many pixels came.
    pixels: usize,
    /// Those parts that are not missing everywhere.
    parts: Vec<(Part, Piece)>,
}

/// What became of a tile.
#[derive(Clone, Copy, PartialEq)]
enum Done {
    No,
    /// Every pixel is missing.
    Blank,
    /// The image and then the mask lie on scratch.
    Spooled {
        offset: u64,
        image: u32,
        mask: u32,
    },
}

/// A complete tile, or a part of one; `None` where every pixel is missing.
struct Offer<T> {
    level: usize,
    tile: usize,
    /// Which part of the tile it is.
    place: Part,
    pixels: Option<Block<T>>,
}

impl<T: Sample> Assembly<T> {
    fn new(form: Form, tiles: File, parts: File) -> Result<Self, TiffError> {
        let missing = form.missing();
        let mut encoder = TileEncoder::new(&form, missing)?;
        encoder.encode(&form.missing_tile(form.block(), form.block()))?;
        let blank = (encoder.image.clone(), encoder.mask.clone());
        let state = |tiles| LevelState { done: vec![Done::No; tiles], waiting: HashMap::new() };
        Ok(Self {
            missing,
            tiles: Spool::new(tiles),
            parts: Spool::new(parts),
            levels: Mutex::new(form.levels.iter().map(|level| state(level.tiles())).collect()),
            encoders: Mutex::new(vec![encoder]),
            blank,
            form,
        })
    }

    fn levels(&self) -> MutexGuard<'_, Vec<LevelState>> {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a part of a tile in, and whatever becomes complete by it.
    fn offer(&self, offer: Offer<T>) -> Result<(), TiffError> {
        let mut next = Some(offer);
        while let Some(offer) = next {
            let Some(whole) = self.complete(offer)? else { break };
            next = self.spool(whole)?;
        }
        Ok(())
    }

    /// The whole tile, if this part was the last that it lacked.
    fn complete(&self, offer: Offer<T>) -> Result<Option<Offer<T>>, TiffError> {
        let Offer { level, tile, place, pixels } = offer;
        let part = self.form.levels[level].part(tile);
        if self.levels()[level].done[tile] != Done::No {
            return Err(came_twice(part));
        }
        if place.pixels() == part.pixels() {
            return Ok(Some(Offer { level, tile, place, pixels }));
        }
        let piece = pixels.map(|block| self.parts.put(&block.to_bytes())).transpose()?;
        let Some(waiting) = self.wait(level, tile, place, piece)? else { return Ok(None) };
        let pixels = self.put_together(part, waiting)?;
        Ok(Some(Offer { level, tile, place: Part { col: 0, row: 0, ..part }, pixels }))
    }

    /// Remembers a part; gives all parts back when none is lacking.
    fn wait(
        &self,
        level: usize,
        tile: usize,
        place: Part,
        piece: Option<Piece>,
    ) -> Result<Option<Waiting>, TiffError> {
        let part = self.form.levels[level].part(tile);
        let mut levels = self.levels();
        let all = &mut levels[level].waiting;
        let waiting = all.entry(tile).or_default();
        waiting.pixels += place.pixels();
        waiting.parts.extend(piece.map(|piece| (place, piece)));
        match waiting.pixels.cmp(&part.pixels()) {
            std::cmp::Ordering::Less => Ok(None),
            std::cmp::Ordering::Equal => Ok(all.remove(&tile)),
            std::cmp::Ordering::Greater => Err(came_twice(part)),
        }
    }

    /// A tile from its parts; what lacks is missing.
    fn put_together(&self, part: Part, waiting: Waiting) -> Result<Option<Block<T>>, TiffError> {
        if waiting.parts.is_empty() {
            return Ok(None);
        }
        let mut whole = self.form.missing_tile(part.width, part.height);
        let mut bytes = Vec::new();
        for (place, piece) in waiting.parts {
            self.parts.get(piece, &mut bytes)?;
            self.parts.free(piece);
            let size = (place.width, place.height);
            whole.paste(
                &Block::from_bytes(&bytes, size, whole.bands, self.form.has_mask),
                place.col,
                place.row,
            );
        }
        Ok(Some(whole))
    }

    /// Compresses a complete tile; gives back the part of the overview that it becomes.
    fn spool(&self, whole: Offer<T>) -> Result<Option<Offer<T>>, TiffError> {
        let Offer { level, tile, pixels, .. } = whole;
        let done = match &pixels {
            None => Done::Blank,
            Some(block) => self.compress(block)?,
        };
        self.levels()[level].done[tile] = done;
        if level + 1 == self.form.levels.len() {
            return Ok(None);
        }
        let (above, place) = self.form.levels[level].above(tile);
        let pixels = pixels
            .map(|block| halve(&block, &self.form.reductions, self.missing))
            .filter(|half| !self.is_blank(half));
        Ok(Some(Offer { level: level + 1, tile: above, place, pixels }))
    }

    fn compress(&self, block: &Block<T>) -> Result<Done, TiffError> {
        let idle = self.encoders.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut encoder = idle.map_or_else(|| TileEncoder::new(&self.form, self.missing), Ok)?;
        encoder.encode(block)?;
        let image = encoder.image.len() as u32;
        encoder.image.extend_from_slice(&encoder.mask);
        let piece = self.tiles.put(&encoder.image)?;
        let mask = encoder.mask.len() as u32;
        self.encoders.lock().unwrap_or_else(PoisonError::into_inner).push(encoder);
        Ok(Done::Spooled { offset: piece.offset, image, mask })
    }

    /// Whether every pixel is missing.
    fn is_blank(&self, block: &Block<T>) -> bool {
        match (self.missing, &block.mask) {
            (Missing::Nodata(_), _) => block.pixels.iter().all(|value| self.missing.marks(*value)),
            (_, Some(mask)) => mask.iter().all(|pixel| *pixel == 0),
            (_, None) => false,
        }
    }

    fn check_window(&self, member: &Member) -> Result<(), TiffError> {
        let (grid, window) = (&self.form.grid, member.window);
        let bad = |reason: String| Err(TiffError::BadWindow { window: window.to_string(), reason });
        if (member.grid.width, member.grid.height) != (grid.width, grid.height) {
            return bad(format!(
                "its image has {}×{} pixels, not {}×{}",
                member.grid.width, member.grid.height, grid.width, grid.height
            ));
        }
        if window.col + window.width > grid.width || window.row + window.height > grid.height {
            return bad(format!("the image ends at column {}, row {}", grid.width, grid.height));
        }
        Ok(())
    }

    /// Completes the tiles of the full resolution that parts or windows lack.
    fn fill_gaps(&self, is_cancelled: &dyn Fn() -> bool) -> Result<(), TiffError> {
        let lacking = self.lacking();
        if lacking > 0 && self.missing == Missing::Never {
            return Err(TiffError::NeverDelivered(lacking));
        }
        for tile in 0..self.form.levels[0].tiles() {
            if is_cancelled() {
                return Err(TiffError::Cancelled);
            }
            if self.levels()[0].done[tile] == Done::No {
                self.fill_gap(tile)?;
            }
        }
        Ok(())
    }

    fn fill_gap(&self, tile: usize) -> Result<(), TiffError> {
        let part = self.form.levels[0].part(tile);
        let waiting = self.levels()[0].waiting.remove(&tile).unwrap_or_default();
        let pixels = self.put_together(part, waiting)?;
        self.offer(Offer { level: 0, tile, place: Part { col: 0, row: 0, ..part }, pixels })
    }

    /// Pixels of the full resolution that never came.
    fn lacking(&self) -> u64 {
        let levels = self.levels();
        let tiles = levels[0].done.iter().enumerate().filter(|(_, done)| **done == Done::No);
        let came = |tile| levels[0].waiting.get(&tile).map_or(0, |waiting| waiting.pixels);
        tiles.map(|(tile, _)| (self.form.levels[0].part(tile).pixels() - came(tile)) as u64).sum()
    }

    /// Every tile in the order of the file: overviews first, the smallest before the others, each row by row.
    fn in_file_order(&self) -> Vec<((usize, usize), Done)> {
        let levels = self.levels();
        let of_level = |(level, state): (usize, &LevelState)| {
            state.done.iter().enumerate().map(|(tile, done)| ((level, tile), *done)).collect::<Vec<_>>()
        };
        levels.iter().enumerate().rev().flat_map(of_level).collect()
    }

    fn sizes(&self, done: Done) -> (usize, usize) {
        match done {
            Done::Spooled { image, mask, .. } => (image as usize, mask as usize),
            Done::Blank | Done::No => (self.blank.0.len(), self.blank.1.len()),
        }
    }

    /// The index of the finished file, and the file's size.
    fn place(&self, tiles: &[((usize, usize), Done)]) -> (TileIndex, u64) {
        let mut index = self.form.unplaced();
        let mut cursor = self.form.header(&index).len() as u64;
        for (tile, done) in tiles {
            cursor = index.place(*tile, self.sizes(*done), cursor, self.form.frame());
        }
        (index, cursor)
    }

    fn write_tile(&self, done: Done, buffer: &mut Vec<u8>, out: &mut impl Write) -> Result<(), TiffError> {
        let frame = self.form.frame();
        let (image, mask) = match done {
            Done::Spooled { offset, image, mask } => {
                self.tiles.get(Piece { offset, size: u64::from(image) + u64::from(mask) }, buffer)?;
                buffer.split_at(image as usize)
            }
            Done::Blank | Done::No => (self.blank.0.as_slice(), self.blank.1.as_slice()),
        };
        frame.write(image, out)?;
        if self.form.has_mask {
            frame.write(mask, out)?;
        }
        Ok(())
    }
}

impl<T: Sample> TileAssembly for Assembly<T> {
    fn add(&self, member: &Member, is_cancelled: &dyn Fn() -> bool) -> Result<(), TiffError> {
        self.check_window(member)?;
        let source = Source::new(&self.form, member, self.missing);
        for tile in tiles_of(&self.form, &member.window) {
            if is_cancelled() {
                return Err(TiffError::Cancelled);
            }
            let (place, from) = shared(self.form.levels[0].part(tile), &member.window);
            let pixels = Some(source.load(from)?).filter(|block| !self.is_blank(block));
            self.offer(Offer { level: 0, tile, place, pixels })?;
        }
        Ok(())
    }

    fn finish(&self, out: &File, is_cancelled: &dyn Fn() -> bool) -> Result<u64, TiffError> {
        self.fill_gaps(is_cancelled)?;
        let tiles = self.in_file_order();
        let (index, size) = self.place(&tiles);
        let header = self.form.header(&index);
        check(&self.form, &header, size)?;
        let mut out = BufWriter::with_capacity(1 << 18, out);
        out.write_all(&header)?;
        let mut buffer = Vec::new();
        for (_, done) in tiles {
            if is_cancelled() {
                return Err(TiffError::Cancelled);
            }
            self.write_tile(done, &mut buffer, &mut out)?;
        }
        out.flush()?;
        Ok(size)
    }

    fn spooled(&self) -> u64 {
        self.tiles.size() + self.parts.size()
    }
}

/// The tiles of the full resolution that a window touches.
fn tiles_of(form: &Form, window: &Window) -> impl Iterator<Item = usize> {
    let (level, block) = (form.levels[0], form.block() as u64);
    let rows = window.row / block..(window.row + window.height).div_ceil(block);
    let columns = window.col / block..(window.col + window.width).div_ceil(block);
    rows.flat_map(move |row| columns.clone().map(move |col| row as usize * level.across() + col as usize))
}

/// What a tile and a window share: as a part of the tile, and as a part of the window.
fn shared(tile: Part, window: &Window) -> (Part, Part) {
    let (left, top) = (window.col as usize, window.row as usize);
    let (col, row) = (tile.col.max(left), tile.row.max(top));
    let width = (tile.col + tile.width).min(left + window.width as usize) - col;
    let height = (tile.row + tile.height).min(top + window.height as usize) - row;
    let of_tile = Part { col: col - tile.col, row: row - tile.row, width, height };
    (of_tile, Part { col: col - left, row: row - top, width, height })
}

fn came_twice(part: Part) -> TiffError {
    let window = Window {
        col: part.col as u64,
        row: part.row as u64,
        width: part.width as u64,
        height: part.height as u64,
    };
    TiffError::BadWindow { window: window.to_string(), reason: "pixels of this tile came twice".into() }
}
