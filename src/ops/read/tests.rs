//! The op on small files, with values that the tests state.

use std::path::{Path, PathBuf};

use ndarray::{Array2, arr2};
use serde_json::json;

use super::*;
use crate::contract::{Asset, AssetSet, AssetShape, Lineage, Location};
use crate::ops::testing;
use crate::raster::sample::Sample;
use crate::raster::{BandPixels, DataType, Header, Member, Pixel, Validity};

/// The op with options as a pipeline writes them.
fn compiled(options: &str) -> Arc<dyn Op> {
    testing::compile(&ENTRY, options)
}

/// An item of local files, one asset each.
fn item(assets: &[(&str, &Path)]) -> Item {
    let asset = |(name, path): &(&str, &Path)| Asset {
        name: (*name).to_owned(),
        location: Location::Local(path.to_path_buf()),
        size: None,
        version: None,
        metadata: Arc::default(),
    };
    let set = AssetSet {
        id: "scene".into(),
        properties: Arc::default(),
        assets: assets.iter().map(asset).collect(),
    };
    Item {
        id: "scene".into(),
        properties: Arc::default(),
        lineage: Lineage::default(),
        payload: Payload::Assets(vec![set]),
    }
}

/// What the engine learns of the item's files.
fn input(assets: &[(&str, &Path)]) -> Shape {
    let shape = |(name, path): &(&str, &Path)| AssetShape {
        member: 0,
        name: (*name).to_owned(),
        size: None,
        is_local: true,
        header: Some(Arc::new(Header::of_file(path).unwrap())),
        prefix: None,
        foreseen: None,
        placed: None,
    };
    Shape { assets: assets.iter().map(shape).collect(), ..Shape::default() }
}

/// The member that the op makes, as the engine runs it.
fn read(options: &str, assets: &[(&str, &Path)], wanted: Option<Window>) -> Result<Member, Failure> {
    let context = ComputeContext { input: Arc::new(input(assets)), ..testing::context(wanted.as_slice()) };
    let computed = testing::computer(compiled(options)).compute(item(assets), &context)?;
    Ok(testing::members(computed).remove(0))
}

fn shape(options: &str, assets: &[(&str, &Path)]) -> Result<MemberShape, Failure> {
    compiled(options).shape(&input(assets), &item(assets)).map(|mut shape| shape.members.remove(0))
}

fn pixels<T: Pixel>(values: Array2<T>) -> BandPixels {
    T::wrap(values.into_shared())
}

fn names(member: &Member) -> Vec<&str> {
    member.bands.iter().map(|band| band.description.name.as_str()).collect()
}

/// A folder with `fine.tif`, 4 × 4 pixels of 10 m, values 0 to 15, and `coarse.tif`, 2 × 2 of 20 m, values 1 to 4.
fn two_resolutions() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let fine = Sample::new((4, 4), vec![(0..16_u16).collect()]).write(folder.path(), "fine.tif");
    let mut coarse = Sample::new((2, 2), vec![vec![1_u8, 2, 3, 4]]);
    coarse.pixel = 20.0;
    let coarse = coarse.write(folder.path(), "coarse.tif");
    (folder, fine, coarse)
}

#[test]
fn bands_come_in_the_order_of_their_declaration() {
    let folder = tempfile::tempdir().unwrap();
    let path = Sample::new((1, 1), vec![vec![1_u8], vec![2], vec![3]]).write(folder.path(), "a.tif");
    let options = "{ bands = { nir = 3, blue = 1 } }";
    let member = read(options, &[("data", &path)], None).unwrap();
    assert_eq!(names(&member), ["nir", "blue"]);
    assert_eq!(member.bands[0].pixels, pixels(arr2(&[[3_u8]])));
    assert_eq!(member.bands[1].pixels, pixels(arr2(&[[1_u8]])));
    assert_eq!(compiled(options).bands(&None).unwrap().unwrap(), ["nir", "blue"]);
}

#[test]
fn without_bands_all_are_read_under_their_own_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut sample = Sample::new((1, 1), vec![vec![1_u8], vec![2], vec![3]]);
    sample.descriptions = vec!["red", "same", "same"];
    let path = sample.write(folder.path(), "a.tif");
    assert_eq!(names(&read("{}", &[("data", &path)], None).unwrap()), ["red", "band2", "band3"]);
    let two = read("{}", &[("one", &path), ("two", &path)], None).unwrap();
    assert_eq!(names(&two)[2..4], ["one_band3", "two_red"]);
}

