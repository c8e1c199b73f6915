//! Everything that decides a file's bytes but its pixels: settings, place, bands, levels, how missing pixels are marked.

use std::sync::Arc;

use super::directory;
use super::geo::GeoFields;
use super::ghost;
use super::layout::{Level, levels};
use super::missing::Missing;
use super::places::{Frame, TileIndex};
use super::sample::Sample;
use super::settings::{Compression, Format, Predictor, Reduction, Settings};
use super::size;
use super::{Block, TiffError};
use crate::raster::{BandDescription, DataType, Grid};

/// Runs the same code with `$T` as the pixel type that a `DataType` stands for.
macro_rules! with_sample {
    ($data_type:expr, $T:ident => $body:expr) => {
        match $data_type {
            $crate::raster::DataType::Uint8 => {
                type $T = u8;
                $body
            }
            $crate::raster::DataType::Int8 => {
                type $T = i8;
                $body
            }
            $crate::raster::DataType::Uint16 => {
                type $T = u16;
                $body
            }
            $crate::raster::DataType::Int16 => {
                type $T = i16;
                $body
            }
            $crate::raster::DataType::Uint32 => {
                type $T = u32;
                $body
            }
            $crate::raster::DataType::Int32 => {
                type $T = i32;
                $body
            }
            $crate::raster::DataType::Uint64 => {
                type $T = u64;
                $body
            }
            $crate::raster::DataType::Int64 => {
                type $T = i64;
                $body
            }
            $crate::raster::DataType::Float32 => {
                type $T = f32;
                $body
            }
            $crate::raster::DataType::Float64 => {
                type $T = f64;
                $body
            }
        }
    };
}
pub(super) use with_sample;

/// One band that goes into a file.
#[derive(Clone, Debug)]
pub struct FormBand {
    /// Its place among the bands of the raster.
    pub index: usize,
    /// What it says of itself.
    pub description: BandDescription,
    /// The type of its pixels.
    pub data_type: DataType,
    /// Whether pixels may be missing, as its header says.
    pub may_miss: bool,
}

/// What is done to pixels before compression, decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prediction {
    None,
    Horizontal,
    FloatingPoint,
}

/// The form of one file. Files of one form and equal pixels have equal bytes.
#[derive(Debug)]
pub struct Form {
    pub(super) settings: Settings,
    pub(super) grid: Grid,
    pub(super) levels: Vec<Level>,
    pub(super) bands: Vec<(BandDescription, bool)>,
    /// Places of the bands among those of the raster.
    pub(super) chosen: Vec<usize>,
    pub(super) data_type: DataType,
    pub(super) reductions: Vec<Reduction>,
    pub(super) prediction: Prediction,
    /// The text of the nodata tag.
    pub(super) nodata: Option<String>,
    pub(super) has_mask: bool,
    /// Metadata of the whole file: (domain or empty, key, value).
    pub(super) tags: Arc<Vec<(String, String, String)>>,
    pub(super) geo: GeoFields,
    /// Whether offsets have 64 bits, because the file may pass 4 GiB.
    pub(super) is_big: bool,
}

impl Form {
    /// The form of a file for these bands on this grid.
    ///
    /// # Errors
    /// Bands of different types, a predictor that does not fit them, classes to be averaged, a system that GeoTIFF has no
    /// keys for, or a size that TIFF cannot hold.
    pub fn new(
        settings: &Settings,
        grid: Grid,
        bands: Vec<FormBand>,
        tags: Arc<Vec<(String, String, String)>>,
    ) -> Result<Self, TiffError> {
        check_size(&grid, &bands)?;
        let data_type = one_type(&bands)?;
        let chosen = bands.iter().map(|band| band.index).collect();
        let bands: Vec<_> = bands.into_iter().map(|band| (band.description, band.may_miss)).collect();
        let (nodata, has_mask) = with_sample!(data_type, T => marks(Missing::<T>::decide(&bands)));
        let mut form = Self {
            levels: levels(grid.width, grid.height, settings),
            reductions: reductions(settings, &bands)?,
            prediction: prediction(settings, data_type)?,
            geo: GeoFields::of(&grid)?,
            settings: settings.clone(),
            is_big: false,
            grid,
            bands,
            chosen,
            data_type,
            nodata,
            has_mask,
            tags,
        };
        form.is_big = form.bound() > u64::from(u32::MAX);
        Ok(form)
    }

