//! Decodes a window of some bands into typed arrays with their validity.

use std::sync::Arc;

use gdal::raster::RasterBand;
use ndarray::{ArcArray2, s};

use super::ffi::names::type_name;
use super::ffi::pixels::{Cancelled, read_into};
use super::message::listen;
use super::open::Opened;
use super::{
    Band, BandDescription, BandPixels, DataType, Header, RasterError, Validity, Window, inspect, nodata,
    validity,
};
use crate::raster::with_pixels;

/// About so many pixels are read at once, so that blocks that hold several bands are decoded once.
const CHUNK_PIXELS: u64 = 512 * 512;

/// What to read of an open file.
pub struct ReadRequest<'a> {
    /// Bands, counted from 1, in the order in which they are wanted.
    pub bands: &'a [usize],
    /// Pixels of the full resolution, or of the overview.
    pub window: Window,
    /// Which overview, counted from 0; `None` for the full resolution.
    pub overview: Option<usize>,
    /// The value that marks missing pixels instead of the one that the file states.
    pub nodata: Option<&'a str>,
    /// Asked now and then; true ends the work.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl Opened {
    /// Decodes a window. Each array has the window's rows × columns and the band's own type.
    ///
    /// A pixel is invalid when it has its band's nodata value, is NaN, or is masked or transparent in the file. A
    /// nodata value that the type cannot have masks nothing ([`Header::warnings`] names it). A sparse block
    /// holds nodata, or valid zeros where none is stated.
    ///
    /// # Errors
    /// What the file does not have, complex pixels, damaged blocks, bytes that are not at hand, cancellation.
    pub fn read(&self, header: &Header, request: &ReadRequest<'_>) -> Result<Vec<Band>, RasterError> {
        for number in request.bands {
            self.check_readable(header, *number)?;
        }
        let mut layers = Layers::of(self, header, request)?;
        layers.fill(self, request)?;
        self.complete()?;
        layers.into_bands(self, header, request)
    }

    fn check_readable(&self, header: &Header, number: usize) -> Result<(), RasterError> {
        let band = self.band(number, None)?;
        if header.bands.get(number - 1).is_some_and(|band| band.is_complex) {
            let data_type = type_name(&band);
            return Err(RasterError::Complex { file: self.name().to_owned(), band: number, data_type });
        }
        Ok(())
    }

    /// Fails when the window is not inside the band.
    pub(super) fn check_window(&self, band: &RasterBand<'_>, window: &Window) -> Result<(), RasterError> {
        let (width, height) = (band.x_size() as u64, band.y_size() as u64);
        let ends_by = |start: u64, length, size| start.checked_add(length).is_some_and(|end| end <= size);
        if ends_by(window.col, window.width, width) && ends_by(window.row, window.height, height) {
            return Ok(());
        }
        Err(RasterError::Beyond { file: self.name().to_owned(), window: *window, width, height })
    }
}

impl Band {
    /// A band of no pixels.
    pub fn empty(description: BandDescription, data_type: DataType) -> Self {
        Self { description, pixels: zeros(data_type, (0, 0)), validity: Validity::All }
    }
}

/// The arrays of the bands asked for, and of what tells their validity.
struct Layers {
    /// By number.
    bands: Vec<(usize, BandPixels)>,
    /// The alpha band, unless it is among the bands.
    alpha: Option<(usize, BandPixels)>,
    mask: Option<BandPixels>,
}

impl Layers {
    fn of(opened: &Opened, header: &Header, request: &ReadRequest<'_>) -> Result<Self, RasterError> {
        let dim = (request.window.height as usize, request.window.width as usize);
        let layer = |number: usize| (number, zeros(header.bands[number - 1].data_type, dim));
        let bands: Vec<_> = request.bands.iter().copied().map(layer).collect();
        let alpha = header.alpha_band().filter(|alpha| !header.bands[alpha - 1].is_complex);
        let has_mask = match request.bands.first() {
            Some(number) => inspect::has_file_mask(&opened.band(*number, request.overview)?),
            None => false,
        };
        Ok(Self {
            bands,
            alpha: alpha.filter(|alpha| !request.bands.contains(alpha)).map(layer),
            mask: has_mask.then(|| zeros(DataType::Uint8, dim)),
        })
    }

    /// Reads chunk by chunk, all layers of a chunk before the next, since a block may hold all of them.
    fn fill(&mut self, opened: &Opened, request: &ReadRequest<'_>) -> Result<(), RasterError> {
        let Some(first) = request.bands.first() else { return Ok(()) };
        let first = opened.band(*first, request.overview)?;
        opened.check_window(&first, &request.window)?;
        for chunk in chunks(&request.window, first.block_size()) {
            for (number, pixels) in self.bands.iter_mut().chain(&mut self.alpha) {
                let band = opened.band(*number, request.overview)?;
                fill_chunk(opened, &band, *number, pixels, (&request.window, &chunk), request.cancelled)?;
            }
            if let Some(mask) = &mut self.mask
                && let Ok(band) = first.open_mask_band()
            {
                fill_chunk(opened, &band, 0, mask, (&request.window, &chunk), request.cancelled)?;
            }
        }
        Ok(())
    }

