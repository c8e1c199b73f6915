//! One tile's bytes: padded to a full block, interleaved by pixel, passed through the predictor, compressed.

use super::codec::Codec;
use super::form::{Form, Prediction};
use super::missing::Missing;
use super::sample::Sample;
use super::settings::Compression;
use super::{Block, TiffError};

/// Compresses tiles one after the other; its buffers serve all of them.
pub(super) struct TileEncoder<T> {
    block: usize,
    prediction: Prediction,
    codec: Codec,
    /// Masks are always deflated, as GDAL writes them.
    mask_codec: Option<Codec>,
    /// One row of pixels, interleaved and padded.
    row: Vec<T>,
    /// The bytes of one row by significance.
    planes: Vec<u8>,
    /// The bytes of the tile before compression.
    raw: Vec<u8>,
    /// The finished tile.
    pub(super) image: Vec<u8>,
    /// Its mask; empty where the file has none.
    pub(super) mask: Vec<u8>,
}

impl<T: Sample> TileEncoder<T> {
    /// An encoder for the tiles of one file.
    pub(super) fn new(form: &Form, missing: Missing<T>) -> Result<Self, TiffError> {
        let samples = form.block() * form.bands.len();
        let mask_codec = missing.has_mask().then(|| Codec::new(Compression::Deflate(6))).transpose()?;
        Ok(Self {
            block: form.block(),
            prediction: form.prediction,
            codec: Codec::new(form.settings.compression)?,
            mask_codec,
            row: vec![T::default(); samples],
            planes: vec![0; samples * T::SIZE],
            raw: Vec::new(),
            image: Vec::new(),
            mask: Vec::new(),
        })
    }

    /// Compresses a tile into `self.image` and `self.mask`.
    pub(super) fn encode(&mut self, tile: &Block<T>) -> Result<(), TiffError> {
        self.raw.resize(self.block * self.row.len() * T::SIZE, 0);
        self.fill_raw(tile);
        self.codec.compress(&self.raw, &mut self.image)?;
        if let (Some(codec), Some(_)) = (&mut self.mask_codec, &tile.mask) {
            fill_mask(tile, self.block, &mut self.raw);
            codec.compress(&self.raw, &mut self.mask)?;
        }
        Ok(())
    }

    /// Rows below the image repeat the last one, columns beside it the last pixel, which costs the fewest bytes.
    fn fill_raw(&mut self, tile: &Block<T>) {
        let row_bytes = self.planes.len();
        let (rows, padding) = self.raw.split_at_mut(tile.height * row_bytes);
        for (at, out) in rows.chunks_exact_mut(row_bytes).enumerate() {
            interleave(tile, at, &mut self.row);
            predict(self.prediction, &self.row, tile.bands, &mut self.planes, out);
        }
        let last = &rows[rows.len() - row_bytes..];
        for out in padding.chunks_exact_mut(row_bytes) {
            out.copy_from_slice(last);
        }
    }
}

/// One row of all bands, pixel by pixel, its last pixel repeated to the end of the block.
fn interleave<T: Sample>(tile: &Block<T>, row: usize, out: &mut [T]) {
    for band in 0..tile.bands {
        let pixels = tile.row(band, row);
        if tile.bands == 1 {
            out[..pixels.len()].copy_from_slice(pixels);
        } else {
            for (out, value) in out[band..].iter_mut().step_by(tile.bands).zip(pixels) {
                *out = *value;
            }
        }
    }
    let filled = tile.width * tile.bands;
    let (done, rest) = out.split_at_mut(filled);
    for pixel in rest.chunks_exact_mut(tile.bands) {
        pixel.copy_from_slice(&done[filled - tile.bands..]);
    }
}

fn predict<T: Sample>(prediction: Prediction, row: &[T], bands: usize, planes: &mut [u8], out: &mut [u8]) {
    match prediction {
        Prediction::None => T::write(row, out),
        Prediction::Horizontal => T::write_differences(row, bands, out),
        Prediction::FloatingPoint => {
            T::write_planes(row, planes);
            u8::write_differences(planes, bands, out);
        }
    }
}

/// One bit a pixel, the highest first, 1 where it is valid (TIFF 6.0, `PhotometricInterpretation` 4); padded with 0.
fn fill_mask<T>(tile: &Block<T>, block: usize, out: &mut Vec<u8>) {
    out.clear();
    out.resize(block * block / 8, 0);
    let Some(mask) = &tile.mask else { return };
    for (row, bits) in mask.chunks_exact(tile.width).zip(out.chunks_exact_mut(block / 8)) {
        for (eight, byte) in row.chunks(8).zip(bits) {
            *byte = eight.iter().enumerate().fold(0, |byte, (at, pixel)| byte | (pixel & 0x80) >> at);
        }
    }
}
