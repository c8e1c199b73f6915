//! Files as they are opened, described and decoded, with values that the tests state.

mod matrix;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use ndarray::Array2;

use super::sample::Sample;
use super::*;

/// 40 × 40 values `row × 40 + column + step`.
fn ramp(step: u16) -> Vec<u16> {
    (0..1600).map(|at| at + step).collect()
}

fn open(source: Source<'_>) -> Opened {
    match Opened::open(source).unwrap() {
        Answer::Known(opened) => opened,
        Answer::Missing(ranges) => panic!("missing {ranges:?}"),
    }
}

fn header(opened: &Opened) -> Header {
    match Header::of(opened).unwrap() {
        Answer::Known(header) => header,
        Answer::Missing(ranges) => panic!("missing {ranges:?}"),
    }
}

fn request(bands: &[usize], window: Window) -> ReadRequest<'_> {
    ReadRequest { bands, window, overview: None, nodata: None, cancelled: &|| false }
}

fn read(path: &Path, bands: &[usize]) -> Vec<Band> {
    let opened = open(Source::Local(path));
    let header = header(&opened);
    opened.read(&header, &request(bands, header.grid.whole())).unwrap()
}

fn mask(band: &Band) -> Vec<u8> {
    let (rows, columns) = band.pixels.dim();
    Array2::from_shape_fn((rows, columns), |at| u8::from(band.validity.is_valid(at.0, at.1)))
        .into_raw_vec_and_offset()
        .0
}

/// The file with only these of its bytes.
fn sparse(path: &Path, ranges: &[std::ops::Range<u64>]) -> FileBytes {
    let all = Bytes::from(fs::read(path).unwrap());
    let part = |range: &std::ops::Range<u64>| {
        (range.start, all.slice(range.start as usize..(range.end as usize).min(all.len())))
    };
    FileBytes {
        name: "scene.tif".into(),
        size: all.len() as u64,
        segments: ranges::merged(ranges.to_vec()).iter().map(part).collect(),
    }
}

/// Asks until the header is there, as `fetch` does; returns what had to be at hand.
fn header_ranges(path: &Path) -> Vec<std::ops::Range<u64>> {
    let mut at_hand = ranges::merged(vec![0..32, 32..64]);
    loop {
        match Header::of_bytes(&sparse(path, &at_hand)).unwrap() {
            Answer::Known(_) => return at_hand,
            Answer::Missing(missing) => {
                let before = at_hand.clone();
                at_hand.extend(missing);
                at_hand = ranges::merged(at_hand);
                assert_ne!(at_hand, before, "every answer asks for something new");
            }
        }
    }
}

#[test]
fn a_header_asks_for_the_bytes_that_it_needs_and_for_no_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let path = Sample::new((40, 40), vec![ramp(0)]).tiled(&[]).write(folder.path(), "a.tif");
    let at_hand: u64 = header_ranges(&path).iter().map(|range| range.end - range.start).sum();
    // GDAL looks at the first 1024 bytes of any file; nine tiles of 16 × 16 × 2 bytes are pixels.
    assert!(at_hand <= 1024 + 9 * 512 / 10, "{at_hand} bytes of {}", fs::metadata(&path).unwrap().len());
}

