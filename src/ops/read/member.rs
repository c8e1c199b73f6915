//! Reads one member: opens its files one after the other and brings their bands onto one grid.

use std::path::PathBuf;
use std::sync::Arc;

use super::layout::{BandLayout, FileLayout, KnownFile, Layout};
use super::options::ReadOptions;
use super::scaling::scaled;
use crate::contract::{Asset, Blob, Content, Failure, Item, Location, OutputFile, Payload, TemporaryFile};
use crate::raster::{
    Answer, Band, FileBytes, GridMap, Header, Member, Opened, RasterError, ReadRequest, Resampling, Source,
    Window,
};

/// The files of one member.
pub(super) struct MemberSource {
    id: String,
    files: Vec<FileSource>,
}

/// One file and where its bytes are.
struct FileSource {
    name: String,
    shown: String,
    asset: Option<Asset>,
    place: Place,
}

enum Place {
    Local(PathBuf),
    Memory(Arc<FileBytes>),
    Scratch(Arc<TemporaryFile>),
    /// Behind an address, and nothing of it is here.
    Elsewhere,
}

impl FileSource {
    fn open(&self) -> Result<Opened, Failure> {
        let source = match &self.place {
            Place::Local(path) => Source::Local(path),
            Place::Memory(bytes) => Source::Memory(bytes),
            Place::Scratch(file) => Source::Downloaded { path: &file.path, name: &self.shown },
            Place::Elsewhere => {
                return Err(Failure::item(format!(
                    "`{}` is remote and none of it is here; add a `fetch` stage before `read`",
                    self.shown
                )));
            }
        };
        known(Opened::open(source).map_err(failure)?, &self.shown)
    }
}

/// The members' ids, as far as the payload tells.
pub(super) fn ids(item: &Item) -> Vec<String> {
    match &item.payload {
        Payload::Assets(sets) => sets.iter().map(|set| set.id.clone()).collect(),
        Payload::Blobs(sets) => sets.iter().map(|set| set.id.clone()).collect(),
        _ => vec![item.id.to_string()],
    }
}

/// The asset of a member by its name.
pub(super) fn asset<'a>(item: &'a Item, member: usize, name: &str) -> Option<&'a Asset> {
    match &item.payload {
        Payload::Assets(sets) => sets.get(member)?.assets.iter().find(|asset| asset.name == name),
        Payload::Blobs(sets) => {
            sets.get(member)?.blobs.iter().map(|blob| &blob.asset).find(|asset| asset.name == name)
        }
        _ => None,
    }
}

/// Where the bytes of each member's files are.
///
/// # Errors
/// A payload without files.
pub(super) fn sources(item: &Item) -> Result<Vec<MemberSource>, Failure> {
    Ok(match &item.payload {
        Payload::Assets(sets) => sets.iter().map(|set| of_assets(&set.id, &set.assets)).collect(),
        Payload::Blobs(sets) => sets.iter().map(|set| of_blobs(&set.id, &set.blobs)).collect(),
        Payload::Files(files) => vec![of_files(item.id.as_str(), files)],
        _ => return Err(Failure::item("there is no file to read")),
    })
}

fn of_assets(id: &str, assets: &[Asset]) -> MemberSource {
    let file = |asset: &Asset| FileSource {
        name: asset.name.clone(),
        shown: asset.location.to_string(),
        asset: Some(asset.clone()),
        place: in_place(&asset.location),
    };
    MemberSource { id: id.to_owned(), files: assets.iter().map(file).collect() }
}

fn of_blobs(id: &str, blobs: &[Blob]) -> MemberSource {
    let file = |blob: &Blob| FileSource {
        name: blob.asset.name.clone(),
        shown: blob.asset.location.to_string(),
        asset: Some(blob.asset.clone()),
        place: match &blob.content {
            Content::Local(path) => Place::Local(path.clone()),
            Content::Memory(bytes) => Place::Memory(Arc::clone(bytes)),
            Content::Scratch(file) => Place::Scratch(Arc::clone(file)),
        },
    };
    MemberSource { id: id.to_owned(), files: blobs.iter().map(file).collect() }
}

fn of_files(id: &str, files: &[OutputFile]) -> MemberSource {
    let file = |file: &OutputFile| FileSource {
        name: file.name.clone(),
        shown: file.location.to_string(),
        asset: None,
        place: in_place(&file.location),
    };
    MemberSource { id: id.to_owned(), files: files.iter().map(file).collect() }
}

fn in_place(location: &Location) -> Place {
    match location {
        Location::Local(path) => Place::Local(path.clone()),
        Location::Remote(_) => Place::Elsewhere,
    }
}

/// Reads a member: the wanted window of its grid, or all of it.
///
/// # Errors
/// What the files do not have or do not allow, and cancellation.
pub(super) fn read(
    options: &ReadOptions,
    source: MemberSource,
    known: &[KnownFile],
    wanted: Option<&Window>,
    cancelled: &dyn Fn() -> bool,
) -> Result<Member, Failure> {
    let files =
        source.files.iter().map(|file| describe(file, known, options)).collect::<Result<Vec<_>, _>>()?;
    let layout = Layout::new(options, &files)?;
    let wanted = wanted.copied().unwrap_or_else(|| layout.whole());
    let window = layout.own(&wanted)?;
    let mut bands: Vec<Option<Band>> = layout.bands.iter().map(|_| None).collect();
    for file in &layout.files {
        let work = FileWork { layout: &layout, file, window: &window, cancelled };
        for (place, band) in work.bands(&source.files[file.index])? {
            bands[place] = Some(band);
        }
    }
    let bands = bands.into_iter().map(|band| band.expect("every band comes from one of the files")).collect();
    Ok(Member {
        id: source.id,
        grid: Arc::clone(layout.output_grid()),
        window: wanted,
        bands,
        tags: layout.tags,
    })
}

