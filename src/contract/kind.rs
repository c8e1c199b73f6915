//! How an op runs: one trait a way of consuming and producing items.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::contract::{ComputeContext, Failure, Item, Row, SourceContext, TransferContext};

/// The ways an op can run.
#[derive(Clone)]
pub enum Kind {
    /// Nothing → items.
    Source(Arc<dyn Source>),
    /// One → one or none, asynchronous: requests and disk.
    Transfer(Arc<dyn Transfer>),
    /// One → one, on a blocking thread under its leases: GDAL and all CPU work.
    Compute(Arc<dyn Compute>),
    /// One → many windows.
    Expand(Arc<dyn Expand>),
    /// All items' metadata → groups.
    Regroup(Arc<dyn Regroup>),
    /// All windows of a parent → one.
    Assemble(Arc<dyn Assemble>),
    /// All items → one file, at the end.
    Gather(Arc<dyn Gather>),
}

/// Lists items. The stream is polled only when there is a place for its next item.
pub trait Source: Send + Sync {
    /// The items, in order; an error ends the listing.
    fn list(&self, context: SourceContext) -> BoxStream<'static, Result<Item, Failure>>;
}

/// Moves bytes, or waits for a program.
pub trait Transfer: Send + Sync {
    /// Whether the work ends by itself soon after `context.cancel` is cancelled; it is awaited for a while then, holding
    /// what it holds. Other work is dropped at once.
    fn ends_itself(&self) -> bool {
        false
    }

    /// The item with its new payload, or `None` to drop it (`filter`). Dropping the future cancels the work.
    fn transfer(
        &self,
        item: Item,
        context: TransferContext,
    ) -> BoxFuture<'static, Result<Option<Item>, Failure>>;
}

/// Works on pixels.
pub trait Compute: Send + Sync {
    /// The item with its new payload. Runs on a blocking thread; long work looks at `context.cancelled()`.
    ///
    /// # Errors
    /// What the item's data does not allow.
    fn compute(&self, item: Item, context: &ComputeContext) -> Result<Item, Failure>;
}

/// Makes windows of a parent.
pub trait Expand: Send + Sync {
    /// The windows, row by row; polled only when there is a place for the next.
    fn expand(&self, parent: Item, context: TransferContext) -> BoxStream<'static, Result<Item, Failure>>;
}

/// Makes groups of all items.
pub trait Regroup: Send + Sync {
    /// The groups, once the membership of every one is complete.
    fn regroup(
        &self,
        items: Vec<Item>,
        context: TransferContext,
    ) -> BoxFuture<'static, Result<Regrouped, Failure>>;
}

/// What became of all items.
#[derive(Debug, Default)]
pub struct Regrouped {
    /// The groups, in their order.
    pub groups: Vec<Item>,
    /// The items that are in no group because something that they are grouped by is missing: their place in the list, and
    /// why.
    pub failed: Vec<(usize, Failure)>,
}

/// Puts the windows of a parent together.
pub trait Assemble: Send + Sync {
    /// Begins with the first window of a parent that arrives; `window` gives the parent's whole form.
    ///
    /// # Errors
    /// A parent that cannot be assembled.
    fn begin(&self, window: &Item, context: &ComputeContext) -> Result<Box<dyn Assembly>, Failure>;
}

/// One parent under assembly.
pub trait Assembly: Send + Sync {
    /// Takes one window in, in any order, several at a time. Runs on a blocking thread.
    ///
    /// # Errors
    /// What the window's data does not allow.
    fn add(&self, window: Item, context: &ComputeContext) -> Result<(), Failure>;

    /// The parent's output, after every window was added. Runs on a blocking thread.
    ///
    /// # Errors
    /// What cannot be put together.
    fn finish(self: Box<Self>, context: &ComputeContext) -> Result<Item, Failure>;
}

/// Collects what all items give.
pub trait Gather: Send + Sync {
    /// The rows of one item or window. They are kept until the table is written, and for later runs.
    fn rows(&self, item: Item, context: TransferContext) -> BoxFuture<'static, Result<Vec<Row>, Failure>>;

    /// Writes the table of all rows that are kept; called once when every item has ended.
    fn write(
        &self,
        rows: Arc<dyn TableRows>,
        context: TransferContext,
    ) -> BoxFuture<'static, Result<Option<Item>, Failure>>;
}

/// The rows of a table, which are kept outside memory: of this run's items that are done, and of earlier ones'.
pub trait TableRows: Send + Sync {
    /// All rows in pages: by item, then by the window's row and column, then as they were given. It can be called again.
    fn pages(&self) -> BoxStream<'static, Result<Vec<Row>, Failure>>;
}
