//! How a member is read: the target grid, which level of each file serves it, and what becomes of each band.

use std::sync::Arc;

use super::options::{ReadOptions, Scaling};
use super::scaling::{Catalogued, scaled_type};
use super::selection::{self, Named, Selected};
use crate::contract::{BandShape, Failure, Placed, Properties};
use crate::raster::{
    BandHeader, DataType, Gaps, Grid, GridMap, Header, Misaligned, Placement, Resampling, Window, coarser,
};

/// A file of a member, as far as it is known before it is opened.
#[derive(Clone, Debug)]
pub(super) struct KnownFile {
    /// The asset's name.
    pub(super) name: String,
    /// What messages call the file.
    pub(super) shown: String,
    /// Its header; `None` when only the whole file tells.
    pub(super) header: Option<Arc<Header>>,
    /// What the catalogue says of the asset.
    pub(super) metadata: Option<Arc<Properties>>,
    /// Where it lies, if a program made it of a window.
    pub(super) placed: Option<Placed>,
}

impl Named for KnownFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn shown(&self) -> &str {
        &self.shown
    }

    fn header(&self) -> Result<&Arc<Header>, Failure> {
        self.header.as_ref().ok_or_else(|| {
            Failure::item(format!(
                "the header of `{}` is not known before the whole file is there",
                self.shown
            ))
        })
    }
}

/// How a member is read.
pub(super) struct Layout {
    /// The grid onto which the files are read.
    grid: Arc<Grid>,
    /// The larger grid that the output is given in, and which window of it the grid is.
    within: Option<(Arc<Grid>, Window)>,
    /// How the file whose grid counts is placed, where that grid does not tell.
    pub(super) placement: Placement,
    /// Metadata of the file whose grid counts.
    pub(super) tags: Arc<Vec<(String, String, String)>>,
    /// The files that some band comes from.
    pub(super) files: Vec<FileLayout>,
    /// The bands of the output, in their order.
    pub(super) bands: Vec<BandLayout>,
}

/// How one file is read.
pub(super) struct FileLayout {
    /// Its place among the member's files.
    pub(super) index: usize,
    /// What it says of itself.
    pub(super) header: Arc<Header>,
    /// Which overview, counted from 0; `None` for the full resolution.
    pub(super) overview: Option<usize>,
    /// How the output's grid lies on that level.
    pub(super) map: GridMap,
}

/// How one band is read.
pub(super) struct BandLayout {
    /// Where it comes from.
    pub(super) selected: Selected,
    /// The nodata value in place of the file's.
    pub(super) nodata: Option<String>,
    /// Scale and offset to apply.
    pub(super) scaling: Option<(f64, f64)>,
    /// The form of the result.
    pub(super) shape: BandShape,
    /// The type as stored.
    pub(super) stored: DataType,
}

impl Layout {
    /// Works out how the options read these files.
    ///
    /// # Errors
    /// Bands and assets that are not there, files whose grids cannot be brought together.
    pub(super) fn new(options: &ReadOptions, files: &[KnownFile]) -> Result<Self, Failure> {
        let selected = selection::select(options, files)?;
        let leader = match &options.grid {
            Some(asset) => selection::position(asset, files).map_err(|it| it.within("`grid`"))?,
            None => selected.first().map_or(0, |band| band.file),
        };
        let leading = files[leader].header()?;
        let grid = limited(&leading.grid, options.max_size);
        let within = place(&files[leader], leading, options)?;
        let mut used: Vec<usize> = selected.iter().map(|band| band.file).collect();
        used.sort_unstable();
        used.dedup();
        let layouts = used
            .into_iter()
            .map(|index| file_layout(files, index, (leader, &grid), options.max_size.is_some()))
            .collect::<Result<Vec<_>, _>>()?;
        let bands = selected.into_iter().map(|band| band_layout(options, files, &layouts, band));
        Ok(Self {
            bands: bands.collect(),
            tags: Arc::clone(&leading.tags),
            placement: if within.is_some() { Placement::Affine } else { leading.placement() },
            grid,
            within,
            files: layouts,
        })
    }

    /// The grid of the output.
    pub(super) fn output_grid(&self) -> &Arc<Grid> {
        self.within.as_ref().map_or(&self.grid, |(grid, _)| grid)
    }

