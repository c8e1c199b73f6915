//! PNG and JPEG: bands stretched to bytes, missing pixels transparent or of one colour.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use gdal::errors::GdalError;
use gdal::raster::{Buffer, ColorInterpretation, RasterCreationOptions};
use gdal::{Dataset, DriverManager};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::statistics::{Partial, Region, percentile};
use super::{Band, DataType, Member, init};

/// The form of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum PictureFormat {
    /// Lossless, missing pixels are transparent; zlib's level, 1 to 9.
    Png(u8),
    /// Lossy, without transparency; the quality, 1 to 100.
    Jpeg(u8),
}

/// How values become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Stretch {
    /// As they are; the bands have to be bytes.
    None,
    /// Linearly, from the first value at 0 to the second at 255; what lies outside is clamped.
    Range(f64, f64),
    /// The same between two values of each band itself.
    Own(OwnStretch),
}

/// Which two values of a band become 0 and 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OwnStretch {
    /// The smallest and the largest.
    MinMax,
    /// The 2nd and the 98th percentile.
    Percent,
}

/// Everything that a user may choose about a picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PictureSettings {
    /// The form.
    pub format: PictureFormat,
    /// How values become bytes.
    pub stretch: Stretch,
    /// The colour of missing pixels, for JPEG; `None` where there must not be any.
    pub background: Option<[u8; 3]>,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// A picture is grey or coloured.
    #[error(
        "a picture has 1 band or 3 (red, green and blue), found {0}; choose them by `bands = [\"red\", \"green\", \"blue\"]`"
    )]
    Bands(usize),
    /// Values that are no bytes, and no stretch.
    #[error(
        "a picture is made of bytes, and band `{name}` is `{data_type}`; add `stretch = \"percent\"` or `stretch = [0, 3000]`"
    )]
    NoBytes {
        /// The band.
        name: String,
        /// Its type.
        data_type: DataType,
    },
    /// JPEG cannot say what is missing.
    #[error(
        "{0} pixels are missing, which JPEG cannot mark; use `format = \"png\"`, or give them a colour by `background = [255, 255, 255]`"
    )]
    Missing(usize),
    /// GDAL refuses.
    #[error("the picture cannot be encoded: {0}")]
    Gdal(#[from] GdalError),
}

/// Bytes beside the pixels that a picture has at most.
const HEADER: u64 = 64 << 10;

impl PictureSettings {
    /// The most bytes that a picture of so many pixels and bands can have.
    pub fn bound(&self, pixels: u64, bands: u64) -> u64 {
        // Bytes that do not compress grow by less than a hundredth in both formats; JPEG of noise at best quality doubles.
        2 * pixels * (bands + 1) + HEADER
    }

    /// Bytes of memory beside the pixels and the picture while it is made: bytes of all channels, and GDAL's own.
    pub fn working_bytes(&self, pixels: u64, bands: u64) -> u64 {
        2 * pixels * (bands.max(3) + 1) + percentile::scratch(2) + HEADER
    }

    /// The bytes of a picture of these bands of a member, by their places.
    ///
    /// # Errors
    /// Not 1 or 3 bands, values that are no bytes without a stretch, missing pixels in JPEG without a background.
    pub fn encode(&self, member: &Member, places: &[usize]) -> Result<Vec<u8>, PictureError> {
        let bands: Vec<Band> =
            places.iter().map(|&place| member.bands[place].clone().in_row_order()).collect();
        if !matches!(bands.len(), 1 | 3) {
            return Err(PictureError::Bands(bands.len()));
        }
        let valid = valid_everywhere(&bands);
        let mut channels = match colours(&bands) {
            Some(channels) => channels,
            None => bands.iter().map(|band| self.bytes_of(band)).collect::<Result<_, _>>()?,
        };
        let missing = valid.iter().filter(|valid| **valid == 0).count();
        match (self.format, self.background) {
            (PictureFormat::Jpeg(_), None) if missing > 0 => return Err(PictureError::Missing(missing)),
            (PictureFormat::Jpeg(_), Some(colour)) if missing > 0 => paint(&mut channels, &valid, colour),
            (PictureFormat::Png(_), _) if missing > 0 => {
                paint(&mut channels, &valid, [0; 3]);
                channels.push(valid);
            }
            _ => {}
        }
        let (height, width) = bands[0].pixels.dim();
        Ok(self.compress((width, height), channels)?)
    }

    fn bytes_of(&self, band: &Band) -> Result<Vec<u8>, PictureError> {
        let data_type = band.pixels.data_type();
        let (low, high) = match self.stretch {
            Stretch::None if data_type == DataType::Uint8 => (0.0, 255.0),
            Stretch::None => {
                return Err(PictureError::NoBytes { name: band.description.name.clone(), data_type });
            }
            Stretch::Range(low, high) => (low, high),
            Stretch::Own(own) => own.ends(band),
        };
        let (rows, columns) = band.pixels.dim();
        let mut values = vec![0.0; columns];
        let mut bytes = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            band.load(row * columns, &mut values);
            bytes.extend(values.iter().map(|value| byte(*value, low, high)));
        }
        Ok(bytes)
    }

    fn compress(
        &self,
        (width, height): (usize, usize),
        channels: Vec<Vec<u8>>,
    ) -> Result<Vec<u8>, GdalError> {
        init::ready();
        let image = in_memory((width, height), channels)?;
        let (driver, option, suffix) = match self.format {
            PictureFormat::Png(level) => ("PNG", ("ZLEVEL", level), "png"),
            PictureFormat::Jpeg(quality) => ("JPEG", ("QUALITY", quality), "jpg"),
        };
        let mut options = RasterCreationOptions::default();
        options.set_name_value(option.0, &option.1.to_string())?;
        let path = fresh_path(suffix);
        let copy = image.create_copy(&DriverManager::get_driver_by_name(driver)?, &path, &options)?;
        copy.close()?;
        gdal::vsi::get_vsi_mem_file_bytes_owned(&path)
    }
}