#[test]
fn a_coarser_band_is_doubled_onto_the_grid_of_the_finer() {
    let (_folder, fine, coarse) = two_resolutions();
    let assets = [("fine", fine.as_path()), ("coarse", coarse.as_path())];
    let options = "{ bands = { a = 'fine', b = 'coarse' } }";
    let member = read(options, &assets, None).unwrap();
    assert_eq!((member.grid.width, member.grid.geotransform[1]), (4, 10.0));
    assert_eq!(
        member.bands[1].pixels,
        pixels(arr2(&[[1_u8, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]))
    );
    assert_eq!(member.bands[1].validity, Validity::All);
}

#[test]
fn the_grid_can_be_that_of_another_asset() {
    let (_folder, fine, coarse) = two_resolutions();
    let assets = [("fine", fine.as_path()), ("coarse", coarse.as_path())];
    let options = "{ bands = { a = { asset = 'fine', resampling = 'average' } }, grid = 'coarse' }";
    let member = read(options, &assets, None).unwrap();
    // (0 + 1 + 4 + 5) / 4 = 2.5 rounds to 3; so do 4.5, 10.5 and 12.5, away from zero.
    assert_eq!(member.bands[0].pixels, pixels(arr2(&[[3_u16, 5], [11, 13]])));
}

#[test]
fn a_window_is_the_same_part_of_the_whole() {
    let (_folder, fine, coarse) = two_resolutions();
    let assets = [("fine", fine.as_path()), ("coarse", coarse.as_path())];
    let options = "{ bands = { a = 'fine', b = { asset = 'coarse', resampling = 'bilinear' } } }";
    let whole = read(options, &assets, None).unwrap();
    let window = Window { col: 1, row: 2, width: 2, height: 1 };
    let part = read(options, &assets, Some(window)).unwrap();
    assert_eq!(part.window, window);
    let (BandPixels::Uint16(all), BandPixels::Uint16(some)) = (&whole.bands[0].pixels, &part.bands[0].pixels)
    else {
        panic!("uint16")
    };
    assert_eq!(some, all.slice(ndarray::s![2..3, 1..3]));
    let (BandPixels::Uint8(all), BandPixels::Uint8(some)) = (&whole.bands[1].pixels, &part.bands[1].pixels)
    else {
        panic!("uint8")
    };
    assert_eq!(some, all.slice(ndarray::s![2..3, 1..3]));
}

#[test]
fn needs_name_the_pixels_of_each_file_and_nothing_of_files_beyond_the_window() {
    let (folder, fine, coarse) = two_resolutions();
    // Two pixels of 10 m at the upper left corner of the others.
    let corner = Sample::new((2, 2), vec![vec![0_u8; 4]]).write(folder.path(), "corner.tif");
    let assets = [("fine", fine.as_path()), ("coarse", coarse.as_path()), ("corner", corner.as_path())];
    let options = "{ bands = { a = 'fine', b = 'coarse', c = 'corner' } }";
    let op = compiled(options);
    let output = op.shape(&input(&assets), &item(&assets)).unwrap();
    let wanted = Window { col: 2, row: 3, width: 2, height: 1 };
    let needs = op.asset_needs(&[wanted], &input(&assets), &output).unwrap();
    let need = |name: &str, window| AssetNeed {
        member: 0,
        name: name.into(),
        bands: vec![1],
        window,
        overview: None,
    };
    let pixel = Window { col: 1, row: 1, width: 1, height: 1 };
    assert_eq!(needs, [need("fine", wanted), need("coarse", pixel)]);
    let member = read(options, &assets, Some(wanted)).unwrap();
    assert!(!member.bands[2].validity.is_valid(0, 0), "the third file does not reach the window");
}

#[test]
fn max_size_reads_an_overview() {
    let folder = tempfile::tempdir().unwrap();
    let mut sample = Sample::new((64, 32), vec![vec![7_u8; 2048]]).tiled(&[]);
    sample.overviews = vec![2, 4];
    let path = sample.write(folder.path(), "a.tif");
    let options = "{ max-size = 20 }";
    let member = shape(options, &[("data", &path)]).unwrap();
    assert_eq!((member.grid.width, member.grid.height), (20, 10));
    assert_eq!(member.grid.geotransform[1], 32.0, "640 m over 20 columns");
    let op = compiled(options);
    let input = input(&[("data", &path)]);
    let needs = op.asset_needs(&[], &input, &Shape::raster(vec![member])).unwrap();
    assert_eq!((needs[0].overview, needs[0].window.width), (Some(0), 32), "16 columns would be too few");
    let read = read(options, &[("data", &path)], None).unwrap();
    assert_eq!(read.bands[0].pixels, pixels(Array2::from_elem((10, 20), 7_u8)));
}

#[test]
fn scaling_is_applied_once_and_nodata_stays_nodata() {
    let folder = tempfile::tempdir().unwrap();
    let mut sample = Sample::new((3, 1), vec![vec![0_u16, 1000, 11000]]);
    sample.nodata = Some(0.0);
    sample.scaling = Some((0.0001, -0.1));
    let path = sample.write(folder.path(), "a.tif");
    let assets = [("data", path.as_path())];
    let scaled = read("{ scaling = 'file' }", &assets, None).unwrap();
    let BandPixels::Float32(values) = &scaled.bands[0].pixels else { panic!("float32") };
    assert_eq!((values[(0, 1)], values[(0, 2)]), (0.0, 1.0));
    assert!(!scaled.bands[0].validity.is_valid(0, 0) && scaled.bands[0].validity.is_valid(0, 1));
    assert_eq!(scaled.bands[0].description.scale, 1.0);
    assert_eq!(shape("{ scaling = 'file' }", &assets).unwrap().bands[0].data_type, DataType::Float32);
    let stored = read("{}", &assets, None).unwrap();
    assert_eq!(stored.bands[0].pixels, pixels(arr2(&[[0_u16, 1000, 11000]])));
    assert_eq!(stored.bands[0].description.scale, 0.0001);
}

#[test]
fn nodata_can_be_given_for_files_that_do_not_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = Sample::new((2, 1), vec![vec![5_i16, 6]]).write(folder.path(), "a.tif");
    let member = read("{ nodata = 6 }", &[("data", &path)], None).unwrap();
    assert!(member.bands[0].validity.is_valid(0, 0) && !member.bands[0].validity.is_valid(0, 1));
    assert_eq!(member.bands[0].description.nodata.as_deref(), Some("6"));
    let failure = read("{ nodata = 'nan' }", &[("data", &path)], None).unwrap_err();
    assert!(failure.message.contains("nodata `nan` is not representable in `int16`"), "{failure}");
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let (_folder, fine, coarse) = two_resolutions();
    let two = [("fine", fine.as_path()), ("coarse", coarse.as_path())];
    let message = |options: &str, assets: &[(&str, &Path)]| shape(options, assets).unwrap_err().message;
    let no_band = format!("band `a`: `{}` has no band 2; it has 1", fine.display());
    assert_eq!(message("{ bands = { a = 2 } }", &two[..1]), no_band);
    assert!(message("{ bands = { a = 1 } }", &two).contains("write { asset = \"fine\", band = 1 }"));
    assert_eq!(
        message("{ bands = { a = 'B08' } }", &two),
        "band `a`: the item has no asset `B08`; it has `fine`, `coarse`"
    );
    assert!(message("{ grid = 'B08' }", &two).starts_with("`grid`: the item has no asset `B08`"));
}

