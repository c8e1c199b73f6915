//! What `fetch` will move of each file, worked out from headers before the first byte is asked for.

use std::ops::Range;
use std::sync::Arc;

use super::Mode;
use crate::contract::{AssetNeed, AssetShape, Foreseen, Item, Moves, Shape};
use crate::raster::{BandHeader, BlockNeed, BlockRanges, FileBytes, Window, block_ranges};
use crate::remote::merged_length;
use crate::units::ByteSize;

/// Up to this size one request for the whole file is cheaper than several for most of it.
const SMALL: u64 = 1 << 20;

/// How much of each file moves, as far as the pipeline alone tells.
pub(super) fn moves(mode: Mode, taken_by: Option<&str>) -> Moves {
    let others = "whole files where there are strips, another format, or a server without ranges";
    let words = match (mode, taken_by) {
        (Mode::Whole, _) => "whole files, as `mode = \"whole\"` says".to_owned(),
        (_, Some(stage)) => format!("whole files, because `{stage}` takes them as they are"),
        (Mode::Ranges, None) => format!("the blocks of tiled TIFFs that are needed; {others}"),
        (Mode::Auto, None) => {
            let small = ByteSize(SMALL);
            format!(
                "the blocks of tiled TIFFs that are needed (all of one up to {small} where they are most of it); {others}"
            )
        }
    };
    Moves { words, has_parts: mode != Mode::Whole && taken_by.is_none() }
}

/// The form of what is fetched: the same files, with what of each is foreseen to move; that is held in memory. May call
/// GDAL once the needs are known.
pub(super) fn shape(mode: Mode, input: &Shape, item: &Item) -> Shape {
    let shares_scratch = item.lineage.shared.is_some();
    let mut shape = input.clone();
    for asset in shape.assets.iter_mut().filter(|asset| !asset.is_local) {
        let foreseen = match &input.needs {
            Some(needs) => of_needs(mode, asset, &needs_of(needs, asset.member, &asset.name), shares_scratch),
            None => whole(asset, shares_scratch),
        };
        asset.foreseen = Some(Arc::new(foreseen));
    }
    let held = |asset: &AssetShape| asset.foreseen.as_ref().map_or(0, |foreseen| foreseen.held);
    Shape { held: shape.assets.iter().map(held).sum(), ..shape }
}

/// The needs of one file.
pub(super) fn needs_of(needs: &[AssetNeed], member: usize, name: &str) -> Vec<BlockNeed> {
    let of_file = needs.iter().filter(|need| need.member == member && need.name == name);
    of_file
        .map(|need| BlockNeed { bands: need.bands.clone(), window: need.window, overview: need.overview })
        .collect()
}

/// Whether ranges are cheaper than the whole file: not for most of a file that one request brings at once.
pub(super) fn is_worth(mode: Mode, size: u64, ranges: &[Range<u64>]) -> bool {
    mode == Mode::Ranges || size > SMALL || merged_length(ranges) <= size / 2
}

fn of_needs(mode: Mode, asset: &AssetShape, needs: &[BlockNeed], shares_scratch: bool) -> Foreseen {
    let Some(prefix) = &asset.prefix else { return whole(asset, shares_scratch) };
    if needs.is_empty() {
        return Foreseen::default();
    }
    if prefix.held() == prefix.size {
        return Foreseen { held: prefix.size, ranges: None };
    }
    if mode == Mode::Whole {
        return whole(asset, shares_scratch);
    }
    match block_ranges(prefix, needs) {
        Ok(BlockRanges::Blocks(ranges)) if is_worth(mode, prefix.size, &ranges) => {
            Foreseen { held: prefix.held() + merged_length(&ranges), ranges: Some(ranges) }
        }
        Ok(BlockRanges::Missing(_)) => Foreseen { held: at_most(asset, prefix, needs), ranges: None },
        Ok(BlockRanges::Blocks(_) | BlockRanges::WholeFile(_)) | Err(_) => whole(asset, shares_scratch),
    }
}

/// The whole file: on scratch where windows share it, or where nobody knows its size.
fn whole(asset: &AssetShape, shares_scratch: bool) -> Foreseen {
    let size = asset.size.filter(|_| !shares_scratch);
    Foreseen { held: size.unwrap_or(0), ranges: None }
}

/// Where the tables of the header are not at hand: no more than the file, and hardly more than its blocks unpacked.
fn at_most(asset: &AssetShape, prefix: &FileBytes, needs: &[BlockNeed]) -> u64 {
    let bands = asset.header.as_ref().map_or(&[][..], |header| &header.bands);
    let unpacked: u64 = needs.iter().map(|need| unpacked(bands, need)).sum();
    if bands.is_empty() { prefix.size } else { prefix.size.min(prefix.held() + unpacked) }
}

/// Bytes of the blocks that hold a need's pixels; a block may hold all bands.
fn unpacked(bands: &[BandHeader], need: &BlockNeed) -> u64 {
    let Some(first) = bands.first() else { return 0 };
    let pixel: u64 = bands.iter().map(|band| band.data_type.size()).sum();
    blocks_of(&need.window, first.block) * first.block.0 * first.block.1 * pixel
}

/// How many blocks of this size hold a window's pixels.
fn blocks_of(window: &Window, (columns, rows): (u64, u64)) -> u64 {
    let span =
        |start: u64, length: u64, edge: u64| (start + length).div_ceil(edge.max(1)) - start / edge.max(1);
    span(window.col, window.width, columns) * span(window.row, window.height, rows)
}
