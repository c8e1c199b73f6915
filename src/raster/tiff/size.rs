//! What a file takes, known from its form alone: bytes at most, memory while it is made, scratch while it is assembled.

use super::codec::{codec_bytes, compressed_bound};
use super::layout::{Level, levels};
use super::settings::{Compression, Settings};
use crate::raster::DataType;

/// The part of an image's form that its size depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Columns.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// The type of all pixels.
    pub data_type: DataType,
    /// How many bands.
    pub bands: usize,
    /// Whether pixels of some band may be missing.
    pub may_miss: bool,
}

impl Extent {
    /// Floats mark missing pixels by NaN; integers may need a mask.
    fn may_need_mask(&self) -> bool {
        self.may_miss && !self.data_type.is_float()
    }

    fn tiles(&self, settings: &Settings) -> u64 {
        levels(self.width, self.height, settings).iter().map(|level| level.tiles() as u64).sum()
    }

    /// Bytes of one tile, neither padded away nor compressed.
    fn tile(&self, settings: &Settings) -> u64 {
        raw_tile(settings, self.data_type, self.bands)
    }
}

fn raw_tile(settings: &Settings, data_type: DataType, bands: usize) -> u64 {
    settings.block as u64 * settings.block as u64 * bands as u64 * data_type.size()
}

/// The most bytes of one tile in the file, with its mask and frames, whatever the codec makes of it.
pub(super) fn tile_bound(settings: &Settings, data_type: DataType, bands: usize, has_mask: bool) -> u64 {
    let image = compressed_bound(settings.compression, raw_tile(settings, data_type, bands)) + 8;
    let mask = settings.block as u64 * settings.block as u64 / 8;
    if has_mask { image + compressed_bound(Compression::Deflate(6), mask) + 8 } else { image }
}

/// The most bytes that the encoded file has, metadata as it usually is.
pub fn encoded_bound(settings: &Settings, extent: &Extent) -> u64 {
    let header = (8 << 10) + (extent.bands as u64 * 512) + extent.tiles(settings) * 32;
    header + tiles_bound(settings, extent)
}

/// The most bytes that the tiles of all levels have, with masks and frames, when a codec finds what pads them.
pub(super) fn tiles_bound(settings: &Settings, extent: &Extent) -> u64 {
    let of_level = |level: &Level| {
        let (columns, rows) = (sides(level.width, level.block), sides(level.height, level.block));
        let kinds = columns.iter().flat_map(|column| rows.iter().map(move |row| (column, row)));
        kinds
            .map(|((width, across), (height, down))| {
                across * down * part_bound(settings, extent, (*width, *height))
            })
            .sum::<u64>()
    };
    levels(extent.width, extent.height, settings).iter().map(of_level).sum()
}

/// How long the sides of tiles are along a side of the image, and how many have that length.
fn sides(length: usize, block: usize) -> [(u64, u64); 2] {
    let rest = length % block;
    [(block as u64, (length / block) as u64), (rest as u64, u64::from(rest > 0))]
}

/// The most bytes of a tile of which `width` columns and `height` rows are in the image, with its mask and frames.
fn part_bound(settings: &Settings, extent: &Extent, (width, height): (u64, u64)) -> u64 {
    let block = settings.block as u64;
    let pixel = extent.bands as u64 * extent.data_type.size();
    let image = Padded {
        row: width * pixel,
        whole_row: block * pixel,
        rows: height,
        whole_rows: block,
        runs: if extent.data_type.is_float() { extent.data_type.size() } else { 1 },
    };
    let mask = Padded { row: width.div_ceil(8), whole_row: block / 8, runs: 1, ..image };
    let image = image.bound(settings.compression) + 8;
    if extent.may_need_mask() { image + mask.bound(Compression::Deflate(6)) + 8 } else { image }
}