#[test]
fn files_in_two_systems_are_not_brought_together() {
    let (folder, fine, _) = two_resolutions();
    let mut other = Sample::new((4, 4), vec![vec![0_u8; 16]]);
    other.epsg = 32633;
    let other = other.write(folder.path(), "other.tif");
    let failure = shape("{}", &[("fine", &fine), ("other", &other)]).unwrap_err();
    assert!(failure.message.contains("different coordinate reference systems"), "{failure}");
    assert!(failure.message.contains("`warp` it"), "{failure}");
}

#[test]
fn a_remote_file_needs_a_fetch_and_its_secrets_stay_secret() {
    let mut item = item(&[]);
    let url = url::Url::parse("https://user:word@host.example/a.tif?token=hidden").unwrap();
    let Payload::Assets(sets) = &mut item.payload else { panic!("assets") };
    sets[0].assets.push(Asset {
        name: "data".into(),
        location: Location::Remote(url),
        size: None,
        version: None,
        metadata: Arc::default(),
    });
    let failure = testing::computer(compiled("{}")).compute(item, &testing::context(&[])).unwrap_err();
    assert_eq!(
        failure.message,
        "`https://host.example/a.tif` is remote and none of it is here; add a `fetch` stage before `read`"
    );
}

#[test]
fn scratch_counts_what_is_resampled_and_not_what_is_kept() {
    let (_folder, fine, coarse) = two_resolutions();
    let op = compiled("{}");
    let scratch = |assets: &[(&str, &Path)]| {
        let output = op.shape(&input(assets), &item(assets)).unwrap();
        op.scratch(&input(assets), &output)
    };
    // One strip of 4 × 4 pixels of 2 bytes, compressed, decoded and taken out.
    assert_eq!(scratch(&[("fine", &fine)]), 3 * 16 * 2);
    // The same, being more than a strip of 2 × 2 bytes three times, and 4 pixels of one byte with a mask of one byte.
    assert_eq!(scratch(&[("fine", &fine), ("coarse", &coarse)]), 96);
}

