//! Pixels as GDAL reads them.

use gdal::Metadata;
use gdal::raster::GdalType;

use super::*;

const COMPRESSIONS: [Compression; 4] =
    [Compression::Deflate(6), Compression::Zstd(3), Compression::Lzw, Compression::None];

/// An image of 37×21 pixels in tiles of 16, and two bands of it that differ, comes back as it was, under every codec.
fn comes_back<T: Pixel + GdalType + std::fmt::Debug>(special: &[T], value: impl Fn(usize) -> T) {
    let mut first: Vec<T> = (0..37 * 21).map(value).collect();
    first[..special.len()].copy_from_slice(special);
    let second: Vec<T> = first.iter().rev().copied().collect();
    let member = member(vec![band("one", 37, &first), band("two", 37, &second)]);
    for compression in COMPRESSIONS {
        let file = open(&encoded(&Settings { compression, ..small() }, &member));
        for (at, pixels) in [&first, &second].into_iter().enumerate() {
            let read =
                file.rasterband(at + 1).unwrap().read_as::<T>((0, 0), (37, 21), (37, 21), None).unwrap();
            assert_eq!(read.data(), pixels.as_slice(), "{compression:?} band {at}");
        }
    }
}

#[test]
fn every_type_comes_back_exactly() {
    comes_back(&[u8::MAX, 0], |at| (at * 7) as u8);
    comes_back(&[u16::MAX, 0], |at| (at * 77) as u16);
    comes_back(&[i16::MIN, i16::MAX], |at| at as i16 - 300);
    comes_back(&[u32::MAX, 0], |at| at as u32 * 99_991);
    comes_back(&[i32::MIN, i32::MAX], |at| at as i32 - 300);
    comes_back(&[u64::MAX, (1 << 53) + 1], |at| at as u64 * 9_007_199_254_740_993);
    comes_back(&[i64::MIN, i64::MAX], |at| at as i64 - 300);
    comes_back(&[f32::MIN, -0.0, f32::INFINITY], |at| (at as f32).sin());
    comes_back(&[f64::MIN, f64::MIN_POSITIVE], |at| (at as f64).sin());
}

/// GDAL 3.6 has no signed bytes of its own: it reads them as unsigned and says so.
#[test]
fn signed_bytes_are_marked_as_signed() {
    let file = open(&encoded(&small(), &member(vec![band("b", 2, &[-1i8, 127, -128, 0])])));
    let band = file.rasterband(1).unwrap();
    let read = band.read_as::<u8>((0, 0), (2, 2), (2, 2), None).unwrap();
    assert_eq!(read.data(), [255, 127, 128, 0]);
    assert_eq!(band.metadata_item("PIXELTYPE", "IMAGE_STRUCTURE").unwrap(), "SIGNEDBYTE");
}

#[test]
fn missing_floats_become_nan_and_missing_integers_their_nodata() {
    let file = open(&encoded(&small(), &member(vec![masked(band("f", 2, &[1f32, 2.0]), &[1, 0], None)])));
    let read = file.rasterband(1).unwrap().read_as::<f32>((0, 0), (2, 1), (2, 1), None).unwrap();
    assert_eq!(read.data()[0], 1.0);
    assert!(read.data()[1].is_nan() && file.rasterband(1).unwrap().no_data_value().is_some_and(f64::is_nan));

    let file = open(&encoded(&small(), &member(vec![masked(band("i", 2, &[1u8, 2]), &[1, 0], Some("7"))])));
    let read = file.rasterband(1).unwrap().read_as::<u8>((0, 0), (2, 1), (2, 1), None).unwrap();
    assert_eq!((read.data(), file.rasterband(1).unwrap().no_data_value()), (&[1, 7][..], Some(7.0)));
}

#[test]
fn integers_without_nodata_get_a_mask_at_every_level() {
    let valid: Vec<u8> = (0..40 * 40).map(|at| u8::from(at % 40 >= 10)).collect();
    let file = open(&encoded(&small(), &member(vec![masked(band("i", 40, &[9u8; 1600]), &valid, None)])));
    let band = file.rasterband(1).unwrap();
    assert!(band.mask_flags().unwrap().is_per_dataset());
    for (level, columns) in
        [(band.open_mask_band().unwrap(), 40), (band.overview(0).unwrap().open_mask_band().unwrap(), 20)]
    {
        let read = level.read_as::<u8>((0, 0), (columns, 1), (columns, 1), None).unwrap();
        let expected: Vec<u8> = (0..columns).map(|col| if col < columns / 4 { 0 } else { 255 }).collect();
        assert_eq!(read.data(), expected);
    }
}

/// 33 columns need two overviews: 17 and 9. The first pixel of each is the mean of those above it.
#[test]
fn overviews_are_means_of_means() {
    let pixels: Vec<f32> = (0..33 * 2).map(|at| (at % 33) as f32).collect();
    let file = open(&encoded(&small(), &member(vec![band("f", 33, &pixels)])));
    let band = file.rasterband(1).unwrap();
    assert_eq!(band.overview_count().unwrap(), 2);
    let first = band.overview(0).unwrap().read_as::<f32>((0, 0), (17, 1), (17, 1), None).unwrap();
    let expected: Vec<f32> = (0..16).map(|col| col as f32 * 2.0 + 0.5).chain([32.0]).collect();
    assert_eq!(first.data(), expected);
    let second = band.overview(1).unwrap().read_as::<f32>((0, 0), (9, 1), (9, 1), None).unwrap();
    assert_eq!(second.data(), [1.5, 5.5, 9.5, 13.5, 17.5, 21.5, 25.5, 29.5, 32.0]);
}

#[test]
fn the_bytes_do_not_depend_on_threads() {
    let pixels: Vec<u16> = (0..200 * 150).map(|at| (at * at % 1009) as u16).collect();
    let member = member(vec![band("b", 200, &pixels)]);
    let form = form(&small(), &member).unwrap();
    let alone = encode(&form, &member, 0, &Cores(true)).unwrap();
    assert_eq!(encode(&form, &member, 5, &Cores(true)).unwrap(), alone);
}
