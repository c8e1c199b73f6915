//! Windows read from ranges against GDAL's own read of the whole file: every compression that this GDAL writes, with its
//! predictors, both interleaves, all data types, byte orders, BigTIFF, sparse tiles, overviews and a mask.
//!
//! GDAL reads with its own file access and block cache on one side; on the other it has the bytes that [`block_ranges`]
//! names and no others, so a range too few or misplaced is an error or a difference.

use gdal::Dataset;
use gdal::raster::{GdalType, RasterBand};

use super::*;
use crate::raster::nodata::Parse;
use crate::raster::with_pixels;

/// Columns and rows of the samples: neither is a multiple of the block of 16 × 16.
const SIZE: (usize, usize) = (75, 52);

/// A window that begins and ends within blocks.
const WINDOW: Window = Window { col: 21, row: 9, width: 40, height: 30 };

type Options = Vec<(&'static str, &'static str)>;

/// A pixel type of the matrix.
trait Cell: GdalType + Copy + Pixel + Parse {
    /// Predictors that TIFF has for it.
    const PREDICTORS: &'static [&'static str];
    /// Compressions that only this type has, or that not all types have.
    const FURTHER: &'static [&'static str];
    /// A value of any size.
    fn of(seed: u64) -> Self;
}

macro_rules! cells {
    ($($rust:ty, $predictors:expr, $further:expr, $of:expr;)*) => {
        $(impl Cell for $rust {
            const PREDICTORS: &'static [&'static str] = $predictors;
            const FURTHER: &'static [&'static str] = $further;

            fn of(seed: u64) -> Self {
                $of(seed)
            }
        })*
    };
}

const LERC: &[&str] = &["LERC", "LERC_DEFLATE", "LERC_ZSTD"];

cells! {
    u8, &["1", "2"], &["LERC", "LERC_DEFLATE", "LERC_ZSTD", "JPEG", "WEBP"], |seed| seed as u8;
    u16, &["1", "2"], LERC, |seed| seed as u16;
    i16, &["1", "2"], LERC, |seed| seed as i16;
    u32, &["1", "2"], LERC, |seed| seed as u32;
    i32, &["1", "2"], LERC, |seed| seed as i32;
    u64, &["1", "2"], &[], |seed| seed;
    i64, &["1", "2"], &[], |seed| seed as i64;
    f32, &["1", "2", "3"], LERC, |seed| (seed as i32) as f32 * 1e-3;
    f64, &["1", "2", "3"], LERC, |seed| (seed as i64) as f64 * 1e-7;
}

/// Compressions of all types; those in `PREDICTED` have predictors.
const PLAIN: &[&str] = &["NONE", "PACKBITS", "LZMA"];
const PREDICTED: &[&str] = &["LZW", "DEFLATE", "ZSTD"];

/// The ways to compress a type: compression and predictor.
fn compressions<T: Cell>() -> Vec<Options> {
    // At its usual preset LZMA takes most of the time of all these tests.
    let alone = PLAIN.iter().chain(T::FURTHER).map(|name| vec![("COMPRESS", *name), ("LZMA_PRESET", "0")]);
    let predicted = PREDICTED.iter().flat_map(|name| {
        T::PREDICTORS.iter().map(|predictor| vec![("COMPRESS", *name), ("PREDICTOR", *predictor)])
    });
    alone.chain(predicted).collect()
}

/// Smooth values with noise, so that predictors have something to do and blocks differ.
fn values<T: Cell>(band: u64) -> Vec<T> {
    let mut noise = fastrand::Rng::with_seed(band);
    (0..(SIZE.0 * SIZE.1) as u64).map(|at| T::of(at * 977 + band * 131 + noise.u64(..64))).collect()
}

/// Three bands of a type, in tiles.
fn sample<T: Cell>(options: &[(&'static str, &'static str)]) -> Sample<T> {
    Sample::new(SIZE, (0..3).map(values).collect()).tiled(options)
}

/// Both interleaves; WEBP has all bands in one block.
fn interleaved(compression: &Options) -> Vec<Options> {
    let names: &[&str] = if compression[0].1 == "WEBP" { &["PIXEL"] } else { &["PIXEL", "BAND"] };
    names.iter().map(|name| [compression.clone(), vec![("INTERLEAVE", *name)]].concat()).collect()
}

/// The window of a level.
fn window_of(overview: Option<usize>) -> Window {
    let shrink = |length: u64| length >> overview.map_or(0, |level| level + 1);
    let Window { col, row, width, height } = WINDOW;
    Window { col: shrink(col), row: shrink(row), width: shrink(width), height: shrink(height) }
}

/// The header and the blocks of a window; nothing else of the file is at hand.
fn parts(path: &Path, need: &BlockNeed) -> FileBytes {
    let mut at_hand = header_ranges(path);
    loop {
        match block_ranges(&sparse(path, &at_hand), std::slice::from_ref(need)).unwrap() {
            BlockRanges::Blocks(blocks) => {
                at_hand.extend(blocks);
                return sparse(path, &at_hand);
            }
            BlockRanges::Missing(missing) => at_hand.extend(missing),
            BlockRanges::WholeFile(untiled) => panic!("{untiled:?}"),
        }
    }
}