/// What is known of a file, from the item's shape or else from the file itself when it is used.
fn describe(file: &FileSource, known: &[KnownFile], options: &ReadOptions) -> Result<KnownFile, Failure> {
    let known = known.iter().find(|known| known.name == file.name);
    let header = match known.and_then(|known| known.header.clone()) {
        Some(header) => Some(header),
        None if is_used(file, options) => Some(Arc::new(header_of(&file.open()?, &file.shown)?)),
        None => None,
    };
    let placed = known.and_then(|known| known.placed.clone());
    let metadata = file.asset.as_ref().map(|asset| Arc::clone(&asset.metadata));
    Ok(KnownFile { name: file.name.clone(), shown: file.shown.clone(), header, metadata, placed })
}

/// Whether the options may ask for the file; not all assets of a catalogue are rasters.
fn is_used(file: &FileSource, options: &ReadOptions) -> bool {
    let Some(bands) = &options.bands else { return true };
    let is_named = |name: Option<&String>| name.is_none_or(|name| *name == file.name);
    options.grid.as_ref() == Some(&file.name)
        || bands.iter().any(|(_, source)| is_named(super::BandTable::from(source).asset.as_ref()))
}

fn header_of(opened: &Opened, shown: &str) -> Result<Header, Failure> {
    known(Header::of(opened).map_err(failure)?, shown)
}

fn known<T>(answer: Answer<T>, shown: &str) -> Result<T, Failure> {
    match answer {
        Answer::Known(value) => Ok(value),
        Answer::Missing(ranges) => Err(failure(RasterError::Missing { file: shown.to_owned(), ranges })),
    }
}

/// One file's part of a window.
struct FileWork<'a> {
    layout: &'a Layout,
    file: &'a FileLayout,
    window: &'a Window,
    cancelled: &'a dyn Fn() -> bool,
}

impl FileWork<'_> {
    /// The file's bands on the output's grid, with their places among the output's bands.
    fn bands(&self, source: &FileSource) -> Result<Vec<(usize, Band)>, Failure> {
        let mut opened = None;
        let mut done = Vec::new();
        for (resampling, nodata) in self.passes() {
            let places: Vec<_> = self.of_pass(resampling, nodata.as_deref()).collect();
            let held = self.file.map.source_window(self.window, resampling);
            let stored = if held.pixels() == 0 {
                places.iter().map(|(_, band)| nothing(&self.file.header, band)).collect()
            } else {
                if opened.is_none() {
                    opened = Some(source.open()?);
                }
                let opened = opened.as_ref().expect("opened just now");
                self.stored(opened, &places, held, nodata.as_deref())?
            };
            for ((place, layout), band) in places.into_iter().zip(stored) {
                done.push((place, self.finished(band, layout, &held)));
            }
        }
        Ok(done)
    }

    /// Bands that are read together: those of one resampling method and one nodata value.
    fn passes(&self) -> Vec<(Resampling, Option<String>)> {
        let mut passes = Vec::new();
        for (_, band) in self.layout.bands_of(self.file.index) {
            let pass = (band.selected.resampling, band.nodata.clone());
            if !passes.contains(&pass) {
                passes.push(pass);
            }
        }
        passes
    }

    fn of_pass<'b>(
        &'b self,
        resampling: Resampling,
        nodata: Option<&'b str>,
    ) -> impl Iterator<Item = (usize, &'b BandLayout)> {
        self.layout.bands_of(self.file.index).filter(move |(_, band)| {
            band.selected.resampling == resampling && band.nodata.as_deref() == nodata
        })
    }

    fn stored(
        &self,
        opened: &Opened,
        places: &[(usize, &BandLayout)],
        window: Window,
        nodata: Option<&str>,
    ) -> Result<Vec<Band>, Failure> {
        let bands: Vec<_> = places.iter().map(|(_, band)| band.selected.band).collect();
        let (overview, cancelled) = (self.file.overview, self.cancelled);
        let request = ReadRequest { bands: &bands, window, overview, nodata, cancelled };
        opened.read(&self.file.header, &request).map_err(failure)
    }

    /// A stored band on the output's grid, in its unit, under its name.
    fn finished(&self, band: Band, layout: &BandLayout, held: &Window) -> Band {
        let mut band = on_grid(&self.file.map, band, held, self.window, layout.selected.resampling);
        if let Some(scaling) = layout.scaling {
            band = scaled(band, scaling);
        }
        band.description.name.clone_from(&layout.selected.name);
        band
    }
}

fn on_grid(map: &GridMap, band: Band, held: &Window, window: &Window, resampling: Resampling) -> Band {
    if map.is_identity() { band } else { map.resample(&band, held, window, resampling) }
}

/// A band of no pixels, for a file that does not reach the window.
fn nothing(header: &Header, band: &BandLayout) -> Band {
    Band::empty(header.bands[band.selected.band - 1].description.clone(), band.stored)
}

fn failure(error: RasterError) -> Failure {
    match error {
        RasterError::Cancelled => Failure::cancelled(),
        error => Failure::item(error.to_string()),
    }
}
