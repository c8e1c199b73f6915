//! What holds for the whole run: folders, GDAL's cache, when it gives up.

use std::path::{Path, PathBuf};

use super::defaults::{GDAL_CACHE_SHARE, SMALLEST_GDAL_CACHE};
use super::sizes;
use crate::config::{AsWritten, Share};
use crate::machine::Machine;
use crate::units::{ByteSize, Percent};

/// The folder of state that a run leaves beside its pipeline.
const STATE_FOLDER: &str = ".gisrun";

/// Where a run keeps what is its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// The pipeline's folder, absolute.
    pub(super) folder: PathBuf,
    pub(super) ledger: PathBuf,
    pub(super) scratch: PathBuf,
}

impl Places {
    pub(super) fn of(written: &AsWritten) -> Self {
        let folder = folder_of(&written.path);
        let ledger = ledger(written, &folder);
        let scratch = match &written.run.scratch {
            Some(scratch) => folder.join(&scratch.value),
            None => ledger.with_extension("scratch"),
        };
        Self { folder, ledger, scratch }
    }
}

/// The folder of a pipeline, absolute where the working directory is known.
fn folder_of(pipeline: &Path) -> PathBuf {
    let absolute = std::path::absolute(pipeline).unwrap_or_else(|_| pipeline.to_owned());
    absolute.parent().unwrap_or(Path::new("")).to_owned()
}

/// A `.sqlite` file as given, or one named after the pipeline in the folder given.
fn ledger(written: &AsWritten, folder: &Path) -> PathBuf {
    let place = match &written.run.ledger {
        Some(ledger) => folder.join(&ledger.value),
        None => folder.join(STATE_FOLDER),
    };
    match place.extension() {
        Some(extension) if extension == "sqlite" => place,
        _ => place.join(format!("{}.sqlite", file_name(&written.name))),
    }
}

/// A pipeline's name as the name of a file.
fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_".contains(c);
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// GDAL's block cache in bytes, and its derivation.
pub(super) fn gdal_cache(written: &AsWritten, machine: &Machine) -> (u64, String) {
    if let Some(share) = &written.run.gdal_cache {
        return sizes::budget(share.value, &machine.memory);
    }
    let (bytes, derivation) = sizes::budget(Share::Percent(Percent(GDAL_CACHE_SHARE)), &machine.memory);
    if bytes >= SMALLEST_GDAL_CACHE {
        return (bytes, derivation);
    }
    (SMALLEST_GDAL_CACHE, format!("{derivation}, at least {}", ByteSize(SMALLEST_GDAL_CACHE)))
}