    fn into_bands(
        self,
        opened: &Opened,
        header: &Header,
        request: &ReadRequest<'_>,
    ) -> Result<Vec<Band>, RasterError> {
        let alpha_number = header.alpha_band();
        let alpha = self
            .alpha
            .as_ref()
            .or_else(|| self.bands.iter().find(|(number, _)| Some(*number) == alpha_number));
        let file_mask = self.mask.as_ref().map(validity::of_nonzero);
        let transparent = alpha.map(|(_, pixels)| validity::of_nonzero(pixels));
        let shared = validity::both(file_mask.clone().flatten(), transparent.flatten()).map(Arc::new);
        let file_mask = file_mask.flatten().map(Arc::new);
        let band = |(number, pixels): (usize, BandPixels)| {
            let mut description = header.bands[number - 1].description.clone();
            description.nodata = nodata_of(opened, header, number, request.nodata)?;
            let shared = if Some(number) == alpha_number { &file_mask } else { &shared };
            let validity = validity::of_band(&pixels, description.nodata.as_deref(), shared.as_ref());
            Ok(Band { description, pixels, validity })
        };
        self.bands.into_iter().map(band).collect()
    }
}

/// The nodata value in force: the one given, else the file's, if a pixel can have it.
fn nodata_of(
    opened: &Opened,
    header: &Header,
    number: usize,
    given: Option<&str>,
) -> Result<Option<String>, RasterError> {
    let band = &header.bands[number - 1];
    match given {
        Some(nodata) if nodata::is_representable(nodata, band.data_type) => Ok(Some(nodata.to_owned())),
        Some(nodata) => Err(RasterError::Nodata {
            file: opened.name().to_owned(),
            band: number,
            nodata: nodata.to_owned(),
            data_type: band.data_type,
        }),
        None if band.unrepresentable_nodata().is_some() => Ok(None),
        None if inspect::mask_replaces_nodata(opened, &opened.band(number, None)?) => Ok(None),
        None => Ok(band.description.nodata.clone()),
    }
}

/// Reads one chunk of a window; `number` is 0 for the mask.
fn fill_chunk(
    opened: &Opened,
    band: &RasterBand<'_>,
    number: usize,
    pixels: &mut BandPixels,
    (window, chunk): (&Window, &Window),
    cancelled: Cancelled<'_>,
) -> Result<(), RasterError> {
    if cancelled() {
        return Err(RasterError::Cancelled);
    }
    let (top, left) = ((chunk.row - window.row) as usize, (chunk.col - window.col) as usize);
    let part = s![top..top + chunk.height as usize, left..left + chunk.width as usize];
    let (is_read, said) =
        listen(|| with_pixels!(pixels, array => read_into(band, chunk, array.slice_mut(part), cancelled)));
    if is_read {
        return Ok(());
    }
    if cancelled() {
        return Err(RasterError::Cancelled);
    }
    opened.complete()?;
    let what = if number == 0 { "mask".to_owned() } else { format!("band {number}") };
    let cause = format!("{what}, pixels {chunk}: {}", said.cause());
    Err(RasterError::Damaged { file: opened.name().to_owned(), cause })
}

fn zeros(data_type: DataType, dim: (usize, usize)) -> BandPixels {
    match data_type {
        DataType::Uint8 => BandPixels::Uint8(ArcArray2::zeros(dim)),
        DataType::Int8 => BandPixels::Int8(ArcArray2::zeros(dim)),
        DataType::Uint16 => BandPixels::Uint16(ArcArray2::zeros(dim)),
        DataType::Int16 => BandPixels::Int16(ArcArray2::zeros(dim)),
        DataType::Uint32 => BandPixels::Uint32(ArcArray2::zeros(dim)),
        DataType::Int32 => BandPixels::Int32(ArcArray2::zeros(dim)),
        DataType::Uint64 => BandPixels::Uint64(ArcArray2::zeros(dim)),
        DataType::Int64 => BandPixels::Int64(ArcArray2::zeros(dim)),
        DataType::Float32 => BandPixels::Float32(ArcArray2::zeros(dim)),
        DataType::Float64 => BandPixels::Float64(ArcArray2::zeros(dim)),
    }
}

/// The window in parts that are whole multiples of the block, where the window allows it.
fn chunks(window: &Window, block: (usize, usize)) -> Vec<Window> {
    let (columns, rows) = chunk_size((block.0 as u64, block.1 as u64));
    let mut chunks = Vec::new();
    for (row, height) in spans(window.row, window.height, rows) {
        for (col, width) in spans(window.col, window.width, columns) {
            chunks.push(Window { col, row, width, height });
        }
    }
    chunks
}

/// Columns × rows of a chunk: at least one block, at most about [`CHUNK_PIXELS`] where blocks are smaller.
fn chunk_size((columns, rows): (u64, u64)) -> (u64, u64) {
    let wide = columns * (512 / columns).max(1);
    (wide, rows * (CHUNK_PIXELS / (wide * rows)).max(1))
}

/// Start and length of the parts of a span that whole multiples of `step` cut.
fn spans(start: u64, length: u64, step: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = start + length;
    let mut at = start;
    std::iter::from_fn(move || {
        let stop = ((at / step + 1) * step).min(end);
        let span = (at < end).then(|| (at, stop - at));
        at = stop.max(at);
        span
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_cut_at_whole_blocks_and_cover_the_window_once() {
        let window = Window { col: 100, row: 10, width: 1000, height: 600 };
        let chunks = chunks(&window, (256, 256));
        assert_eq!(chunks[0], Window { col: 100, row: 10, width: 412, height: 502 });
        assert_eq!(chunks[1], Window { col: 512, row: 10, width: 512, height: 502 });
        assert_eq!(chunks.iter().map(Window::pixels).sum::<u64>(), 600_000);
    }

    #[test]
    fn strips_are_read_many_at_a_time_and_never_cut() {
        assert_eq!(chunk_size((1024, 2)), (1024, 256));
        assert_eq!(chunk_size((100_000, 64)), (100_000, 64));
    }
}