impl OwnStretch {
    fn ends(self, band: &Band) -> (f64, f64) {
        let (rows, columns) = band.pixels.dim();
        let region = Region { stretches: vec![(0, rows * columns)], weights: None };
        let mut partial = Partial::new(None);
        partial.add(band, &region);
        match self {
            OwnStretch::MinMax => {
                (partial.moments.min().unwrap_or_default(), partial.moments.max().unwrap_or_default())
            }
            OwnStretch::Percent => percents(band, &region, partial.moments.count()),
        }
    }
}

fn percents(band: &Band, region: &Region, count: u64) -> (f64, f64) {
    let scan = |visit: &mut dyn FnMut(&[u64])| {
        region.keys(band, visit);
        Ok::<(), std::convert::Infallible>(())
    };
    match percentile::find(&[2.0, 98.0], band.pixels.data_type(), count, scan) {
        Ok(ends) => (ends[0].unwrap_or_default(), ends[1].unwrap_or_default()),
        Err(never) => match never {},
    }
}

/// A value between two ends as a byte, rounded; where the ends are equal, what is above them is white.
fn byte(value: f64, low: f64, high: f64) -> u8 {
    if high == low {
        return if value > high { 255 } else { 0 };
    }
    // A NaN becomes 0, which is painted over.
    ((value - low) / (high - low) * 255.0).round().clamp(0.0, 255.0) as u8
}

/// 255 where every band is valid, else 0.
fn valid_everywhere(bands: &[Band]) -> Vec<u8> {
    let (rows, columns) = bands[0].pixels.dim();
    let mut valid = vec![255; rows * columns];
    for band in bands {
        if let Some(mask) = band.mask(0..rows * columns) {
            valid.iter_mut().zip(mask).filter(|(_, mask)| **mask == 0).for_each(|(valid, _)| *valid = 0);
        }
    }
    valid
}

/// Red, green and blue of a single band with a colour table.
fn colours(bands: &[Band]) -> Option<Vec<Vec<u8>>> {
    let [band] = bands else { return None };
    let table = band.description.color_table.as_ref()?;
    let (rows, columns) = band.pixels.dim();
    let mut values = vec![0.0; rows * columns];
    band.load(0, &mut values);
    let channel = |channel: usize| {
        values.iter().map(|value| table.get(*value as usize).map_or(0, |colour| colour[channel])).collect()
    };
    Some((0..3).map(channel).collect())
}

fn paint(channels: &mut [Vec<u8>], valid: &[u8], colour: [u8; 3]) {
    for (channel, colour) in channels.iter_mut().zip(colour) {
        channel.iter_mut().zip(valid).filter(|(_, valid)| **valid == 0).for_each(|(byte, _)| *byte = colour);
    }
}

/// The channels as an image of GDAL's: grey or colours, then alpha.
fn in_memory(size: (usize, usize), channels: Vec<Vec<u8>>) -> Result<Dataset, GdalError> {
    use ColorInterpretation::{AlphaBand, BlueBand, GrayIndex, GreenBand, RedBand};
    let driver = DriverManager::get_driver_by_name("MEM")?;
    let image = driver.create_with_band_type::<u8, _>("", size.0, size.1, channels.len())?;
    let roles = if channels.len() < 3 {
        vec![GrayIndex, AlphaBand]
    } else {
        vec![RedBand, GreenBand, BlueBand, AlphaBand]
    };
    for (index, (channel, role)) in channels.into_iter().zip(roles).enumerate() {
        let mut band = image.rasterband(index + 1)?;
        band.set_color_interpretation(role)?;
        band.write((0, 0), size, &mut Buffer::new(size, channel))?;
    }
    Ok(image)
}

/// A file of GDAL's in memory; its bytes are taken out, and it is gone then.
fn fresh_path(suffix: &str) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("/vsimem/picture-{}.{suffix}", COUNT.fetch_add(1, Ordering::Relaxed)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_become_0_and_255_and_what_lies_beyond_is_clamped() {
        let found: Vec<u8> =
            [-5.0, 0.0, 1500.0, 3000.0, 9000.0].iter().map(|value| byte(*value, 0.0, 3000.0)).collect();
        assert_eq!(found, [0, 0, 128, 255, 255], "127.5 rounds up");
    }

    #[test]
    fn a_flat_band_has_two_bytes() {
        assert_eq!([byte(7.0, 7.0, 7.0), byte(8.0, 7.0, 7.0)], [0, 255]);
    }
}