/// A tile that is larger than the part of the image in it: each row is continued by repetitions of its last pixel, and
/// below the last row stand copies of it.
struct Padded {
    /// Bytes of a row that are of the image.
    row: u64,
    whole_row: u64,
    /// Rows that are of the image.
    rows: u64,
    whole_rows: u64,
    /// In how many pieces a predictor leaves the padding of a row.
    runs: u64,
}

/// How far back DEFLATE finds a copy (RFC 1951).
const DEFLATE_WINDOW: u64 = 32 << 10;

impl Padded {
    /// The most bytes that it is compressed to. Of what a codec repeats, 258 bytes cost 6 with DEFLATE and fewer with
    /// Zstandard; a row's noise costs 1/256 more where its codes also stand for repetitions. Zstandard looks for copies
    /// ever more seldom where it finds none, so that it may miss those of noisy rows.
    fn bound(&self, compression: Compression) -> u64 {
        let all = compressed_bound(compression, self.whole_row * self.whole_rows);
        let finds_rows = match compression {
            Compression::Deflate(1..) => self.whole_row < DEFLATE_WINDOW,
            Compression::Zstd(_) => false,
            Compression::Deflate(0) | Compression::Lzw | Compression::None => return all,
        };
        let repeated = |bytes: u64| bytes.min(16 * self.runs + bytes / 32);
        let row = self.row + self.row / 128 + repeated(self.whole_row - self.row);
        let below = if finds_rows { repeated(self.whole_row) } else { row };
        all.min(compressed_bound(compression, self.rows * row + (self.whole_rows - self.rows) * below))
    }
}

/// How many threads beside the first are worth their memory: one for every 16 tiles, at most 7, and no more than take an
/// eighth of what input and output hold.
pub fn helpers_for(settings: &Settings, extent: &Extent) -> usize {
    let held = 2 * tiles_bound(settings, extent);
    (extent.tiles(settings) / 16).min(7).min(held / 8 / thread_bytes(settings, extent)) as usize
}

/// Stacks of threads, and what an allocator keeps of small things.
const OVERHEAD: u64 = 2 << 20;

/// Memory beside input and output while a whole raster is encoded on one core. The raw overviews need none of their own: they are
/// dropped as the output, which is at least as large as they are in the worst case, grows.
pub fn working_bytes(settings: &Settings, extent: &Extent) -> u64 {
    OVERHEAD + thread_bytes(settings, extent)
}

/// One thread's buffers: the tile as pixels, as bytes and compressed, and what the codec keeps.
pub fn thread_bytes(settings: &Settings, extent: &Extent) -> u64 {
    let tile = extent.tile(settings);
    let mask = if extent.may_need_mask() { settings.block as u64 * settings.block as u64 * 5 / 4 } else { 0 };
    2 * tile + compressed_bound(settings.compression, tile) + mask + codec_bytes(settings.compression, tile)
}

/// Memory beside its input while one window is taken into an assembly: a thread's buffers, and a tile as it is put
/// together from parts, read back and halved. The whole assembly keeps 64 bytes a tile, and nothing else in memory.
pub fn window_working_bytes(settings: &Settings, extent: &Extent) -> u64 {
    let tile =
        extent.tile(settings) + if extent.may_need_mask() { (settings.block as u64).pow(2) } else { 0 };
    OVERHEAD + thread_bytes(settings, extent) + 3 * tile
}

/// Scratch disk for an assembly, estimated: compressed tiles and the finished file side by side at half the raw size
/// each, or all of it where nothing is compressed, and the tiles of two rows that wait for their other parts.
pub fn spool_estimate(settings: &Settings, extent: &Extent) -> u64 {
    let level = Level { width: extent.width as usize, height: extent.height as usize, block: settings.block };
    let waiting = 2 * level.across() as u64 * extent.tile(settings);
    let raw = extent.tiles(settings) * extent.tile(settings);
    let factor = if settings.compression == Compression::None { 2 } else { 1 };
    factor * raw + waiting
}