/// What GDAL reads of a window by itself, and which pixels it calls valid; beside those NaN is never valid here.
fn by_gdal<T: Cell>(band: &RasterBand<'_>, window: &Window) -> (BandPixels, Vec<u8>) {
    let (at, size) =
        ((window.col as isize, window.row as isize), (window.width as usize, window.height as usize));
    let pixels = band.read_as::<T>(at, size, size, None).unwrap();
    let mask = band.open_mask_band().unwrap().read_as::<u8>(at, size, size, None).unwrap();
    let is_number = |pixel: &T| !pixel.to_f64().is_nan();
    let valid =
        pixels.data().iter().zip(mask.data()).map(|(pixel, valid)| u8::from(*valid != 0 && is_number(pixel)));
    let valid = valid.collect();
    (BandPixels::from_rows(pixels.data().to_vec(), (size.1, size.0)), valid)
}

/// Pixels with NaN as a value like others: LERC leaves some in big-endian files.
fn bits(pixels: &BandPixels) -> Option<Vec<u64>> {
    let is_float = pixels.data_type().is_float();
    let bits = || with_pixels!(pixels, array => array.iter().map(|pixel| pixel.to_f64().to_bits()).collect());
    is_float.then(bits)
}

/// Reads the window of a level both ways.
fn compare<T: Cell>(path: &Path, overview: Option<usize>, what: &str) {
    let window = window_of(overview);
    let bytes = parts(path, &BlockNeed { bands: vec![3, 1], window, overview });
    assert!(bytes.held() < bytes.size, "{what}: all of the file");
    let opened = open(Source::Memory(&bytes));
    let request = ReadRequest { overview, ..request(&[3, 1], window) };
    let found = opened.read(&header(&opened), &request).unwrap_or_else(|error| panic!("{what}: {error}"));
    let dataset = Dataset::open(path).unwrap();
    for (band, number) in found.iter().zip([3, 1]) {
        let full = dataset.rasterband(number).unwrap();
        let level = overview.map(|level| full.overview(level).unwrap());
        let (pixels, valid) = by_gdal::<T>(level.as_ref().unwrap_or(&full), &window);
        // NaN differs from itself; integers have no bits to compare beside their values.
        let are_same = band.pixels == pixels
            || bits(&pixels).is_some_and(|expected| bits(&band.pixels) == Some(expected));
        assert!(are_same, "{what}: pixels of band {number} at level {overview:?}");
        assert!(mask(band) == valid, "{what}: validity of band {number} at level {overview:?}");
    }
}

/// Every compression of a type in both interleaves, as `change` makes the samples.
fn every_compression<T: Cell>(further: &[(&'static str, &'static str)], change: impl Fn(&mut Sample<T>)) {
    let folder = tempfile::tempdir().unwrap();
    for options in compressions::<T>().iter().flat_map(interleaved) {
        let mut sample = sample::<T>(&[options.as_slice(), further].concat());
        change(&mut sample);
        let levels = sample.overviews.len();
        let path = sample.write(folder.path(), "a.tif");
        let what = format!("{} {options:?} {further:?}", T::DATA_TYPE);
        for level in [None].into_iter().chain((0..levels).map(Some)) {
            compare::<T>(&path, level, &what);
        }
    }
}

/// The types whose compressions and predictors are those of all others too.
fn typical(further: &[(&'static str, &'static str)]) {
    every_compression::<u8>(further, |_| {});
    every_compression::<i16>(further, |_| {});
    every_compression::<u64>(further, |_| {});
    every_compression::<f32>(further, |_| {});
}

#[test]
fn every_compression_predictor_interleave_and_type_reads_as_gdal_reads_it() {
    every_compression::<u8>(&[], |_| {});
    every_compression::<u16>(&[], |_| {});
    every_compression::<i16>(&[], |_| {});
    every_compression::<u32>(&[], |_| {});
    every_compression::<i32>(&[], |_| {});
    every_compression::<u64>(&[], |_| {});
    every_compression::<i64>(&[], |_| {});
    every_compression::<f32>(&[], |_| {});
    every_compression::<f64>(&[], |_| {});
}

#[test]
fn big_endian_files_read_as_gdal_reads_them() {
    typical(&[("ENDIANNESS", "BIG")]);
}

#[test]
fn big_tiffs_read_as_gdal_reads_them() {
    typical(&[("BIGTIFF", "YES")]);
}

#[test]
fn sparse_tiles_read_as_gdal_reads_them() {
    fn with_empty_tiles<T: Cell>(sample: &mut Sample<T>) {
        sample.bands.iter_mut().for_each(|band| band[..SIZE.0 * 32].fill(T::default()));
        sample.nodata = Some(0.0);
    }
    every_compression::<u8>(&[("SPARSE_OK", "TRUE")], with_empty_tiles);
    every_compression::<i16>(&[("SPARSE_OK", "TRUE")], with_empty_tiles);
    every_compression::<f32>(&[("SPARSE_OK", "TRUE")], with_empty_tiles);
}

#[test]
fn overviews_read_as_gdal_reads_them() {
    every_compression::<u8>(&[], |sample| sample.overviews = vec![2, 4]);
    every_compression::<u16>(&[], |sample| sample.overviews = vec![2, 4]);
    every_compression::<f64>(&[], |sample| sample.overviews = vec![2, 4]);
}

#[test]
fn a_mask_in_the_file_reads_as_gdal_reads_it() {
    fn with_mask<T: Cell>(sample: &mut Sample<T>) {
        sample.mask = Some((0..SIZE.0 * SIZE.1).map(|at| if at % 7 < 3 { 0 } else { 255 }).collect());
    }
    every_compression::<u8>(&[], with_mask);
    every_compression::<u16>(&[], with_mask);
    every_compression::<f32>(&[], with_mask);
}
