//! The files that a program is given: as they are, or as temporaries of what is in memory.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

use super::recipe::Recipe;
use crate::contract::{
    Asset, Blob, Content, Failure, Item, Location, Payload, Shape, TemporaryFile, TransferContext,
};
use crate::raster::tiff::{
    self, Compression, Extent, Form, FormBand, Format, Helper, Helpers, Overviews, Settings, TiffError,
};
use crate::raster::{FileBytes, Member, Raster, Validity};

/// The files of an item, by name; temporaries go with the value.
#[derive(Default)]
pub(super) struct Inputs {
    files: Vec<Input>,
    temporaries: Vec<TemporaryFile>,
}

struct Input {
    name: String,
    /// Where it is; what it is instead when it is not on this machine.
    place: Result<PathBuf, String>,
}

impl Inputs {
    /// The files of an item that the recipe asks for. Blocks while it writes temporaries.
    ///
    /// # Errors
    /// A raster that is no single image, bytes that are not whole, a disk that says no.
    pub(super) fn of(recipe: &Recipe, item: &Item, context: &TransferContext) -> Result<Self, Failure> {
        let mut inputs = Self::default();
        match &item.payload {
            Payload::Assets(sets) => {
                let assets = only(sets, "assets")?.assets.iter();
                inputs.files.extend(assets.map(|asset| Input::at(&asset.name, &asset.location)));
            }
            Payload::Blobs(sets) => {
                let wanted = recipe.named_inputs();
                let is_wanted =
                    |blob: &&Blob| wanted.as_ref().is_none_or(|names| names.contains(&blob.asset.name));
                for blob in only(sets, "assets")?.blobs.iter().filter(is_wanted) {
                    inputs.add_blob(blob, context)?;
                }
            }
            Payload::Raster(raster) => inputs.add_raster(raster, context)?,
            Payload::Files(files) => {
                inputs.files.extend(files.iter().map(|file| Input::at(&file.name, &file.location)));
            }
            other => return Err(Failure::fatal(format!("`exec` was given the port `{}`", other.port()))),
        }
        Ok(inputs)
    }

    /// The only file.
    ///
    /// # Errors
    /// There are none or several.
    pub(super) fn only(&self) -> Result<&Path, Failure> {
        match self.files.as_slice() {
            [file] => file.place(),
            files => Err(Failure::item(format!(
                "`{{input}}` means the only file and the item has {}; write `{{input.NAME}}`{}",
                files.len(),
                self.listed()
            ))),
        }
    }

    /// The file of this name.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn named(&self, name: &str) -> Result<&Path, Failure> {
        let file = self.files.iter().find(|file| file.name == name);
        file.ok_or_else(|| Failure::item(format!("the item has no file `{name}`{}", self.listed())))?.place()
    }

    fn listed(&self) -> String {
        let names: Vec<&str> = self.files.iter().map(|file| file.name.as_str()).collect();
        if names.is_empty() { String::new() } else { format!("; there are `{}`", names.join("`, `")) }
    }

    fn add_blob(&mut self, blob: &Blob, context: &TransferContext) -> Result<(), Failure> {
        let asset = &blob.asset;
        let path = match &blob.content {
            Content::Local(path) => path.clone(),
            Content::Scratch(file) => {
                // The fetched file has no suffix; programs often go by that.
                let temporary = fresh(&context.scratch, &suffix_of(asset));
                fs::hard_link(&file.path, &temporary).map_err(|error| no_scratch(&error))?;
                self.keep(TemporaryFile { path: temporary, lease: None })
            }
            Content::Memory(bytes) => {
                let temporary = fresh(&context.scratch, &suffix_of(asset));
                let parts = whole(bytes)?;
                self.keep(written(temporary, &parts, context)?)
            }
        };
        self.files.push(Input { name: asset.name.clone(), place: Ok(path) });
        Ok(())
    }

    fn add_raster(&mut self, raster: &Raster, context: &TransferContext) -> Result<(), Failure> {
        let [member] = raster.members.as_slice() else {
            return Err(Failure::item(format!(
                "`exec` works on one image, found a group of {}; add a `composite` stage before it",
                raster.members.len()
            )));
        };
        let wanted = context.wanted.first().copied().unwrap_or(member.window);
        let part = member.clone().cut(wanted).map_err(|error| Failure::item(error.to_string()))?;
        let bytes = geotiff(&part, &context.cancel)?;
        let path = self.keep(written(fresh(&context.scratch, ".tif"), &[&bytes], context)?);
        self.files.push(Input { name: "data".into(), place: Ok(path) });
        Ok(())
    }

    fn keep(&mut self, file: TemporaryFile) -> PathBuf {
        let path = file.path.clone();
        self.temporaries.push(file);
        path
    }
}