#[test]
fn a_window_of_a_remote_file_decodes_from_the_ranges_of_its_tiles() {
    let folder = tempfile::tempdir().unwrap();
    for options in [
        &[("INTERLEAVE", "BAND")][..],
        &[("INTERLEAVE", "PIXEL"), ("COMPRESS", "DEFLATE"), ("PREDICTOR", "2")],
        &[("INTERLEAVE", "BAND"), ("COMPRESS", "LZW"), ("PREDICTOR", "2")],
        &[("INTERLEAVE", "PIXEL"), ("COMPRESS", "ZSTD")],
    ] {
        let path =
            Sample::new((40, 40), vec![ramp(0), ramp(5000)]).tiled(options).write(folder.path(), "b.tif");
        // Columns 20 to 29 and rows 3 to 12 lie in the second tile of the first row alone.
        let window = Window { col: 20, row: 3, width: 10, height: 10 };
        let mut at_hand = header_ranges(&path);
        let need = BlockNeed { bands: vec![1, 2], window, overview: None };
        let blocks = match block_ranges(&sparse(&path, &at_hand), std::slice::from_ref(&need)).unwrap() {
            BlockRanges::Blocks(blocks) => blocks,
            other => panic!("{other:?}"),
        };
        assert!(blocks.len() <= 2, "one tile, or one for each band: {blocks:?}");
        at_hand.extend(blocks);
        let bytes = sparse(&path, &at_hand);
        let opened = open(Source::Memory(&bytes));
        let bands = opened.read(&header(&opened), &request(&[2, 1], window)).unwrap();
        let expected =
            |step: u16| Array2::from_shape_fn((10, 10), |(r, c)| (r as u16 + 3) * 40 + c as u16 + 20 + step);
        assert_eq!(bands[0].pixels, Pixel::wrap(expected(5000).into_shared()), "{options:?}");
        assert_eq!(bands[1].pixels, Pixel::wrap(expected(0).into_shared()), "{options:?}");
    }
}

#[test]
fn bytes_that_are_not_at_hand_are_named_and_never_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = Sample::new((40, 40), vec![ramp(0)]).tiled(&[]).write(folder.path(), "c.tif");
    let bytes = sparse(&path, &header_ranges(&path));
    let opened = open(Source::Memory(&bytes));
    let result =
        opened.read(&header(&opened), &request(&[1], Window { col: 39, row: 39, width: 1, height: 1 }));
    assert!(matches!(result, Err(RasterError::Missing { .. })), "{result:?}");
}

#[test]
fn served_files_are_read_by_many_threads_and_gone_when_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path =
        Sample::new((40, 40), vec![ramp(0)]).tiled(&[("COMPRESS", "LZW")]).write(folder.path(), "d.tif");
    let bytes = Arc::new(FileBytes::whole("d.tif", Bytes::from(fs::read(&path).unwrap())));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let opened = open(Source::Memory(&bytes));
                    let bands = opened.read(
                        &header(&opened),
                        &request(&[1], Window { col: 39, row: 39, width: 1, height: 1 }),
                    );
                    assert_eq!(
                        bands.unwrap()[0].pixels,
                        Pixel::wrap(Array2::from_elem((1, 1), 1599_u16).into_shared())
                    );
                }
            });
        }
    });
    let served = ffi::files::ServedFile::of(bytes.as_ref().clone());
    let gone = served.path().to_owned();
    assert!(gdal::Dataset::open(&gone).is_ok());
    drop(served);
    assert!(message::listen(|| gdal::Dataset::open(&gone)).0.is_err());
}

#[test]
fn strips_go_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut sample = Sample::new((40, 40), vec![ramp(0)]);
    sample.options = vec![("BLOCKYSIZE", "4")];
    let path = sample.write(folder.path(), "strips.tif");
    let need =
        BlockNeed { bands: vec![1], window: Window { col: 0, row: 0, width: 1, height: 1 }, overview: None };
    let bytes = FileBytes::whole("strips.tif", Bytes::from(fs::read(path).unwrap()));
    assert_eq!(block_ranges(&bytes, &[need]).unwrap(), BlockRanges::WholeFile(Untiled::Strips));
}