#[test]
fn only_assets_that_are_named_are_read() {
    let assets = |options: &str| compiled(options).reads_assets();
    assert_eq!(
        assets("{ bands = { r = 'B04', n = { asset = 'B08' } }, grid = 'B02' }").unwrap(),
        ["B02", "B04", "B08"]
    );
    assert_eq!(assets("{ bands = { r = 1 } }"), None);
    assert_eq!(assets("{}"), None);
}

#[test]
fn faults_stand_at_what_they_concern() {
    for (options, marked, words) in [
        ("{ band = 1 }", "band", "`band`"),
        ("{ bands = { a = 0 } }", "a", "count from 1"),
        ("{ bands = { a = -1 } }", "-1", "count from 1"),
        ("{ bands = {} }", "{}", "names no band"),
        ("{ bands = { a = { asset = 'x', bnd = 1 } } }", "bnd", "`bnd`"),
        ("{ bands = { a = { asset = 'x', resampling = 'near' } } }", "'near'", "`near`"),
        ("{ max-size = 0 }", "0", "at least 1"),
        ("{ scaling = 'auto' }", "'auto'", "`auto`"),
        ("{ nodata = 'none' }", "'none'", "`none`"),
    ] {
        let faults = testing::faults(&ENTRY, options);
        assert_eq!(faults.len(), 1, "{options}");
        assert_eq!(faults[0].0, marked, "{options}: {}", faults[0].1.message);
        assert!(faults[0].1.message.contains(words), "{options}: {}", faults[0].1.message);
    }
}

#[test]
fn the_manifest_holds_every_option_and_the_order_of_bands() {
    let op = compiled(
        "{ bands = { b = { asset = 'x', band = 2, resampling = 'cubic-spline' }, a = 'y' }, \
         grid = 'x', scaling = 'stac', nodata = -9999, max-size = 512 }",
    );
    let b = json!(["b", { "asset": "x", "band": 2, "resampling": "cubic-spline" }]);
    let a = json!(["a", { "asset": "y", "band": null, "resampling": "nearest" }]);
    let expected =
        json!({ "bands": [b, a], "grid": "x", "scaling": "stac", "nodata": "-9999", "max-size": 512 });
    assert_eq!(op.manifest(), expected);
}

#[test]
fn the_catalogue_scales_and_names_nodata_where_it_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = Sample::new((2, 1), vec![vec![0_u16, 3000]]).write(folder.path(), "a.tif");
    let mut item = item(&[("data", &path)]);
    let Payload::Assets(sets) = &mut item.payload else { panic!("assets") };
    let metadata = json!({ "raster:bands": [{ "scale": 0.001, "offset": -1, "nodata": 0 }] });
    sets[0].assets[0].metadata = Arc::new(metadata.as_object().unwrap().clone());
    let context = ComputeContext { input: Arc::new(input(&[("data", &path)])), ..testing::context(&[]) };
    let computed = testing::computer(compiled("{ scaling = 'stac' }")).compute(item, &context).unwrap();
    assert_eq!(testing::values(&testing::members(computed)[0].bands[0]), [None, Some(2.0)]);
}

#[test]
fn the_example_of_the_manual_compiles() {
    compiled(ENTRY.example);
}
