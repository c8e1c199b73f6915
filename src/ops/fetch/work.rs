//! The work of `fetch` on one item: each file as ranges, or whole.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::try_join_all;
use serde_json::Value as Json;
use url::Url;

use super::blocks::Remote;
use super::foreseen::{is_worth, needs_of};
use super::{FetchOptions, Mode};
use crate::contract::{
    Asset, AssetSet, AssetShape, Blob, BlobSet, Content, Failure, Item, Location, Shape, SharedFiles,
    TemporaryFile, TransferContext,
};
use crate::events::WholeReason;
use crate::raster::{BlockNeed, BlockRanges, FileBytes, Untiled, block_ranges};
use crate::remote::{Body, Head, RequestError, Spill, off_loop};

/// How often a header's tables are read on before the file is taken whole.
const MAX_FURTHER_READS: usize = 16;

/// The work on one item.
pub(super) struct Work<'a> {
    pub(super) options: &'a FetchOptions,
    pub(super) item: &'a Item,
    pub(super) context: &'a TransferContext,
}

impl Work<'_> {
    pub(super) async fn set(&self, member: usize, set: &AssetSet) -> Result<BlobSet, Failure> {
        let wanted = set.assets.iter().filter(|asset| self.is_wanted(member, asset));
        let blobs = try_join_all(wanted.map(|asset| self.blob(member, asset))).await?;
        Ok(BlobSet { id: set.id.clone(), properties: Arc::clone(&set.properties), blobs })
    }

    /// Whether a later stage reads the file: it is among the needs, or where there are none, in the input's form.
    fn is_wanted(&self, member: usize, asset: &Asset) -> bool {
        if let Some(needs) = &self.context.needs {
            return needs.iter().any(|need| need.member == member && need.name == asset.name);
        }
        let shapes = &self.context.input.assets;
        shapes.is_empty() || shapes.iter().any(|shape| shape.member == member && shape.name == asset.name)
    }

    async fn blob(&self, member: usize, asset: &Asset) -> Result<Blob, Failure> {
        let content = match &asset.location {
            Location::Local(path) => Ok(Content::Local(path.clone())),
            Location::Remote(url) => self.content(member, asset, url).await,
        };
        let content = content.map_err(|failure| failure.within(format_args!("asset `{}`", asset.name)))?;
        Ok(Blob { asset: asset.clone(), content })
    }

    async fn content(&self, member: usize, asset: &Asset, url: &Url) -> Result<Content, Failure> {
        let needs = self.needs(member, asset);
        if self.options.mode == Mode::Whole {
            return self.whole(member, asset, url, WholeReason::Mode).await;
        }
        if needs.is_empty() {
            return self.whole(member, asset, url, self.why_no_part(url)).await;
        }
        match self.ranges(member, asset, url, needs).await {
            Ok(Parts::Fetched(bytes)) => Ok(Content::Memory(Arc::new(bytes))),
            Ok(Parts::None(why)) => self.whole(member, asset, url, why).await,
            Err(RequestFailure::Changed) => {
                self.context.client.forget(url);
                self.whole(member, asset, url, WholeReason::Changed).await
            }
            Err(RequestFailure::Other(failure)) => Err(failure),
        }
    }

    /// Why no later stage names the part that it needs.
    fn why_no_part(&self, url: &Url) -> WholeReason {
        match self.context.client.known_head(url) {
            Some(head) if !head.has_ranges => WholeReason::NoRanges,
            Some(head) if head.header.is_none() => WholeReason::HeaderApart,
            _ => WholeReason::TakenItself,
        }
    }

    fn needs(&self, member: usize, asset: &Asset) -> Vec<BlockNeed> {
        self.context.needs.as_deref().map(|needs| needs_of(needs, member, &asset.name)).unwrap_or_default()
    }

    /// The header and the blocks that are needed, or why the whole file is to be taken.
    async fn ranges(
        &self,
        member: usize,
        asset: &Asset,
        url: &Url,
        needs: Vec<BlockNeed>,
    ) -> Result<Parts, RequestFailure> {
        let client = &self.context.client;
        let mut head = client.head(url).await?;
        let needs = Arc::new(needs);
        for _ in 0..=MAX_FURTHER_READS {
            if head.is_whole {
                return Ok(Parts::Fetched(head.bytes.clone()));
            }
            if !head.has_ranges {
                return Ok(Parts::None(WholeReason::NoRanges));
            }
            match self.look_up(member, asset, &head, &needs).await? {
                BlockRanges::Blocks(blocks) if is_worth(self.options.mode, head.bytes.size, &blocks) => {
                    let file = Remote { member, asset, url, head: &head };
                    return Ok(Parts::Fetched(self.blocks(&file, &needs, &blocks).await?));
                }
                BlockRanges::Blocks(_) => return Ok(Parts::None(WholeReason::MostNeeded)),
                BlockRanges::WholeFile(Untiled::Strips) => return Ok(Parts::None(WholeReason::Strips)),
                BlockRanges::WholeFile(Untiled::Format) => return Ok(Parts::None(WholeReason::Format)),
                BlockRanges::Missing(missing) => match client.head_with(url, &head, &missing).await? {
                    Some(longer) => head = longer,
                    None => break,
                },
            }
        }
        Ok(Parts::None(WholeReason::HeaderApart))
    }

    /// Where the needed pixels lie: as was foreseen from the same header, else looked up in it.
    async fn look_up(
        &self,
        member: usize,
        asset: &Asset,
        head: &Arc<Head>,
        needs: &Arc<Vec<BlockNeed>>,
    ) -> Result<BlockRanges, Failure> {
        let shape = shape_of(&self.context.output, member, &asset.name);
        let is_of_head = |shape: &&AssetShape| {
            shape.prefix.as_ref().is_some_and(|prefix| begins_alike(prefix, &head.bytes))
        };
        let foreseen = shape.filter(is_of_head).and_then(|shape| shape.foreseen.as_ref()?.ranges.clone());
        if let Some(ranges) = foreseen {
            return Ok(BlockRanges::Blocks(ranges));
        }
        let (head, needs) = (Arc::clone(head), Arc::clone(needs));
        off_loop(move || block_ranges(&head.bytes, &needs))
            .await
            .map_err(|error| Failure::item(error.to_string()))
    }

    /// The whole file: as it is known already, on scratch where the windows of one parent share it, else in memory.
    async fn whole(
        &self,
        member: usize,
        asset: &Asset,
        url: &Url,
        why: WholeReason,
    ) -> Result<Content, Failure> {
        if let Some(head) = self.context.client.known_head(url).filter(|head| head.is_whole) {
            return Ok(Content::Memory(Arc::new(head.bytes.clone())));
        }
        if let Some(shared) = &self.item.lineage.shared {
            let name = SharedFiles::name_of(member, &asset.name);
            return Ok(Content::Scratch(shared.get_or_make(&name, || self.to_scratch(url, why)).await?));
        }
        let mut admit = |bytes: u64| self.admit(member, asset, bytes);
        let file = self.temporary();
        let spill = self.spill(&file);
        let expects_raster = self.expects_raster(asset);
        match self.context.client.get_whole(url, &mut admit, Some(&spill), expects_raster, why).await? {
            Body::Memory(bytes) => {
                let name = asset.location.to_string();
                Ok(Content::Memory(Arc::new(FileBytes::whole(name, bytes))))
            }
            Body::File(_) => Ok(Content::Scratch(Arc::new(file))),
        }
    }

    async fn to_scratch(&self, url: &Url, why: WholeReason) -> Result<Arc<TemporaryFile>, Failure> {
        let file = self.temporary();
        let spill = self.spill(&file);
        self.context.client.get_to_file(url, &spill, true, why).await?;
        Ok(Arc::new(file))
    }

    /// A page in place of the file is told where a later stage decodes it, or the catalogue says that it is an image.
    fn expects_raster(&self, asset: &Asset) -> bool {
        let is_image = || {
            asset.metadata.get("type").and_then(Json::as_str).is_some_and(|kind| kind.starts_with("image/"))
        };
        self.context.needs.is_some() || is_image()
    }

    /// What the header did not foresee grows the item's memory as an overdraft; more than the whole budget is refused.
    fn admit(&self, member: usize, asset: &Asset, bytes: u64) -> Result<(), String> {
        let memory = &self.context.memory;
        let shape = shape_of(&self.context.output, member, &asset.name);
        let foreseen = shape.and_then(|shape| shape.foreseen.as_ref()).map_or(0, |foreseen| foreseen.held);
        let capacity = memory.budget().capacity();
        if bytes > capacity {
            return Err(format!("{bytes} bytes, more than the {capacity} bytes of the memory budget"));
        }
        if bytes > foreseen {
            memory.grow_to(memory.bytes() + (bytes - foreseen));
        }
        Ok(())
    }

    /// A file on scratch that is not made yet and goes with its last holder.
    fn temporary(&self) -> TemporaryFile {
        let lease = self.context.scratch_budget.overdraw(0);
        TemporaryFile { path: self.context.scratch.join(temporary_name()), lease: Some(lease) }
    }

    fn spill(&self, file: &TemporaryFile) -> Spill {
        let lease = file.lease.clone().unwrap_or_else(|| self.context.scratch_budget.overdraw(0));
        Spill { path: file.path.clone(), lease, cap: self.options.max_unknown.0 }
    }
}

/// Unique within this process and among the processes that share a scratch folder.
fn temporary_name() -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("fetched-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)).into()
}

/// What is known of a file before it is fetched.
fn shape_of<'a>(shape: &'a Shape, member: usize, name: &str) -> Option<&'a AssetShape> {
    shape.assets.iter().find(|asset| asset.member == member && asset.name == name)
}

/// Whether both begin with the same bytes, so that their tables say the same.
fn begins_alike(one: &FileBytes, other: &FileBytes) -> bool {
    let first = |bytes: &FileBytes| bytes.segments.first().map(|(_, bytes)| bytes.as_ptr_range());
    first(one).is_some() && first(one) == first(other)
}

/// What came of a look at the parts of a file.
enum Parts {
    /// The header and the blocks that are needed.
    Fetched(FileBytes),
    /// The whole file is to be taken.
    None(WholeReason),
}

/// A failure, or the change of an object that allows another way.
enum RequestFailure {
    Changed,
    Other(Failure),
}

impl From<RequestError> for RequestFailure {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Changed { .. } => Self::Changed,
            other => Self::Other(other.into()),
        }
    }
}

impl From<Failure> for RequestFailure {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}
