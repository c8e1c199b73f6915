//! What the plan and the engine ask of an op before it runs.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::config::Fault;
use crate::contract::{AssetNeed, Failure, Item, Kind, Port, Shape};
use crate::raster::Window;

/// One resource that an op takes by itself, at the amount of one piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// `connections`, one per request.
    Connections,
    /// `cores`, one.
    Cores,
    /// `memory`, as measured.
    Memory,
    /// `writers`, one.
    Writers,
}

/// Names of bands at a port, where they are known from the pipeline alone.
pub type BandNames = Option<Vec<String>>;

/// How many members a raster has, as far as the pipeline alone tells; in this order each is more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Members {
    /// One: an item that is no group.
    One,
    /// Several on one grid.
    OnOneGrid,
    /// Several, each on its own grid.
    OnOwnGrids,
}

/// How much of each file an op moves, as far as the pipeline alone tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moves {
    /// What moves and what goes whole, as a fragment.
    pub words: String,
    /// Whether parts move of a file that has tiles.
    pub has_parts: bool,
}

/// A compiled op: its options are checked and its expressions parsed.
pub trait Op: Send + Sync + 'static {
    /// The port of its output.
    fn gives(&self, input: Option<Port>) -> Port;

    /// What it takes by itself.
    fn takes(&self) -> &'static [Take];

    /// Names of the bands of its output; faults point into the op's options.
    ///
    /// # Errors
    /// Every option that names a band which the input does not have.
    fn bands(&self, input: &BandNames) -> Result<BandNames, Vec<Fault>> {
        Ok(input.clone())
    }

    /// The members of its output.
    ///
    /// # Errors
    /// The most that it can work on, when the input has more: `One` for `encode`, `OnOneGrid` for `composite`.
    fn members(&self, input: Members) -> Result<Members, Members> {
        Ok(input)
    }

    /// The assets that it reads, by name; `None` for all. What is not named by any stage is not fetched.
    fn reads_assets(&self) -> Option<Vec<String>> {
        None
    }

    /// Whether `shape` needs the headers of those assets.
    fn reads_headers(&self) -> bool {
        false
    }

    /// The form of the whole output for an input of this form.
    ///
    /// # Errors
    /// What the header already shows to be impossible: a missing band, a raster without CRS.
    fn shape(&self, input: &Shape, item: &Item) -> Result<Shape, Failure>;

    /// The window of each input member that is needed for the wanted window of each output member.
    ///
    /// # Errors
    /// A region that has no place in the input.
    fn region(&self, wanted: &[Window], _input: &Shape, _output: &Shape) -> Result<Vec<Window>, Failure> {
        Ok(wanted.to_vec())
    }

    /// For ops that read files: what they need of each file for these windows of their output.
    ///
    /// # Errors
    /// A region that the file does not have.
    fn asset_needs(
        &self,
        _wanted: &[Window],
        _input: &Shape,
        _output: &Shape,
    ) -> Result<Vec<AssetNeed>, Failure> {
        Ok(Vec::new())
    }

    /// Bytes of memory beside input and output while it works on one core, for windows as given.
    fn scratch(&self, _input: &Shape, _output: &Shape) -> u64 {
        0
    }

    /// How many idle cores may help it at most, and the bytes of memory that each of them takes beside `scratch`.
    fn helpers(&self, _input: &Shape, _output: &Shape) -> (u64, u64) {
        (0, 0)
    }

    /// Bytes of the output that are the input's own, or that its bands share: what would be counted twice.
    fn shared(&self, _input: &Shape, _output: &Shape) -> u64 {
        0
    }

    /// What the user should know of an item with this input, as its headers tell it. Each is told once for a stage, so it
    /// is the same sentence for all items of a kind.
    fn warnings(&self, _input: &Shape) -> Vec<String> {
        Vec::new()
    }

    /// Whether it is given the overlap of windows beside the window itself.
    fn sees_overlap(&self) -> bool {
        false
    }

    /// Bytes of scratch disk that a parent of this form needs, estimated; for ops that assemble or spool.
    fn spool(&self, _input: &Shape, _output: &Shape) -> u64 {
        0
    }

    /// For ops that move files: how much of each they move. `taken_by` is a later stage that takes the files themselves.
    fn moves(&self, _taken_by: Option<&str>) -> Option<Moves> {
        None
    }

    /// Whether it can work window by window of a parent.
    fn allows_windows(&self) -> bool {
        true
    }

    /// The options that can change a result; a link of the fingerprint.
    fn manifest(&self) -> Json;

    /// Where the files of this item will be, for ops that make final files.
    ///
    /// # Errors
    /// A template that names a property the item does not have, or a path that leaves its folder.
    fn outputs(&self, _item: &Item) -> Result<Vec<crate::contract::Location>, Failure> {
        Ok(Vec::new())
    }

    /// The places of final files as the pipeline writes them, with the names that are filled for each item.
    fn places(&self) -> Vec<String> {
        Vec::new()
    }

    /// How many files every item leaves under final names here.
    fn files_made(&self) -> u32 {
        0
    }

    /// The same op as it joins the windows of an item, so that its kind is `Assemble`; `None` where it cannot, or where its
    /// options decide about windows already.
    fn joining(self: Arc<Self>) -> Option<Arc<dyn Op>> {
        None
    }

    /// The same op for items that no stage cut into windows, where its kind is `Assemble`; `None` where it needs windows.
    fn of_wholes(self: Arc<Self>) -> Option<Arc<dyn Op>> {
        None
    }

    /// How the engine runs it.
    fn kind(self: Arc<Self>) -> Kind;
}