#[test]
fn sparse_tiles_need_no_bytes_and_are_zeros_or_nodata() {
    let folder = tempfile::tempdir().unwrap();
    for (nodata, valid) in [(None, 1), (Some(0.0), 0)] {
        let mut values = vec![0_u16; 1600];
        values[0] = 5;
        let mut sample =
            Sample::new((40, 40), vec![values]).tiled(&[("SPARSE_OK", "TRUE"), ("COMPRESS", "DEFLATE")]);
        sample.nodata = nodata;
        let path = sample.write(folder.path(), "sparse.tif");
        let bytes = FileBytes::whole("sparse.tif", Bytes::from(fs::read(&path).unwrap()));
        let window = Window { col: 16, row: 16, width: 8, height: 8 };
        let need = BlockNeed { bands: vec![1], window, overview: None };
        assert_eq!(block_ranges(&bytes, &[need]).unwrap(), BlockRanges::Blocks(Vec::new()));
        let opened = open(Source::Memory(&bytes));
        let bands = opened.read(&header(&opened), &request(&[1], window)).unwrap();
        assert_eq!(bands[0].pixels, Pixel::wrap(Array2::<u16>::zeros((8, 8)).into_shared()));
        assert_eq!(mask(&bands[0]), [valid; 64]);
    }
}

#[test]
fn the_mask_of_a_file_holds_for_all_bands_and_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut sample = Sample::new((2, 1), vec![vec![1_u8, 2], vec![3, 4]]);
    sample.mask = Some(vec![255, 0]);
    let bands = read(&sample.write(folder.path(), "mask.tif"), &[1, 2]);
    let [Validity::Mask(one), Validity::Mask(other)] = [&bands[0].validity, &bands[1].validity] else {
        panic!("both are masked")
    };
    assert!(Arc::ptr_eq(one, other));
    assert_eq!(mask(&bands[0]), [1, 0]);
}

#[test]
fn own_nodata_counts_beside_the_mask_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut sample = Sample::new((3, 1), vec![vec![7_i16, 8, 9], vec![1, 2, 7]]);
    sample.mask = Some(vec![255, 0, 255]);
    sample.nodata = Some(7.0);
    let bands = read(&sample.write(folder.path(), "both.tif"), &[1, 2]);
    assert_eq!(mask(&bands[0]), [0, 0, 1]);
    assert_eq!(mask(&bands[1]), [1, 0, 0]);
}

#[test]
fn transparent_pixels_are_invalid_in_the_other_bands() {
    let folder = tempfile::tempdir().unwrap();
    let mut sample = Sample::new((3, 1), vec![vec![1_u8, 2, 3], vec![0, 128, 255]]);
    sample.has_alpha = true;
    let path = sample.write(folder.path(), "alpha.tif");
    assert_eq!(mask(&read(&path, &[1])[0]), [0, 1, 1]);
    let both = read(&path, &[2, 1]);
    assert_eq!(both[0].validity, Validity::All);
    assert_eq!(mask(&both[1]), [0, 1, 1]);
}

#[test]
fn signed_bytes_are_negative() {
    let folder = tempfile::tempdir().unwrap();
    let mut sample = Sample::new((2, 1), vec![vec![255_u8, 128]]);
    sample.options = vec![("PIXELTYPE", "SIGNEDBYTE")];
    sample.nodata = Some(-128.0);
    let bands = read(&sample.write(folder.path(), "int8.tif"), &[1]);
    assert_eq!(
        bands[0].pixels,
        Pixel::wrap(Array2::from_shape_vec((1, 2), vec![-1_i8, -128]).unwrap().into_shared())
    );
    assert_eq!(mask(&bands[0]), [1, 0]);
}

#[test]
fn nodata_that_the_type_cannot_have_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let mut sample = Sample::new((3, 1), vec![vec![0_u8, 241, 255]]);
    sample.nodata = Some(-9999.0);
    let path = sample.write(folder.path(), "odd.tif");
    let header = Header::of_file(&path).unwrap();
    assert_eq!(header.warnings(), ["nodata -9999 not representable in uint8: no pixel is masked by it"]);
    let bands = read(&path, &[1]);
    assert_eq!(bands[0].validity, Validity::All);
    assert_eq!(bands[0].description.nodata, None);
}