    /// All of the output.
    pub(super) fn whole(&self) -> Window {
        self.within.as_ref().map_or_else(|| self.grid.whole(), |(_, window)| *window)
    }

    /// A window of the output as one of the grid onto which the files are read.
    ///
    /// # Errors
    /// It reaches beyond what a program made of a window.
    pub(super) fn own(&self, wanted: &Window) -> Result<Window, Failure> {
        let Some((_, window)) = &self.within else { return Ok(*wanted) };
        if window.covering(wanted) != *window {
            return Err(Failure::item(format!(
                "{wanted} is needed and the program has made {window}: let `window` have a larger `overlap`"
            )));
        }
        Ok(Window { col: wanted.col - window.col, row: wanted.row - window.row, ..*wanted })
    }

    /// The bands that come from a file, with their places in the output.
    pub(super) fn bands_of(&self, file: usize) -> impl Iterator<Item = (usize, &BandLayout)> {
        self.bands.iter().enumerate().filter(move |(_, band)| band.selected.file == file)
    }

    /// The resampling methods of a file's bands, each once.
    pub(super) fn resamplings_of(&self, file: usize) -> Vec<Resampling> {
        let mut methods = Vec::new();
        for (_, band) in self.bands_of(file) {
            if !methods.contains(&band.selected.resampling) {
                methods.push(band.selected.resampling);
            }
        }
        methods
    }

    /// The part of a file's level that a window of the output needs; of no size when the file does not reach it.
    pub(super) fn source_window(&self, file: &FileLayout, window: &Window) -> Window {
        let windows =
            self.resamplings_of(file.index).into_iter().map(|it| file.map.source_window(window, it));
        windows.filter(|window| window.pixels() > 0).reduce(|a, b| around(&a, &b)).unwrap_or(NOTHING)
    }

    /// Bytes beside input and output while a window is read: stored pixels that are resampled or scaled, file by
    /// file, and what the decoder holds of a block.
    pub(super) fn scratch(&self, window: &Window) -> u64 {
        self.files.iter().map(|file| self.scratch_of(file, window)).max().unwrap_or(0)
    }

    fn scratch_of(&self, file: &FileLayout, window: &Window) -> u64 {
        let pixels = self.source_window(file, window).pixels();
        let is_kept = |band: &BandLayout| file.map.is_identity() && band.scaling.is_none();
        let stored: u64 = self
            .bands_of(file.index)
            .filter(|(_, band)| !is_kept(band))
            .map(|(_, band)| band.stored.size() + u64::from(band.shape.has_mask))
            .sum();
        // A mask or alpha band is held until it has become validity.
        let masks = if file.header.bands.iter().any(|band| band.gaps == Gaps::ByMask) { 2 } else { 0 };
        pixels * (stored + masks) + decoder(&file.header)
    }
}

const NOTHING: Window = Window { col: 0, row: 0, width: 0, height: 0 };

/// A block as it is compressed and as it is decoded, with all bands, and the part of one band while it is taken out.
fn decoder(header: &Header) -> u64 {
    let block = header.bands.first().map_or(0, |band| band.block.0 * band.block.1);
    let pixel = || header.bands.iter().map(|band| band.data_type.size());
    block * (2 * pixel().sum::<u64>() + pixel().max().unwrap_or(0))
}

/// The smallest window around two.
fn around(one: &Window, other: &Window) -> Window {
    let (col, row) = (one.col.min(other.col), one.row.min(other.row));
    let right = (one.col + one.width).max(other.col + other.width);
    let bottom = (one.row + one.height).max(other.row + other.height);
    Window { col, row, width: right - col, height: bottom - row }
}

/// The larger grid, and the window of it, that a file lies on which a program made of a window.
fn place(
    file: &KnownFile,
    header: &Header,
    options: &ReadOptions,
) -> Result<Option<(Arc<Grid>, Window)>, Failure> {
    let Some(placed) = &file.placed else { return Ok(None) };
    let size = (header.grid.width, header.grid.height);
    let window = placed.of_size(size).filter(|_| options.max_size.is_none()).ok_or_else(|| {
        Failure::item(format!(
            "`{}` has {}×{} pixels and was made of the window {}: below `window` a program keeps the pixels that it is \
             given, with or without their overlap, and `read` has no `max-size`",
            file.shown, size.0, size.1, placed.given
        ))
    })?;
    Ok(Some((Arc::clone(&placed.grid), window)))
}

