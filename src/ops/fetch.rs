//! `fetch`: bytes of remote files, only the ranges that the stages below need, or whole.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use futures::future::{BoxFuture, try_join_all};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use url::Url;

use crate::config::{Fault, Value, from_value};
use crate::contract::{
    Asset, AssetNeed, AssetSet, AssetShape, Blob, BlobSet, Content, Environment, Failure, Item, Kind,
    Location, Op, OpEntry, Payload, Port, Shape, SharedFiles, Take, TemporaryFile, Transfer, TransferContext,
};
use crate::raster::{BlockNeed, BlockRanges, FileBytes, block_ranges};
use crate::remote::{Body, Head, RequestError, Spill, merged_length, off_loop};
use crate::units::ByteSize;

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "fetch",
    summary: "Moves the bytes of remote files: only the ranges that later stages need, or whole files.",
    accepts: &[Port::Asset],
    example: "{}",
    schema: |generator| generator.subschema_for::<FetchOptions>(),
    compile,
};

/// How often a header's tables are read on before the file is taken whole.
const MAX_FURTHER_READS: usize = 16;

/// Up to this size one request for the whole file is cheaper than several for most of it.
const SMALL: u64 = 1 << 20;

/// Moves the bytes of remote files over HTTP or from an object store. Files on this machine pass through untouched, and
/// only those files move that a later stage reads.
///
/// Of a tiled TIFF only the byte ranges move that hold the wanted windows, bands and overviews, read with few requests
/// that are made at the same time; each request takes the stage's slots and rates. Other files move whole. A file that
/// changes while its ranges are read is read again as a whole, once.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct FetchOptions {
    /// How much of a file moves: `"auto"` (the default) takes ranges where a later stage needs a part of a tiled file, and
    /// the whole file otherwise; `"whole"` always takes whole files; `"ranges"` takes ranges even where they make up
    /// nearly all of a small file.
    #[serde(default)]
    mode: Mode,
    /// The most bytes that a file without an announced length may have; it goes to the scratch folder. A size such as
    /// `"1 GiB"`, which is the default.
    #[serde(default = "default_max_unknown")]
    max_unknown: ByteSize,
}

/// How much of a file moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    /// What is cheaper.
    #[default]
    Auto,
    /// All of it.
    Whole,
    /// What is needed.
    Ranges,
}

fn default_max_unknown() -> ByteSize {
    ByteSize(1 << 30)
}

struct Fetch {
    options: FetchOptions,
}

fn compile(value: &Value, _: &Environment) -> Result<Arc<dyn Op>, Vec<Fault>> {
    Ok(Arc::new(Fetch { options: from_value(value)? }))
}

impl Op for Fetch {
    fn gives(&self, _: Option<Port>) -> Port {
        Port::Blob
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Connections, Take::Memory]
    }

    /// The same files; those that are not local are held in memory, at their whole size.
    fn shape(&self, input: &Shape, _: &Item) -> Result<Shape, Failure> {
        let held = input.assets.iter().filter(|asset| !asset.is_local).filter_map(|asset| asset.size).sum();
        Ok(Shape { held, ..input.clone() })
    }

    /// Nothing here changes a result.
    fn manifest(&self) -> Json {
        json!({})
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Transfer(self)
    }
}

impl Transfer for Fetch {
    fn transfer(
        &self,
        item: Item,
        context: TransferContext,
    ) -> BoxFuture<'static, Result<Option<Item>, Failure>> {
        fetch_item(self.options.clone(), item, context).map(|item| item.map(Some)).boxed()
    }
}

async fn fetch_item(options: FetchOptions, item: Item, context: TransferContext) -> Result<Item, Failure> {
    let Payload::Assets(sets) = &item.payload else {
        return Err(Failure::fatal("`fetch` was given no references to files"));
    };
    let work = Work { options: &options, item: &item, context: &context };
    let sets = sets.iter().enumerate().map(|(member, set)| work.set(member, set));
    let payload = Payload::Blobs(try_join_all(sets).await?);
    Ok(Item { payload, ..item })
}

/// The work on one item.
struct Work<'a> {
    options: &'a FetchOptions,
    item: &'a Item,
    context: &'a TransferContext,
}