#[test]
fn sixty_four_bits_stay_exact() {
    let folder = tempfile::tempdir().unwrap();
    let path = Sample::new((1, 1), vec![vec![(1_u64 << 53) + 1]]).write(folder.path(), "u64.tif");
    let bands = read(&path, &[1]);
    assert_eq!(
        bands[0].pixels,
        Pixel::wrap(Array2::from_elem((1, 1), 9_007_199_254_740_993_u64).into_shared())
    );
}

#[test]
fn overviews_are_levels_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut sample = Sample::new((40, 40), vec![ramp(0)]).tiled(&[]);
    sample.overviews = vec![2];
    let path = sample.write(folder.path(), "levels.tif");
    let opened = open(Source::Local(&path));
    let header = header(&opened);
    assert_eq!(header.bands[0].overviews, [(20, 20)]);
    let window = Window { col: 10, row: 0, width: 1, height: 1 };
    let bands = opened.read(&header, &ReadRequest { overview: Some(0), ..request(&[1], window) }).unwrap();
    let BandPixels::Uint16(array) = &bands[0].pixels else { panic!("uint16") };
    assert!([20, 21, 60, 61].contains(&array[(0, 0)]), "one of the four pixels beneath: {}", array[(0, 0)]);
}

#[test]
fn the_header_tells_what_the_file_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut sample = Sample::new((3, 2), vec![vec![0_i16; 6], vec![0; 6]]);
    sample.descriptions = vec!["red", "nir"];
    sample.scaling = Some((0.0001, -0.1));
    sample.nodata = Some(-32768.0);
    let header = Header::of_file(&sample.write(folder.path(), "told.tif")).unwrap();
    assert_eq!(header.driver, "GTiff");
    assert_eq!(header.georeference, Georeference::Affine);
    assert_eq!((header.grid.width, header.grid.height), (3, 2));
    assert_eq!(header.grid.geotransform, [500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0]);
    assert!(header.grid.crs.as_ref().unwrap().wkt().contains("UTM zone 32N"));
    let nir = &header.bands[1];
    assert_eq!((nir.data_type, nir.gaps, nir.is_alpha), (DataType::Int16, Gaps::ByValue, false));
    assert_eq!(nir.description.name, "nir");
    assert_eq!(nir.description.nodata.as_deref(), Some("-32768"));
    assert_eq!((nir.description.scale, nir.description.offset), (0.0001, -0.1));
}

#[test]
fn what_is_no_raster_is_called_what_it_looks_like() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |content: &[u8]| {
        let path = folder.path().join("not.tif");
        fs::write(&path, content).unwrap();
        Header::of_file(&path).unwrap_err().to_string()
    };
    assert!(refusal(b"").contains("empty (0 bytes)"));
    assert!(refusal(b"<!doctype html><title>Log in</title>").contains("looks like an HTML page"));
    assert!(refusal(b"version https://git-lfs.github.com/spec/v1\n").contains("git-lfs pointer"));
    assert!(refusal(b"II*\0\xff\xff\xff\x7f").contains("damaged or cut off at 8 bytes"));
    let gone = Header::of_file(&folder.path().join("gone.tif")).unwrap_err();
    assert!(matches!(gone, RasterError::Unreachable { .. }), "{gone}");
}

#[test]
fn a_damaged_tile_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = Sample::new((40, 40), vec![ramp(0)])
        .tiled(&[("COMPRESS", "DEFLATE")])
        .write(folder.path(), "bad.tif");
    let whole = FileBytes::whole("bad.tif", Bytes::from(fs::read(&path).unwrap()));
    let need =
        BlockNeed { bands: vec![1], window: Window { col: 0, row: 0, width: 1, height: 1 }, overview: None };
    let BlockRanges::Blocks(blocks) = block_ranges(&whole, &[need]).unwrap() else { panic!("tiles") };
    let mut content = fs::read(&path).unwrap();
    content[blocks[0].start as usize..blocks[0].end as usize].fill(0xA5);
    fs::write(&path, content).unwrap();
    let opened = open(Source::Local(&path));
    let header = header(&opened);
    let error = opened.read(&header, &request(&[1], header.grid.whole())).unwrap_err();
    assert!(error.to_string().contains("bad.tif"), "{error}");
    assert!(error.to_string().contains("IReadBlock failed at X offset 0, Y offset 0"), "{error}");
    let sound = Window { col: 16, row: 16, width: 16, height: 16 };
    assert!(opened.read(&header, &request(&[1], sound)).is_ok());
}

