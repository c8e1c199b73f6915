//! What the engine hands to an op while it runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::contract::{AssetNeed, Failure, Shape};
use crate::ids::{ItemId, StageName};
use crate::raster::Window;
use crate::remote::StageClient;
use crate::resources::{ByteLease, Bytes, Slots};

/// For sources.
#[derive(Clone)]
pub struct SourceContext {
    /// The stage.
    pub stage: StageName,
    /// Makes requests under the stage's resources.
    pub client: StageClient,
    /// Cancelled when the run stops admitting.
    pub cancel: CancellationToken,
}

/// For work that waits for others: requests, disks, programs.
#[derive(Clone)]
pub struct TransferContext {
    /// The stage.
    pub stage: StageName,
    /// The item.
    pub item: ItemId,
    /// Makes requests under the stage's resources.
    pub client: StageClient,
    /// Cancelled when the work is to end at once.
    pub cancel: CancellationToken,
    /// The window of each output member that is wanted; empty at ports without rasters and for whole rasters.
    pub wanted: Arc<[Window]>,
    /// What the stages below need of each file; `None` where a stage needs whole files.
    pub needs: Option<Arc<[AssetNeed]>>,
    /// The form of the input as the header told it.
    pub input: Arc<Shape>,
    /// The form of the output as the header told it.
    pub output: Arc<Shape>,
    /// The item's memory; grows as an overdraft when a header proves too small.
    pub memory: ByteLease,
    /// The folder for temporaries.
    pub scratch: PathBuf,
    /// The budget of that folder.
    pub scratch_budget: Bytes,
    /// Files that are about to be renamed, and were.
    pub commits: Arc<dyn Commits>,
    /// Cores held, for programs.
    pub cores: u64,
    /// GDAL's block cache in bytes for a program of this stage.
    pub gdal_cache: u64,
}

/// The ledger's part in writing the files of one item at one stage: told before a temporary is made, before it is
/// renamed and after.
pub trait Commits: Send + Sync {
    /// Claims a place for this item.
    ///
    /// # Errors
    /// Another item of this run has claimed it.
    fn claim(&self, location: &str) -> Result<(), Failure>;

    /// Whether the file of this size that stands at a place is one that an earlier run of this pipeline put there,
    /// whatever became of it since, or was about to.
    fn owns(&self, location: &str, size: u64) -> bool;

    /// A temporary is about to be made. Returns when that is committed.
    fn announce<'a>(&'a self, temporary: &'a Path) -> BoxFuture<'a, Result<(), Failure>>;

    /// The temporary is complete and about to be renamed. Returns when that is committed.
    fn intend<'a>(&'a self, intent: Intended<'a>) -> BoxFuture<'a, Result<(), Failure>>;

    /// The file has its final name.
    fn committed<'a>(&'a self, location: &'a str) -> BoxFuture<'a, Result<(), Failure>>;

    /// A temporary that was announced is gone.
    fn gone<'a>(&'a self, temporary: &'a Path) -> BoxFuture<'a, Result<(), Failure>>;

    /// The fingerprint of the item's results, for metadata of objects.
    fn fingerprint(&self) -> Option<String>;
}

/// A complete temporary that is about to become a file.
#[derive(Clone, Copy, Debug)]
pub struct Intended<'a> {
    /// The final place.
    pub location: &'a str,
    /// The temporary; `None` for objects in a store.
    pub temporary: Option<&'a Path>,
    /// Bytes.
    pub size: u64,
    /// The temporary's inode; `None` for objects in a store.
    pub inode: Option<u64>,
}

/// For CPU work on a blocking thread.
#[derive(Clone)]
pub struct ComputeContext {
    /// The stage.
    pub stage: StageName,
    /// The item.
    pub item: ItemId,
    /// Cancelled when the work is to end at once; GDAL asks it through its progress callback.
    pub cancel: CancellationToken,
    /// The window of each output member that is wanted.
    pub wanted: Arc<[Window]>,
    /// The form of the input as the header told it.
    pub input: Arc<Shape>,
    /// The form of the output as the header told it.
    pub output: Arc<Shape>,
    /// The folder for temporaries.
    pub scratch: PathBuf,
    /// The budget of that folder.
    pub scratch_budget: Bytes,
    /// The item's memory; grows as an overdraft when the work needs more than was foreseen.
    pub memory: ByteLease,
    /// Where idle cores may be taken, without waiting, for blocks of this item's work.
    pub idle_cores: Option<Slots>,
}

impl ComputeContext {
    /// Whether the work is to end at once.
    pub fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