impl Work<'_> {
    async fn set(&self, member: usize, set: &AssetSet) -> Result<BlobSet, Failure> {
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
        if needs.is_empty() || self.options.mode == Mode::Whole {
            return self.whole(member, asset, url).await;
        }
        match self.ranges(url, needs).await {
            Ok(Some(bytes)) => Ok(Content::Memory(Arc::new(bytes))),
            Ok(None) => self.whole(member, asset, url).await,
            Err(RequestFailure::Changed) => {
                self.context.client.forget(url);
                self.whole(member, asset, url).await
            }
            Err(RequestFailure::Other(failure)) => Err(failure),
        }
    }

    fn needs(&self, member: usize, asset: &Asset) -> Vec<BlockNeed> {
        let of_asset = |need: &&AssetNeed| need.member == member && need.name == asset.name;
        let needs = self.context.needs.iter().flat_map(|needs| needs.iter()).filter(of_asset);
        needs
            .map(|need| BlockNeed { bands: need.bands.clone(), window: need.window, overview: need.overview })
            .collect()
    }

    /// The header and the blocks that are needed, or `None` where the whole file is to be taken.
    async fn ranges(&self, url: &Url, needs: Vec<BlockNeed>) -> Result<Option<FileBytes>, RequestFailure> {
        let client = &self.context.client;
        let mut head = client.head(url).await?;
        let needs = Arc::new(needs);
        for _ in 0..=MAX_FURTHER_READS {
            if head.is_whole {
                return Ok(Some(head.bytes.clone()));
            }
            if !head.has_ranges {
                return Ok(None);
            }
            match look_up(Arc::clone(&head), Arc::clone(&needs)).await? {
                BlockRanges::Blocks(blocks) if self.is_worth(&head, &blocks) => {
                    return Ok(Some(self.blocks(url, &head, &blocks).await?));
                }
                BlockRanges::Blocks(_) | BlockRanges::WholeFile => return Ok(None),
                BlockRanges::Missing(missing) => match client.head_with(url, &head, &missing).await? {
                    Some(longer) => head = longer,
                    None => return Ok(None),
                },
            }
        }
        Ok(None)
    }

    /// Whether ranges are cheaper than the whole file: not for most of a file that one request brings at once.
    fn is_worth(&self, head: &Head, blocks: &[Range<u64>]) -> bool {
        let is_small = head.bytes.size <= SMALL && merged_length(blocks) > head.bytes.size / 2;
        self.options.mode == Mode::Ranges || !is_small
    }

    async fn blocks(&self, url: &Url, head: &Head, blocks: &[Range<u64>]) -> Result<FileBytes, RequestError> {
        let lacking: Vec<_> = blocks.iter().flat_map(|block| head.lacking(block.clone())).collect();
        let mut with_blocks = head.clone();
        for (start, bytes) in self.context.client.get_ranges(url, &lacking, &head.version).await? {
            with_blocks.add(start, bytes);
        }
        Ok(with_blocks.bytes)
    }

    /// The whole file: as it is known already, on scratch where the windows of one parent share it, else in memory.
    async fn whole(&self, member: usize, asset: &Asset, url: &Url) -> Result<Content, Failure> {
        if let Some(head) = self.context.client.known_head(url).filter(|head| head.is_whole) {
            return Ok(Content::Memory(Arc::new(head.bytes.clone())));
        }
        if let Some(shared) = &self.item.lineage.shared {
            let name = SharedFiles::name_of(member, &asset.name);
            return Ok(Content::Scratch(shared.get_or_make(&name, || self.to_scratch(url)).await?));
        }
        let mut admit = |bytes: u64| self.admit(member, asset, bytes);
        let file = self.temporary();
        let spill = self.spill(&file);
        match self.context.client.get_whole(url, &mut admit, Some(&spill), self.expects_raster(asset)).await?
        {
            Body::Memory(bytes) => {
                let name = asset.location.to_string();
                Ok(Content::Memory(Arc::new(FileBytes::whole(name, bytes))))
            }
            Body::File(_) => Ok(Content::Scratch(Arc::new(file))),
        }
    }

    async fn to_scratch(&self, url: &Url) -> Result<Arc<TemporaryFile>, Failure> {
        let file = self.temporary();
        let spill = self.spill(&file);
        self.context.client.get_to_file(url, &spill, true).await?;
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
        let is_asset = |shape: &&AssetShape| shape.member == member && shape.name == asset.name;
        let foreseen =
            self.context.input.assets.iter().find(is_asset).and_then(|shape| shape.size).unwrap_or(0);
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

/// Where the needed pixels lie.
async fn look_up(head: Arc<Head>, needs: Arc<Vec<BlockNeed>>) -> Result<BlockRanges, Failure> {
    off_loop(move || block_ranges(&head.bytes, &needs))
        .await
        .map_err(|error| Failure::item(error.to_string()))
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

#[cfg(test)]
mod tests;
