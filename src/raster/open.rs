//! Opens a raster file: from disk, or from those of its bytes that are at hand.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use gdal::config::{clear_thread_local_config_option, set_thread_local_config_option};
use gdal::raster::RasterBand;
use gdal::{Dataset, DatasetOptions, GdalOpenFlags};

use super::ffi::files::ServedFile;
use super::init::{FOREIGN_FORMATS, LOCAL_FORMATS, ready};
use super::message::listen;
use super::{Answer, FileBytes, RasterError, suspect};

/// Where a raster file is.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// The user's own file on this machine, with the files beside it (`.ovr`, `.msk`, `.tfw`).
    Local(&'a Path),
    /// A file of somewhere else that lies on scratch; messages call it by its name. It may not name other files.
    Downloaded {
        /// Where it lies.
        path: &'a Path,
        /// What messages call it.
        name: &'a str,
    },
    /// Bytes in memory: all of the file, or the ranges that are needed.
    Memory(&'a FileBytes),
}

/// An open raster file: one handle, for one thread at a time.
pub struct Opened {
    // Closed before the bytes below it go.
    dataset: Dataset,
    served: Option<ServedFile>,
    name: String,
}

impl Opened {
    /// Opens a file of one of the listed formats.
    ///
    /// # Errors
    /// A file that is not there, is no raster, or is damaged, with what it looks like.
    pub fn open(source: Source<'_>) -> Result<Answer<Opened>, RasterError> {
        ready();
        match source {
            Source::Local(path) => open_path(path, &path.to_string_lossy(), LOCAL_FORMATS),
            Source::Downloaded { path, name } => {
                without_neighbours(|| open_path(path, name, FOREIGN_FORMATS))
            }
            Source::Memory(bytes) => without_neighbours(|| open_bytes(bytes)),
        }
    }

    /// What messages call the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the ranges that were read and are not at hand.
    pub(super) fn take_missing(&self) -> Vec<Range<u64>> {
        self.served.as_ref().map(ServedFile::take_missing).unwrap_or_default()
    }

    /// Fails when something was read that is not at hand.
    pub(super) fn complete(&self) -> Result<(), RasterError> {
        let ranges = self.take_missing();
        if ranges.is_empty() { Ok(()) } else { Err(RasterError::Missing { file: self.name.clone(), ranges }) }
    }

    pub(super) fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// How many bands it has.
    pub(super) fn band_count(&self) -> usize {
        self.dataset.raster_count()
    }

    /// A band, counted from 1, or one of its overviews, counted from 0.
    pub(super) fn band(&self, band: usize, overview: Option<usize>) -> Result<RasterBand<'_>, RasterError> {
        let count = self.band_count();
        let none = || RasterError::NoBand { file: self.name.clone(), band, count };
        if band == 0 || band > count {
            return Err(none());
        }
        let full = self.dataset.rasterband(band).map_err(|_| none())?;
        match overview {
            None => Ok(full),
            Some(overview) => full.overview(overview).map_err(|_| RasterError::NoOverview {
                file: self.name.clone(),
                band,
                overview,
            }),
        }
    }
}

fn open_path(path: &Path, name: &str, formats: &[&str]) -> Result<Answer<Opened>, RasterError> {
    if path.starts_with("/vsi") || path.to_string_lossy().starts_with("/vsi") {
        return Err(not_a_raster(
            name,
            "names that begin with `/vsi` are GDAL's virtual files, which do not open",
        ));
    }
    let (start, size) =
        begin(path).map_err(|source| RasterError::Unreachable { file: name.to_owned(), source })?;
    let (opened, said) = listen(|| open_with(path, formats));
    match opened {
        Some(dataset) => Ok(Answer::Known(Opened { dataset, served: None, name: name.to_owned() })),
        None => Err(refusal(name, &start, size, &said.cause())),
    }
}

fn open_bytes(bytes: &FileBytes) -> Result<Answer<Opened>, RasterError> {
    let served = ServedFile::of(bytes.clone());
    let (opened, said) = listen(|| open_with(Path::new(served.path()), FOREIGN_FORMATS));
    let missing = served.take_missing();
    if !missing.is_empty() {
        return Ok(Answer::Missing(missing));
    }
    let name = bytes.name.to_string();
    match opened {
        Some(dataset) => Ok(Answer::Known(Opened { dataset, served: Some(served), name })),
        None => Err(refusal(&name, first_bytes(bytes), bytes.size, &said.cause())),
    }
}

fn open_with(path: &Path, formats: &[&str]) -> Option<Dataset> {
    let options = DatasetOptions {
        open_flags: GdalOpenFlags::GDAL_OF_RASTER
            | GdalOpenFlags::GDAL_OF_READONLY
            | GdalOpenFlags::GDAL_OF_VERBOSE_ERROR,
        allowed_drivers: Some(formats),
        ..DatasetOptions::default()
    };
    Dataset::open_ex(path, options).ok().filter(|dataset| dataset.raster_count() > 0)
}

/// The first bytes of a file, and its size.
fn begin(path: &Path) -> std::io::Result<(Vec<u8>, u64)> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut start = Vec::new();
    file.by_ref().take(512).read_to_end(&mut start)?;
    Ok((start, size))
}

fn first_bytes(bytes: &FileBytes) -> &[u8] {
    match bytes.segments.first() {
        Some((0, first)) => &first[..first.len().min(512)],
        _ => &[],
    }
}

/// Why no driver opened it.
fn refusal(name: &str, start: &[u8], size: u64, cause: &str) -> RasterError {
    if let Some(looks) = suspect::describe(start, size) {
        return not_a_raster(name, &looks);
    }
    if suspect::is_tiff(start) {
        return RasterError::Damaged {
            file: name.to_owned(),
            cause: format!("the TIFF is damaged or cut off at {size} bytes: {cause}"),
        };
    }
    not_a_raster(name, cause)
}

fn not_a_raster(name: &str, cause: &str) -> RasterError {
    RasterError::NotARaster { file: name.to_owned(), cause: cause.to_owned() }
}

/// Opens without a look at the files beside; for local files that would hide `.msk`, `.tfw` and `.ovr`.
fn without_neighbours<R>(open: impl FnOnce() -> R) -> R {
    const OPTION: &str = "GDAL_DISABLE_READDIR_ON_OPEN";
    set_thread_local_config_option(OPTION, "EMPTY_DIR").expect("the option holds no zero byte");
    let result = open();
    clear_thread_local_config_option(OPTION).expect("the option holds no zero byte");
    result
}