impl Input {
    fn at(name: &str, location: &Location) -> Self {
        let place = match location {
            Location::Local(path) => Ok(path.clone()),
            Location::Remote(_) => Err(location.to_string()),
        };
        Self { name: name.to_owned(), place }
    }

    fn place(&self) -> Result<&Path, Failure> {
        self.place.as_deref().map_err(|address| {
            Failure::item(format!(
                "`{address}` is remote and none of it is here; add a `fetch` stage before `exec`"
            ))
        })
    }
}

/// A path on scratch that nothing has had before.
pub(super) fn fresh(scratch: &Path, suffix: &str) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    scratch.join(format!("exec-{}-{count}{suffix}", std::process::id()))
}

/// What the writer of a temporary GeoTIFF holds at most, beside the raster.
pub(super) fn working_bytes(input: &Shape) -> u64 {
    let [member] = input.members.as_slice() else { return 0 };
    let Some(first) = member.bands.first() else { return 0 };
    let extent = Extent {
        width: member.window.width,
        height: member.window.height,
        data_type: first.data_type,
        bands: member.bands.len(),
        may_miss: member.bands.iter().any(|band| band.has_mask),
    };
    tiff::encoded_bound(&settings(), &extent) + tiff::working_bytes(&settings(), &extent)
}

/// Plain and not compressed: every program reads it, and it is read once.
fn settings() -> Settings {
    Settings {
        format: Format::Gtiff,
        compression: Compression::None,
        overviews: Overviews::Count(0),
        ..Settings::default()
    }
}

fn geotiff(member: &Member, cancel: &CancellationToken) -> Result<Vec<u8>, Failure> {
    let band = |(index, band): (usize, &crate::raster::Band)| FormBand {
        index,
        description: band.description.clone(),
        data_type: band.pixels.data_type(),
        may_miss: band.validity != Validity::All,
    };
    let bands = member.bands.iter().enumerate().map(band).collect();
    let grid = member.grid.of_window(&member.window);
    let encoded = Form::new(&settings(), grid, bands, member.tags.clone())
        .and_then(|form| tiff::encode(&form, member, 0, &Alone(cancel)));
    encoded.map_err(|error| match error {
        TiffError::Cancelled => Failure::cancelled(),
        error => Failure::item(format!("cannot be given to a program: {error}")),
    })
}

/// No idle cores: the stage's own are the program's.
struct Alone<'a>(&'a CancellationToken);

impl Helpers for Alone<'_> {
    fn idle_core(&self) -> Option<Box<dyn Helper>> {
        None
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

fn written(path: PathBuf, parts: &[&[u8]], context: &TransferContext) -> Result<TemporaryFile, Failure> {
    let size = parts.iter().map(|part| part.len() as u64).sum();
    let temporary = TemporaryFile { path, lease: Some(context.scratch_budget.overdraw(size)) };
    let write = || {
        let mut file = fs::File::create_new(&temporary.path)?;
        parts.iter().try_for_each(|part| file.write_all(part))
    };
    write().map_err(|error| no_scratch(&error))?;
    Ok(temporary)
}

fn whole(bytes: &FileBytes) -> Result<Vec<&[u8]>, Failure> {
    if bytes.held() != bytes.size {
        return Err(Failure::item(format!("`{}` was fetched in part", bytes.name)));
    }
    Ok(bytes.segments.iter().map(|(_, part)| part.as_ref()).collect())
}

/// `.tif`; empty where the file has none, or an odd one.
fn suffix_of(asset: &Asset) -> String {
    let name = match &asset.location {
        Location::Local(path) => path.to_string_lossy().into_owned(),
        Location::Remote(url) => url.path().to_owned(),
    };
    let suffix = Path::new(&name).extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
    let is_plain = !suffix.is_empty() && suffix.chars().all(|c| c.is_ascii_alphanumeric());
    if is_plain { format!(".{suffix}") } else { String::new() }
}

/// The only member of a payload that may have several.
fn only<'a, T>(sets: &'a [T], what: &str) -> Result<&'a T, Failure> {
    match sets {
        [set] => Ok(set),
        sets => Err(Failure::item(format!(
            "`exec` works on one item, found the {what} of a group of {}; add a `composite` stage before it",
            sets.len()
        ))),
    }
}

/// A full disk stops the run.
pub(super) fn no_scratch(error: &io::Error) -> Failure {
    let message = format!("cannot use scratch disk: {error}");
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Failure::fatal(message),
        _ => Failure::item(message),
    }
}
