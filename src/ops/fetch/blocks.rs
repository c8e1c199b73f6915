//! Blocks of a file: by requests of their own, or by way of what the windows of one parent share.

use std::ops::Range;

use futures::future::try_join_all;
use url::Url;

use super::work::Work;
use crate::contract::{Asset, Claim, KeptRange, SharedRanges};
use crate::raster::{BandHeader, BlockNeed, FileBytes, Gaps, Header, Window};
use crate::remote::{Head, RequestError, off_loop};

/// A file that is fetched, and what is known of it.
pub(super) struct Remote<'a> {
    pub(super) member: usize,
    pub(super) asset: &'a Asset,
    pub(super) url: &'a Url,
    pub(super) head: &'a Head,
}

impl Work<'_> {
    /// The header and these blocks. A block that other windows of the parent may need too is fetched once.
    pub(super) async fn blocks(
        &self,
        file: &Remote<'_>,
        needs: &[BlockNeed],
        blocks: &[Range<u64>],
    ) -> Result<FileBytes, RequestError> {
        match self.shared_ranges(file, needs) {
            Some(ranges) => self.shared(file, blocks, &ranges).await,
            None => self.unshared(file, blocks).await,
        }
    }

    /// What the windows of the parent share of the file in this state; `None` where no other window needs these blocks.
    fn shared_ranges(&self, file: &Remote<'_>, needs: &[BlockNeed]) -> Option<SharedRanges> {
        let shared = self.item.lineage.shared.as_ref().filter(|_| !self.has_blocks_alone(file, needs))?;
        let state = file.head.version.text().unwrap_or_default();
        let name = format!("{}/{} {} {state}", file.member, file.asset.name, file.head.bytes.size);
        let (scratch, budget) = (self.context.scratch.clone(), self.context.scratch_budget.clone());
        Some(shared.ranges(name, || SharedRanges::new(scratch, budget)))
    }

    /// Whether the window is made of whole blocks of the file and is all that is needed of it. Then so are the others, and
    /// since windows do not overlap no two share a block.
    fn has_blocks_alone(&self, file: &Remote<'_>, needs: &[BlockNeed]) -> bool {
        let (Some(window), Some(header)) = (self.item.lineage.window, &file.head.header) else {
            return false;
        };
        needs.iter().all(|need| need.overview.is_none() && need.window == window)
            && header.bands.iter().all(|band| is_made_of_blocks(header, band, &window))
    }

    async fn unshared(&self, file: &Remote<'_>, blocks: &[Range<u64>]) -> Result<FileBytes, RequestError> {
        let lacking: Vec<_> = blocks.iter().flat_map(|block| file.head.lacking(block.clone())).collect();
        let mut with_blocks = file.head.clone();
        for (start, bytes) in self.context.client.get_ranges(file.url, &lacking, &file.head.version).await? {
            with_blocks.add(start, bytes);
        }
        Ok(with_blocks.bytes)
    }

    /// Takes what is on scratch, fetches what nobody fetches, and waits for what others do.
    async fn shared(
        &self,
        file: &Remote<'_>,
        blocks: &[Range<u64>],
        ranges: &SharedRanges,
    ) -> Result<FileBytes, RequestError> {
        let mut with_blocks = file.head.clone();
        loop {
            let lacking: Vec<_> =
                blocks.iter().flat_map(|block| with_blocks.lacking(block.clone())).collect();
            if lacking.is_empty() {
                return Ok(with_blocks.bytes);
            }
            let mut sharing = ranges.share(&lacking);
            if sharing.kept.is_empty() && sharing.claims.is_empty() {
                sharing.others().await;
                continue;
            }
            let fetched =
                try_join_all(sharing.claims.into_iter().map(|claim| self.fetch(file, claim))).await?;
            let kept = off_loop(move || read_back(&sharing.kept)).await;
            for (start, bytes) in
                fetched.into_iter().chain(kept.map_err(|error| self.unreadable(file, &error))?)
            {
                with_blocks.add(start, bytes);
            }
        }
    }

    /// Fetches a range for everybody.
    async fn fetch(&self, file: &Remote<'_>, claim: Claim) -> Result<(u64, bytes::Bytes), RequestError> {
        let range = claim.range();
        let bytes = self.context.client.get_range(file.url, range.clone(), &file.head.version).await?;
        claim.keep(bytes.clone()).await;
        Ok((range.start, bytes))
    }

    fn unreadable(&self, file: &Remote<'_>, error: &std::io::Error) -> RequestError {
        RequestError::Scratch {
            url: file.asset.location.to_string(),
            path: self.context.scratch.display().to_string(),
            is_full: false,
            reason: error.to_string(),
        }
    }
}

fn read_back(kept: &[KeptRange]) -> std::io::Result<Vec<(u64, bytes::Bytes)>> {
    kept.iter().map(|range| Ok((range.start(), range.read()?))).collect()
}

/// Whether a window begins and ends with blocks of a band; the last ones end with the raster.
fn is_made_of_blocks(header: &Header, band: &BandHeader, window: &Window) -> bool {
    let fits = |start: u64, length: u64, edge: u64, size: u64| {
        start.is_multiple_of(edge) && ((start + length).is_multiple_of(edge) || start + length == size)
    };
    band.gaps != Gaps::ByMask
        && fits(window.col, window.width, band.block.0, header.grid.width)
        && fits(window.row, window.height, band.block.1, header.grid.height)
}
