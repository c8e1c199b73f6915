//! Pixels and masks in a stream: row by row, each pixel little-endian.

use std::io::{self, Read, Write};

use ndarray::{ArrayBase, Data, Ix2};

use super::frame::read_bytes;
use crate::raster::{BandPixels, DataType, Pixel, with_pixel_type, with_pixels};

/// How many pixels are turned into bytes at once.
const BATCH: usize = 1 << 14;

/// Writes all pixels.
pub(super) fn write_pixels(out: &mut impl Write, pixels: &BandPixels) -> io::Result<()> {
    with_pixels!(pixels, array => write_array(out, array, |pixel, to: &mut Vec<u8>| to.extend(pixel.to_le_bytes())))
}

/// Reads rows × columns pixels of a type.
pub(super) fn read_pixels(
    from: &mut impl Read,
    data_type: DataType,
    dim: (usize, usize),
) -> io::Result<BandPixels> {
    with_pixel_type!(data_type, T => {
        let value = |bytes: &[u8]| T::from_le_bytes(bytes.try_into().expect("a chunk is one pixel"));
        Ok(BandPixels::from_rows(read_values::<T>(from, count(dim)?, value)?, dim))
    })
}

/// Writes a mask, a byte a pixel.
pub(super) fn write_mask<S: Data<Elem = u8>>(
    out: &mut impl Write,
    mask: &ArrayBase<S, Ix2>,
) -> io::Result<()> {
    write_array(out, mask, |valid, to| to.push(valid))
}

/// Reads a mask of rows × columns.
pub(super) fn read_mask(from: &mut impl Read, dim: (usize, usize)) -> io::Result<ndarray::Array2<u8>> {
    let bytes = read_bytes(from, count(dim)? as u64)?;
    ndarray::Array2::from_shape_vec(dim, bytes).map_err(io::Error::other)
}

/// The pixels of an array whatever its layout in memory, in batches so that no second copy of it is held.
fn write_array<T: Copy, S: Data<Elem = T>>(
    out: &mut impl Write,
    array: &ArrayBase<S, Ix2>,
    append: impl Fn(T, &mut Vec<u8>),
) -> io::Result<()> {
    let mut batch = Vec::with_capacity(BATCH * size_of::<T>());
    let mut pixels = array.iter();
    loop {
        batch.clear();
        pixels.by_ref().take(BATCH).for_each(|pixel| append(*pixel, &mut batch));
        if batch.is_empty() {
            return Ok(());
        }
        out.write_all(&batch)?;
    }
}

fn read_values<T: Pixel>(
    from: &mut impl Read,
    count: usize,
    value: impl Fn(&[u8]) -> T,
) -> io::Result<Vec<T>> {
    let mut values = Vec::with_capacity(count);
    let mut batch = vec![0; BATCH * size_of::<T>()];
    while values.len() < count {
        let part = &mut batch[..(count - values.len()).min(BATCH) * size_of::<T>()];
        from.read_exact(part)?;
        values.extend(part.chunks_exact(size_of::<T>()).map(&value));
    }
    Ok(values)
}

fn count((rows, columns): (usize, usize)) -> io::Result<usize> {
    let too_many = || io::Error::new(io::ErrorKind::InvalidData, format!("{rows}×{columns} pixels"));
    rows.checked_mul(columns).ok_or_else(too_many)
}
