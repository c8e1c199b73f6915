//! The polygons of a file beside the pipeline: read once, placed on each grid that asks.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::UNIX_EPOCH;

use serde_json::{Value as Json, json};

use crate::contract::Failure;
use crate::raster::Grid;
use crate::raster::polygons::{GridPolygons, Polygon, PolygonLayer};

/// A vector file, opened when it is first needed.
#[derive(Debug)]
pub(super) struct PolygonFile {
    path: PathBuf,
    id_field: Option<String>,
    layer: OnceLock<Result<PolygonLayer, String>>,
    /// The last grid that asked: windows of one image come one after the other.
    placed: Mutex<Option<(Grid, Arc<GridPolygons>)>>,
}

impl PolygonFile {
    /// The file at a path relative to the pipeline's folder; ids from a field, else the number of each feature.
    pub(super) fn new(folder: &Path, path: &Path, id_field: Option<String>) -> Self {
        Self { path: folder.join(path), id_field, layer: OnceLock::new(), placed: Mutex::default() }
    }

    /// The polygons in the file's order. A file that cannot be used fails every item alike, so it ends the run.
    pub(super) fn polygons(&self) -> Result<&[Polygon], Failure> {
        Ok(self.layer()?.polygons())
    }

    /// How many polygons there are, where the file was read already.
    pub(super) fn known_count(&self) -> Option<usize> {
        self.layer.get()?.as_ref().ok().map(|layer| layer.polygons().len())
    }

    fn layer(&self) -> Result<&PolygonLayer, Failure> {
        let read =
            || PolygonLayer::read(&self.path, self.id_field.as_deref()).map_err(|error| error.to_string());
        self.layer.get_or_init(read).as_ref().map_err(Failure::fatal)
    }

    /// The polygons in pixels of a grid.
    pub(super) fn on_grid(&self, grid: &Grid) -> Result<Arc<GridPolygons>, Failure> {
        let mut placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, polygons)) = &*placed
            && known == grid
        {
            return Ok(polygons.clone());
        }
        let polygons = self.layer()?.on_grid(grid).map_err(|error| Failure::item(error.to_string()))?;
        let polygons = Arc::new(polygons);
        *placed = Some((grid.clone(), polygons.clone()));
        Ok(polygons)
    }

    /// What tells this state of the file from others: its path, size and time of change.
    pub(super) fn manifest(&self) -> Json {
        let metadata = std::fs::metadata(&self.path).ok();
        let changed = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
        let seconds =
            changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|time| time.as_secs_f64());
        json!({
            "path": self.path,
            "id": self.id_field,
            "size": metadata.map(|metadata| metadata.len()),
            "changed": seconds,
        })
    }
}
