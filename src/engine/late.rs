//! The way of an item from a stage that opens files of which nothing was known in the gate: what a program makes, and
//! files whose header is at no fixed place. It is worked out when the files are there.
//!
//! The memory of that way is an overdraft: taken without waiting, so that nobody waits for memory while holding some.

use std::sync::Arc;

use crate::contract::{
    AssetShape, Blob, BlobSet, Content, Failure, Item, Location, Op, Payload, Shape, blocking,
};
use crate::engine::cut;
use crate::engine::journey::Parcel;
use crate::engine::path::{self, PathFailure};
use crate::engine::run::Shared;
use crate::raster::{Answer, Header, RasterError, Source};

/// Whether a stage opens files of which not all headers are known from its input's form.
pub(crate) fn opens_unknown(op: &dyn Op, input: &Shape) -> bool {
    let wanted = op.reads_assets();
    let is_wanted = |name: &String| wanted.as_ref().is_none_or(|names| names.contains(name));
    op.reads_headers() && input.assets.iter().any(|asset| asset.header.is_none() && is_wanted(&asset.name))
}

/// The parcel with its way from this stage on, and the memory of that; as it was where its way is known.
///
/// # Errors
/// Files that are no rasters, what their headers show to be impossible, and more than the whole budget; with the stage
/// that it concerns.
pub(crate) async fn find_way(
    shared: &Arc<Shared>,
    stage: usize,
    parcel: Parcel,
) -> Result<Parcel, PathFailure> {
    if parcel.path.is_some() || !shared.plan.stages[stage].op.reads_headers() {
        return Ok(parcel);
    }
    let (plan, item) = (shared.plan.clone(), parcel.item.clone());
    let trace = move || {
        let wanted = plan.stages[stage].op.reads_assets();
        let files = form_of(&item, wanted.as_deref())?;
        Ok(path::trace(&plan, stage, &item, &files))
    };
    let traced = blocking::run(shared.stop.work(), (), trace).await;
    let way = traced.map_err(|failure| (stage, failure))??;
    let memory = parcel.memory.clone().unwrap_or_else(|| shared.memory.overdraw(0));
    let capacity = shared.memory.capacity();
    if way.demand > capacity {
        return Err((way.stage, cut::late_refusal(way.demand, capacity)));
    }
    memory.grow_to(way.demand);
    let parcel = Parcel { path: Some(way), memory: Some(memory), ..parcel };
    shared.tell_overdraft(&parcel);
    Ok(parcel)
}

/// The form of the files that an item has now, with the headers of those that are wanted.
fn form_of(item: &Item, wanted: Option<&[String]>) -> Result<Shape, Failure> {
    let is_wanted = |name: &String| wanted.is_none_or(|names| names.contains(name));
    let placed = item.lineage.placed.as_ref().filter(|_| matches!(item.payload, Payload::Files(_))).cloned();
    let mut assets = Vec::new();
    let mut add = |member, name: &String, size, source: Option<Source>| {
        if is_wanted(name) {
            let is_local = matches!(source, Some(Source::Local(_)));
            let header = source.map(header_of).transpose()?.flatten();
            let (name, placed) = (name.clone(), placed.clone());
            let (prefix, foreseen) = (None, None);
            assets.push(AssetShape { member, name, size, is_local, header, prefix, foreseen, placed });
        }
        Ok::<(), Failure>(())
    };
    match &item.payload {
        Payload::Assets(sets) => {
            for (member, set) in sets.iter().enumerate() {
                for asset in &set.assets {
                    add(member, &asset.name, asset.size, at(&asset.location))?;
                }
            }
        }
        Payload::Blobs(sets) => {
            for (member, BlobSet { blobs, .. }) in sets.iter().enumerate() {
                for blob in blobs {
                    let shown = blob.asset.location.to_string();
                    add(member, &blob.asset.name, blob.asset.size, Some(within(blob, &shown)))?;
                }
            }
        }
        Payload::Files(files) => {
            for file in files {
                add(0, &file.name, Some(file.size), at(&file.location))?;
            }
        }
        Payload::Raster(_) | Payload::Rows(_) | Payload::Encoded(_) => {}
    }
    Ok(Shape { assets, held: item.payload.held(), ..Shape::default() })
}

/// A file on this machine.
fn at(location: &Location) -> Option<Source<'_>> {
    match location {
        Location::Local(path) => Some(Source::Local(path)),
        Location::Remote(_) => None,
    }
}

fn within<'a>(blob: &'a Blob, shown: &'a str) -> Source<'a> {
    match &blob.content {
        Content::Local(path) => Source::Local(path),
        Content::Memory(bytes) => Source::Memory(bytes),
        Content::Scratch(file) => Source::Downloaded { path: &file.path, name: shown },
    }
}

/// The header; `None` where the bytes at hand do not tell.
fn header_of(source: Source<'_>) -> Result<Option<Arc<Header>>, Failure> {
    let answer = Header::of_source(source).map_err(|error: RasterError| Failure::item(error.to_string()))?;
    Ok(match answer {
        Answer::Known(header) => Some(Arc::new(header)),
        Answer::Missing(_) => None,
    })
}