/// The grid, or one of the same area with at most so many columns and rows.
fn limited(grid: &Arc<Grid>, max_size: Option<u64>) -> Arc<Grid> {
    let longest = grid.width.max(grid.height);
    match max_size {
        Some(max) if max < longest => {
            let reduced = |length: u64| ((length as f64 * max as f64 / longest as f64).round() as u64).max(1);
            Arc::new(coarser(grid, (reduced(grid.width), reduced(grid.height))))
        }
        _ => Arc::clone(grid),
    }
}

fn file_layout(
    files: &[KnownFile],
    index: usize,
    (leader, grid): (usize, &Grid),
    from_overviews: bool,
) -> Result<FileLayout, Failure> {
    let header = files[index].header()?;
    let align = |source: &Grid| {
        GridMap::between(source, grid).map_err(|cause| misaligned(&files[index], &files[leader], cause))
    };
    let full = align(&header.grid)?;
    let overview = if from_overviews { coarsest(header, full.scale()) } else { None };
    let map = match overview {
        Some(overview) => align(&coarser(&header.grid, header.bands[0].overviews[overview]))?,
        None => full,
    };
    Ok(FileLayout { index, header: Arc::clone(header), overview, map })
}

/// The overview with the fewest pixels that is still as fine as the output, `scale` being source pixels an output
/// pixel.
fn coarsest(header: &Header, scale: (f64, f64)) -> Option<usize> {
    /// Overviews are whole pixels, so that their scale is a little off.
    const TOLERANCE: f64 = 1.01;
    let (width, height) = (header.grid.width as f64, header.grid.height as f64);
    let sizes = header.bands.first()?.overviews.iter().enumerate();
    sizes
        .filter(|(_, (w, h))| {
            width / *w as f64 <= scale.0 * TOLERANCE && height / *h as f64 <= scale.1 * TOLERANCE
        })
        .min_by_key(|(_, (w, h))| w * h)
        .map(|(overview, _)| overview)
}

fn misaligned(file: &KnownFile, leader: &KnownFile, cause: Misaligned) -> Failure {
    Failure::item(format!(
        "`{}` cannot be read onto the grid of `{}`: {cause}; read it in a stage of its own and `warp` it",
        file.shown, leader.shown,
    ))
}

fn band_layout(
    options: &ReadOptions,
    files: &[KnownFile],
    layouts: &[FileLayout],
    selected: Selected,
) -> BandLayout {
    let layout =
        layouts.iter().find(|layout| layout.index == selected.file).expect("every used file has a layout");
    let band = &layout.header.bands[selected.band - 1];
    let catalogued = catalogued(options, &files[selected.file], selected.band);
    let nodata = options.nodata.as_ref().map(|nodata| nodata.as_str().to_owned());
    let nodata = nodata.or_else(|| catalogued.nodata.filter(|_| band.description.nodata.is_none()));
    let scaling = scaling(options.scaling, band, catalogued.scaling);
    let shape = BandShape {
        name: selected.name.clone(),
        data_type: if scaling.is_some() { scaled_type(band.data_type) } else { band.data_type },
        has_mask: band.gaps != Gaps::Never || nodata.is_some() || !layout.map.is_identity(),
    };
    BandLayout { stored: band.data_type, selected, nodata, scaling, shape }
}

/// What the catalogue says of a band, where the options ask it.
fn catalogued(options: &ReadOptions, file: &KnownFile, band: usize) -> Catalogued {
    match (options.scaling, &file.metadata) {
        (Scaling::Stac, Some(metadata)) => Catalogued::of(metadata, band),
        _ => Catalogued::default(),
    }
}

/// Scale and offset to apply; none where they change nothing.
fn scaling(scaling: Scaling, band: &BandHeader, catalogued: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let own = (band.description.scale, band.description.offset);
    let stated = match scaling {
        Scaling::None => return None,
        Scaling::File => own,
        Scaling::Stac => catalogued.unwrap_or(own),
    };
    (stated != (1.0, 0.0)).then_some(stated)
}
