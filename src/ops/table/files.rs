//! Rows of an index of files.

use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::footprint::{self, FOOTPRINT};
use crate::contract::{Failure, Location, OutputFile, Row, blocking};
use crate::ids::ItemId;
use crate::raster::{Header, crs};

/// One row a file. Where a local file lies is read from its header; what is no raster, or is in an object store, has neither
/// footprint nor CRS.
pub(super) async fn rows(
    id: ItemId,
    files: Vec<OutputFile>,
    cancel: &CancellationToken,
) -> Result<Vec<Row>, Failure> {
    let read = move || Ok(files.iter().map(|file| row(&id, file, files.len() > 1)).collect());
    blocking::run(cancel, (), read).await
}

fn row(id: &ItemId, file: &OutputFile, is_named: bool) -> Row {
    let header = match &file.location {
        Location::Local(path) => Header::of_file(path).ok(),
        Location::Remote(_) => None,
    };
    let footprint = header.as_ref().and_then(|header| footprint::of(&header.grid, &header.placement()));
    let system = header.as_ref().and_then(|header| header.grid.crs.as_ref()).map(crs::describe);
    let mut row: Row = vec![("id".into(), id.as_str().into())];
    if is_named {
        row.push(("name".into(), file.name.as_str().into()));
    }
    row.extend([
        ("location".into(), file.location.to_string().into()),
        ("size".into(), file.size.into()),
        (FOOTPRINT.into(), footprint.map_or(Json::Null, Json::from)),
        ("crs".into(), system.map_or(Json::Null, Json::from)),
    ]);
    row
}