    /// Rows and columns of a tile.
    pub(super) fn block(&self) -> usize {
        self.settings.block
    }

    /// What stands around each tile.
    pub(super) fn frame(&self) -> Frame {
        Frame { is_framed: self.settings.format == Format::Cog }
    }

    /// The text that a COG has before its first directory.
    pub(super) fn ghost(&self) -> String {
        match self.settings.format {
            Format::Cog => ghost::text(self.has_mask),
            Format::Gtiff => String::new(),
        }
    }

    /// The bytes before the first tile, for tiles that lie as `index` says.
    pub(super) fn header(&self, index: &TileIndex) -> Vec<u8> {
        directory::render(self, index)
    }

    /// An index of no tile.
    pub(super) fn unplaced(&self) -> TileIndex {
        TileIndex::unknown(&self.levels, self.has_mask)
    }

    /// The most bytes that the file has when its codec finds what pads the tiles: what memory is reserved for.
    pub fn expected_bound(&self) -> u64 {
        let extent = size::Extent {
            width: self.grid.width,
            height: self.grid.height,
            data_type: self.data_type,
            bands: self.bands.len(),
            may_miss: self.has_mask,
        };
        self.header(&self.unplaced()).len() as u64 + size::tiles_bound(&self.settings, &extent)
    }

    /// The most bytes that the file can have, whatever its codec does; by it offsets of 32 or 64 bits are chosen.
    pub(super) fn bound(&self) -> u64 {
        let tile = size::tile_bound(&self.settings, self.data_type, self.bands.len(), self.has_mask);
        let tiles: usize = self.levels.iter().map(Level::tiles).sum();
        self.header(&self.unplaced()).len() as u64 + tiles as u64 * tile
    }

    /// How the file marks missing pixels.
    pub(super) fn missing<T: Sample>(&self) -> Missing<T> {
        Missing::decide(&self.bands)
    }

    /// A tile with every pixel missing.
    pub(super) fn missing_tile<T: Sample>(&self, width: usize, height: usize) -> Block<T> {
        Block::filled((width, height), self.bands.len(), self.missing::<T>().fill(), self.has_mask)
    }
}

fn check_size(grid: &Grid, bands: &[FormBand]) -> Result<(), TiffError> {
    let (width, height) = (grid.width, grid.height);
    if bands.is_empty() || width == 0 || height == 0 {
        return Err(TiffError::Empty { bands: bands.len(), width, height });
    }
    if width.max(height) > i32::MAX as u64 {
        return Err(TiffError::TooLarge { width, height });
    }
    Ok(())
}

fn one_type(bands: &[FormBand]) -> Result<DataType, TiffError> {
    let first = &bands[0];
    match bands.iter().find(|band| band.data_type != first.data_type) {
        None => Ok(first.data_type),
        Some(other) => Err(TiffError::MixedTypes {
            first: first.description.name.clone(),
            first_type: first.data_type,
            other: other.description.name.clone(),
            other_type: other.data_type,
        }),
    }
}

fn marks<T: Sample>(missing: Missing<T>) -> (Option<String>, bool) {
    match missing {
        Missing::Nodata(value) => (Some(value.text()), false),
        other => (None, other.has_mask()),
    }
}

fn reductions(settings: &Settings, bands: &[(BandDescription, bool)]) -> Result<Vec<Reduction>, TiffError> {
    let of_band = |(band, _): &(BandDescription, bool)| {
        let has_classes = band.color_table.is_some() || band.categories.is_some();
        match settings.reduction {
            Some(Reduction::Average) if has_classes => {
                Err(TiffError::ClassesAveraged(band.name.clone(), Reduction::Average.name()))
            }
            Some(reduction) => Ok(reduction),
            None if has_classes => Ok(Reduction::Mode),
            None => Ok(Reduction::Average),
        }
    };
    bands.iter().map(of_band).collect()
}

fn prediction(settings: &Settings, data_type: DataType) -> Result<Prediction, TiffError> {
    match (settings.predictor, data_type.is_float()) {
        (Predictor::FloatingPoint, false) => Err(TiffError::PredictorNeedsFloat(data_type)),
        _ if settings.compression == Compression::None => Ok(Prediction::None),
        (Predictor::None, _) => Ok(Prediction::None),
        (Predictor::FloatingPoint | Predictor::Auto, true) => Ok(Prediction::FloatingPoint),
        (Predictor::Horizontal, _) | (Predictor::Auto, false) => Ok(Prediction::Horizontal),
    }
}
