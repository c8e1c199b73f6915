//! `fetch`: bytes of remote files, only the ranges that the stages below need, or whole.

mod blocks;
mod foreseen;
mod work;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, try_join_all};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::config::{Fault, Value, from_value};
use crate::contract::{
    Environment, Failure, Item, Kind, Moves, Op, OpEntry, Payload, Port, Shape, Take, Transfer,
    TransferContext,
};
use crate::units::ByteSize;

use self::work::Work;

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "fetch",
    summary: "Moves the bytes of remote files: only the ranges that later stages need, or whole files.",
    accepts: &[Port::Asset],
    example: "{}",
    schema: |generator| generator.subschema_for::<FetchOptions>(),
    compile,
};

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

/// The client reads an answer into buffers of up to 408 KiB (hyper's default), and those below 640 KiB stay with the
/// allocator, as `raster` has set it.
const IN_TRANSIT: u64 = 640 << 10;

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

    /// The same files; of those that are not local what moves is held in memory.
    fn shape(&self, input: &Shape, item: &Item) -> Result<Shape, Failure> {
        Ok(foreseen::shape(self.options.mode, input, item))
    }

    /// The buffers of an answer on its way, which the allocator keeps for the next.
    fn scratch(&self, _: &Shape, output: &Shape) -> u64 {
        if output.held > 0 { IN_TRANSIT } else { 0 }
    }

    fn moves(&self, taken_by: Option<&str>) -> Option<Moves> {
        Some(foreseen::moves(self.options.mode, taken_by))
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

#[cfg(test)]
mod tests;