#[test]
fn odd_names_open() {
    let folder = tempfile::tempdir().unwrap();
    let sample = Sample::new((1, 1), vec![vec![1_u8]]);
    for name in [
        "a b.tif",
        "a#b.tif",
        "a%20b.tif",
        "a?b.tif",
        "a'b\"c.tif",
        "é中.tif",
        "-a.tif",
        "a:b.tif",
        "a&amp;.tif",
    ] {
        let path = sample.write(folder.path(), name);
        assert!(Header::of_file(&path).is_ok(), "{name}");
        let bytes = FileBytes::whole(path.to_string_lossy().as_ref(), Bytes::from(fs::read(&path).unwrap()));
        assert!(matches!(Header::of_bytes(&bytes), Ok(Answer::Known(_))), "{name}");
    }
}

#[test]
fn a_vrt_opens_from_disk_and_not_from_a_download() {
    let folder = tempfile::tempdir().unwrap();
    Sample::new((1, 1), vec![vec![9_u8]]).write(folder.path(), "one.tif");
    let vrt = folder.path().join("one.vrt");
    let text = "<VRTDataset rasterXSize=\"1\" rasterYSize=\"1\"><VRTRasterBand dataType=\"Byte\" band=\"1\">\
                <SimpleSource><SourceFilename relativeToVRT=\"1\">one.tif</SourceFilename></SimpleSource>\
                </VRTRasterBand></VRTDataset>";
    fs::write(&vrt, text).unwrap();
    assert_eq!(read(&vrt, &[1])[0].pixels, Pixel::wrap(Array2::from_elem((1, 1), 9_u8).into_shared()));
    let bytes = FileBytes::whole("one.vrt", Bytes::from(text));
    let foreign = [Source::Memory(&bytes), Source::Downloaded { path: &vrt, name: "one.vrt" }];
    for source in foreign {
        let error = Opened::open(source).err().expect("a download that names other files");
        assert!(error.to_string().contains("looks like a VRT"), "{error}");
    }
}

#[test]
fn names_of_virtual_files_do_not_open() {
    for name in ["/vsicurl/http://localhost/a.tif", "/vsimem/a.tif"] {
        let error = Header::of_file(Path::new(name)).unwrap_err();
        assert!(matches!(error, RasterError::NotARaster { .. }), "{error}");
    }
}

#[test]
fn a_cancelled_read_ends_as_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = Sample::new((40, 40), vec![ramp(0)]).write(folder.path(), "e.tif");
    let opened = open(Source::Local(&path));
    let header = header(&opened);
    let asked = ReadRequest { cancelled: &|| true, ..request(&[1], header.grid.whole()) };
    assert!(matches!(opened.read(&header, &asked), Err(RasterError::Cancelled)));
}

#[test]
fn what_the_file_does_not_have_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = Sample::new((40, 40), vec![ramp(0)]).write(folder.path(), "f.tif");
    let opened = open(Source::Local(&path));
    let header = header(&opened);
    let none = opened.read(&header, &request(&[2], header.grid.whole())).unwrap_err();
    assert!(none.to_string().ends_with("f.tif` has no band 2; it has 1"), "{none}");
    let beyond =
        opened.read(&header, &request(&[1], Window { col: 39, row: 0, width: 2, height: 1 })).unwrap_err();
    assert!(matches!(beyond, RasterError::Beyond { .. }), "{beyond}");
}
