//! Encodes a whole raster into memory: overviews first, so that every tile is appended where it stays.

use super::check::check;
use super::form::{Form, with_sample};
use super::layout::Level;
use super::load::Source;
use super::missing::Missing;
use super::ordered::Ordered;
use super::places::TileIndex;
use super::reduce::halve;
use super::sample::Sample;
use super::tile::TileEncoder;
use super::{Block, Part, TiffError};
use crate::raster::Member;

/// A core that was idle, held by a thread that helps.
pub trait Helper: Send {
    /// Whether somebody waits for the core; then the thread gives it back after its tile.
    fn is_wanted(&self) -> bool;
}

/// What the writer asks of its surroundings while it works.
pub trait Helpers: Sync {
    /// An idle core, if there is one.
    fn idle_core(&self) -> Option<Box<dyn Helper>>;

    /// Whether the work is to end at once.
    fn is_cancelled(&self) -> bool;
}

/// Encodes the part of a raster that a member holds, which is the whole image of `form`, on this thread and on as many
/// idle cores as are worth it. The bytes depend on the form and the pixels alone.
///
/// # Errors
/// Pixels that the form cannot mark, cancellation.
pub fn encode(
    form: &Form,
    member: &Member,
    most: usize,
    helpers: &dyn Helpers,
) -> Result<Vec<u8>, TiffError> {
    with_sample!(form.data_type, T => Whole::<T>::new(form, member)?.encode(most, helpers))
}

/// The levels of an image whose pixels are in memory.
struct Whole<'a, T> {
    form: &'a Form,
    missing: Missing<T>,
    source: Source<T>,
    /// Raw overviews, largest first; the last is dropped when it is encoded.
    overviews: Vec<Block<T>>,
}

/// What tiles are appended to.
struct Output {
    bytes: Vec<u8>,
    index: TileIndex,
}

impl<'a, T: Sample> Whole<'a, T> {
    fn new(form: &'a Form, member: &Member) -> Result<Self, TiffError> {
        let missing = form.missing();
        let mut whole =
            Self { form, missing, source: Source::new(form, member, missing), overviews: Vec::new() };
        for level in 1..form.levels.len() {
            let overview = whole.reduced(level)?;
            whole.overviews.push(overview);
        }
        Ok(whole)
    }

    /// An overview, from the tiles of the level below it.
    fn reduced(&self, level: usize) -> Result<Block<T>, TiffError> {
        let (below, size) = (self.form.levels[level - 1], self.form.levels[level]);
        let mut overview = self.form.missing_tile(size.width, size.height);
        for tile in 0..below.tiles() {
            let half = halve(&self.tile(level - 1, tile)?, &self.form.reductions, self.missing);
            let part = below.part(tile);
            overview.paste(&half, part.col / 2, part.row / 2);
        }
        Ok(overview)
    }

    fn tile(&self, level: usize, tile: usize) -> Result<Block<T>, TiffError> {
        let part: Part = self.form.levels[level].part(tile);
        match level.checked_sub(1) {
            None => self.source.load(part),
            Some(overview) => Ok(self.overviews[overview].cut(part)),
        }
    }

    fn encode(mut self, most: usize, helpers: &dyn Helpers) -> Result<Vec<u8>, TiffError> {
        let index = self.form.unplaced();
        let header = self.form.header(&index).len();
        let mut output = Output { bytes: Vec::with_capacity(self.form.bound() as usize), index };
        output.bytes.resize(header, 0);
        for level in (0..self.form.levels.len()).rev() {
            output = self.encode_level(level, output, most, helpers)?;
            self.overviews.truncate(level.saturating_sub(1));
        }
        let Output { mut bytes, index } = output;
        bytes[..header].copy_from_slice(&self.form.header(&index));
        check(self.form, &bytes[..header], bytes.len() as u64)?;
        bytes.shrink_to_fit();
        Ok(bytes)
    }

    fn encode_level(
        &self,
        level: usize,
        output: Output,
        most: usize,
        helpers: &dyn Helpers,
    ) -> Result<Output, TiffError> {
        let tiles = Level::tiles(&self.form.levels[level]);
        let ordered = Ordered::new(tiles, output);
        let order = &ordered;
        std::thread::scope(|scope| {
            let idle = (0..most.min(tiles / 4)).map_while(|_| helpers.idle_core());
            let threads: Vec<_> = idle
                .map(|core| {
                    scope.spawn(move || self.encode_tiles(level, order, helpers, Some(core.as_ref())))
                })
                .collect();
            let own = self.encode_tiles(level, order, helpers, None);
            threads.into_iter().fold(own, |result, thread| match thread.join() {
                Ok(other) => result.and(other),
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        Ok(ordered.into_taker())
    }

    /// Takes tiles until none is left, or somebody else wants the core.
    fn encode_tiles(
        &self,
        level: usize,
        order: &Ordered<Output>,
        helpers: &dyn Helpers,
        core: Option<&dyn Helper>,
    ) -> Result<(), TiffError> {
        let mut encoder = TileEncoder::new(self.form, self.missing)?;
        while !core.is_some_and(Helper::is_wanted) {
            let Some(claim) = order.claim() else { break };
            if helpers.is_cancelled() {
                return Err(TiffError::Cancelled);
            }
            encoder.encode(&self.tile(level, claim.index)?)?;
            let tile = (level, claim.index);
            claim.take(|output| output.append(self.form, tile, &encoder.image, &encoder.mask));
        }
        Ok(())
    }
}

impl Output {
    fn append(&mut self, form: &Form, tile: (usize, usize), image: &[u8], mask: &[u8]) {
        let cursor = self.bytes.len() as u64;
        self.index.place(tile, (image.len(), mask.len()), cursor, form.frame());
        let parts = if form.has_mask { &[image, mask][..] } else { &[image][..] };
        for part in parts {
            form.frame().write(part, &mut self.bytes).expect("memory takes every byte");
        }
    }
}
