//! Which bytes of a tiled TIFF hold the pixels of a window.
//!
//! GDAL's metadata items `BLOCK_OFFSET_x_y` and `BLOCK_SIZE_x_y` of the domain `TIFF` tell where a block lies
//! (<https://gdal.org/drivers/raster/gtiff.html#metadata>). A sparse block has neither and needs no bytes.

use std::collections::BTreeSet;
use std::ops::Range;

use gdal::Metadata;
use gdal::raster::RasterBand;

use super::message::listen;
use super::open::{Opened, Source};
use super::{Answer, FileBytes, RasterError, Window, inspect, ranges};

/// Pixels that are needed of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockNeed {
    /// Bands, counted from 1. The mask and the alpha band come with them.
    pub bands: Vec<usize>,
    /// Pixels of the full resolution, or of the overview.
    pub window: Window,
    /// Which overview, counted from 0; `None` for the full resolution.
    pub overview: Option<usize>,
}

/// Where the needed pixels lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockRanges {
    /// In these ranges, by offset and merged where they touch. None when all blocks are sparse.
    Blocks(Vec<Range<u64>>),
    /// These bytes of the header are to be fetched before asking again.
    Missing(Vec<Range<u64>>),
    /// The file is not tiled and is taken whole.
    WholeFile(Untiled),
}

/// Why a file has no tiles that can be read by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untiled {
    /// A TIFF whose rows are stored in strips.
    Strips,
    /// JPEG 2000 or another format.
    Format,
}

/// Finds the bytes that hold the needed pixels. Of `bytes` only the header has to be at hand.
///
/// # Errors
/// No raster, or a band, overview or window that the file does not have.
pub fn block_ranges(bytes: &FileBytes, needs: &[BlockNeed]) -> Result<BlockRanges, RasterError> {
    let opened = match Opened::open(Source::Memory(bytes))? {
        Answer::Known(opened) => opened,
        Answer::Missing(ranges) => return Ok(BlockRanges::Missing(ranges)),
    };
    if let Some(untiled) = untiled(&opened) {
        return Ok(BlockRanges::WholeFile(untiled));
    }
    let (found, _said) =
        listen(|| needs.iter().map(|need| of_need(&opened, need)).collect::<Result<Vec<_>, _>>());
    let missing = opened.take_missing();
    if !missing.is_empty() {
        return Ok(BlockRanges::Missing(missing));
    }
    Ok(BlockRanges::Blocks(ranges::merged(within(bytes.size, found?.concat()))))
}

/// What lies in the file; a file that was cut off has tables that point beyond its end.
fn within(size: u64, ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.into_iter().map(|range| range.start..range.end.min(size)).collect()
}

/// Why blocks are no tiles of a TIFF, if they are none; a strip is as wide as the raster and not as high.
fn untiled(opened: &Opened) -> Option<Untiled> {
    if opened.dataset().driver().short_name() != "GTiff" {
        return Some(Untiled::Format);
    }
    let is_tiled = opened.band(1, None).is_ok_and(|band| {
        let ((columns, rows), (width, height)) = (band.block_size(), band.size());
        columns != width || rows >= height
    });
    (!is_tiled).then_some(Untiled::Strips)
}

fn of_need(opened: &Opened, need: &BlockNeed) -> Result<Vec<Range<u64>>, RasterError> {
    let mut found = Vec::new();
    for number in bands_to_look_at(opened, need) {
        let band = opened.band(number, need.overview)?;
        opened.check_window(&band, &need.window)?;
        collect(&band, &need.window, &mut found);
        if inspect::has_file_mask(&band)
            && let Ok(mask) = band.open_mask_band()
        {
            collect(&mask, &need.window, &mut found);
        }
    }
    Ok(found)
}

/// The bands asked for and the alpha band; one of them where a block holds all bands.
fn bands_to_look_at(opened: &Opened, need: &BlockNeed) -> BTreeSet<usize> {
    let interleave = opened.dataset().metadata_item("INTERLEAVE", "IMAGE_STRUCTURE");
    let alpha = inspect::alpha_band_beside(opened, &need.bands);
    let bands: BTreeSet<_> = need.bands.iter().copied().chain(alpha).collect();
    if interleave.as_deref() == Some("PIXEL") && need.bands.iter().all(|band| *band <= opened.band_count()) {
        return bands.into_iter().take(1).collect();
    }
    bands
}

fn collect(band: &RasterBand<'_>, window: &Window, found: &mut Vec<Range<u64>>) {
    let (columns, rows) = band.block_size();
    let (columns, rows) = (columns as u64, rows as u64);
    for y in window.row / rows..(window.row + window.height).div_ceil(rows) {
        for x in window.col / columns..(window.col + window.width).div_ceil(columns) {
            found.extend(block(band, x, y));
        }
    }
}

/// The bytes of one block; `None` for a sparse one, and where the tables of the header are not at hand.
fn block(band: &RasterBand<'_>, x: u64, y: u64) -> Option<Range<u64>> {
    let number = |what: &str| -> Option<u64> {
        band.metadata_item(&format!("BLOCK_{what}_{x}_{y}"), "TIFF")?.parse().ok()
    };
    let (offset, size) = (number("OFFSET")?, number("SIZE")?);
    Some(offset..offset.checked_add(size)?)
}
