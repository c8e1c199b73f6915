//! Tests of `mask`.

use super::super::testing::{band, compile, compile_in, faults, item, masked, member, run, shape, values};
use super::*;
use crate::raster::{Grid, crs};

fn valid(band: &Band) -> Vec<u8> {
    values(band).iter().map(|value| u8::from(value.is_some())).collect()
}

/// What stays of five pixels whose quality is 0 (its nodata), 3, 4, 8 and invalid.
fn kept(options: &str) -> Vec<u8> {
    let mut scl = masked(band("scl", &[[0_u8, 3, 4, 8, 9]]), &[[0, 1, 1, 1, 0]]);
    scl.description.nodata = Some("0".into());
    let scene = item(vec![member("a", vec![band("red", &[[1_i16; 5]]), scl])]);
    valid(&run(&compile(&ENTRY, options), scene, &[]).unwrap()[0].bands[0])
}

#[test]
fn drop_and_keep_are_opposites_where_the_band_says_something() {
    assert_eq!(kept(r#"{ drop = { band = "scl", values = [3, 8] } }"#), [0, 0, 1, 0, 0]);
    assert_eq!(kept(r#"{ keep = { band = "scl", values = [3, 8] } }"#), [0, 1, 0, 1, 0]);
    assert_eq!(kept(r#"{ drop = { band = "scl", any-bit = [2] } }"#), [0, 1, 0, 1, 0]);
    assert_eq!(kept(r#"{ keep = { band = "scl", field = [0, 2], values = [3, 0] } }"#), [1, 1, 1, 1, 1]);
    assert_eq!(kept(r#"{ drop = { band = "scl", field = [2, 2], values = [2] } }"#), [0, 1, 1, 0, 0]);
}

#[test]
fn what_is_unknown_is_dropped_but_grows_only_when_it_is_selected() {
    assert_eq!(kept(r#"{ drop = { band = "scl", values = [77], grow = 1 } }"#), [0, 1, 1, 1, 0]);
    assert_eq!(kept(r#"{ drop = { band = "scl", values = [0], grow = 1 } }"#), [0, 0, 1, 0, 0]);
    assert_eq!(kept(r#"{ drop = { band = "scl", values = [3], grow = 1 } }"#), [0, 0, 0, 1, 0]);
    assert_eq!(kept(r#"{ keep = { band = "scl", values = [4], grow = 1 } }"#), [0, 1, 1, 1, 0]);
}

#[test]
fn every_band_is_masked_and_pixels_that_were_invalid_stay_so() {
    let qa = band("qa", &[[1_u16, 0, 0]]);
    let red = masked(band("red", &[[5_u8, 6, 7]]), &[[1, 1, 0]]);
    let scene = item(vec![member("a", vec![red, qa])]);
    let output = run(&compile(&ENTRY, r#"{ drop = { band = "qa", any-bit = [0] } }"#), scene, &[]).unwrap();
    assert_eq!(values(&output[0].bands[0]), [None, Some(6.0), None]);
    assert_eq!(values(&output[0].bands[1]), [None, Some(0.0), Some(0.0)]);
}

#[test]
fn windows_of_any_size_give_the_pixels_of_the_whole() {
    let rows: Vec<[u8; 13]> =
        (0..11).map(|row| std::array::from_fn(|col| u8::from((row * 31 + col * 17) % 37 == 0))).collect();
    let whole = member("a", vec![band("qa", &rows)]);
    let op = compile(&ENTRY, r#"{ drop = { band = "qa", values = [1], grow = 2 } }"#);
    let expected = valid(&run(&op, item(vec![whole.clone()]), &[]).unwrap()[0].bands[0]);
    assert!(expected.contains(&0) && expected.contains(&1));
    for size in [1, 3, 5, 8] {
        for (row, col) in
            (0..11).step_by(size).flat_map(|row| (0..13).step_by(size).map(move |col| (row, col)))
        {
            let window =
                Window { col, row, width: (size as u64).min(13 - col), height: (size as u64).min(11 - row) };
            let found = windowed(&op, &whole, window);
            let at = |index: u64| (row + index / window.width) * 13 + col + index % window.width;
            let wanted: Vec<u8> = (0..window.pixels()).map(|index| expected[at(index) as usize]).collect();
            assert_eq!(valid(&found.bands[0]), wanted, "{window}");
        }
    }
}

/// The op on the region that it asks for, and on nothing more.
fn windowed(op: &Arc<dyn Op>, whole: &Member, window: Window) -> Member {
    let form = shape(&item(vec![whole.clone()]));
    let region = op.region(&[window], &form, &form).unwrap()[0];
    let (rows, cols) = (region.row as usize, region.col as usize);
    let cut = |band: &Band| {
        band.clone().cut(rows..rows + region.height as usize, cols..cols + region.width as usize)
    };
    let input = Member { window: region, bands: whole.bands.iter().map(cut).collect(), ..whole.clone() };
    run(op, item(vec![input]), &[window]).unwrap().remove(0)
}

#[test]
fn rules_that_say_too_little_or_too_much_are_refused_where_they_stand() {
    let cases = [
        ("{ }", "{ }", "expected `drop` or `keep`"),
        (
            r#"{ drop = { band = "q", values = [1] }, keep = { band = "q", values = [2] } }"#,
            r#"{ band = "q", values = [2] }"#,
            "`drop` and `keep` exclude each other",
        ),
        (
            r#"{ drop = { band = "q" } }"#,
            r#"{ band = "q" }"#,
            "expected `values`, `any-bit`, or `field` with `values`",
        ),
        (r#"{ drop = { band = "q", any-bit = [64] } }"#, "64", "expected a bit from 0 to 63, found `64`"),
        (
            r#"{ drop = { band = "q", field = [1, 2] } }"#,
            "[1, 2]",
            "`field` goes with `values`, the values of these bits",
        ),
        (r#"{ drop = { band = "q", field = [0, 2], values = [4] } }"#, "4", "`4` is no value of 2 bits"),
        (
            r#"{ drop = { band = "q", values = [1], grow = 2000 } }"#,
            "2000",
            "expected at most `1024` pixels, found `2000`",
        ),
    ];
    for (options, marked, message) in cases {
        let (text, fault) = faults(&ENTRY, options).remove(0);
        assert_eq!((text.as_str(), fault.message.as_str()), (marked, message), "{options}");
    }
    compile(&ENTRY, ENTRY.example);
}

#[test]
fn bits_of_floats_and_missing_bands_are_refused() {
    let op = compile(&ENTRY, r#"{ drop = { band = "qa", any-bit = [0] } }"#);
    let scene = |name| item(vec![member("a", vec![band(name, &[[1.0_f32]])])]);
    let message = |name| run(&op, scene(name), &[]).unwrap_err().message;
    assert_eq!(message("qa"), "a: band `qa` is `float32`; bits need an integer type");
    assert_eq!(message("q"), "a: no band `qa`, by which `mask` selects");
    let fault = op.bands(&Some(vec!["qb".into()])).unwrap_err().remove(0);
    assert_eq!((fault.message.as_str(), fault.help.as_str()), ("unknown band `qa`", "did you mean `qb`?"));
}

/// A triangle with its corners at (5, 5), (85, 15) and (25, 65) m from the upper left corner of the grid.
const TRIANGLE: &str = r#"{
    "type": "FeatureCollection",
    "crs": { "type": "name", "properties": { "name": "urn:ogc:def:crs:EPSG::32632" } },
    "features": [{ "type": "Feature", "properties": {}, "geometry": { "type": "Polygon", "coordinates":
        [[[500005, 3999995], [500085, 3999985], [500025, 3999935], [500005, 3999995]]] } }]
}"#;

#[test]
fn polygons_drop_and_keep_the_same_pixels_in_windows_of_any_size() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("area.geojson"), TRIANGLE).unwrap();
    let compile = |keys: &str| compile_in(&ENTRY, keys, folder.path()).unwrap();
    let mut whole = member("a", vec![band("red", &[[1_u8; 10]; 8])]);
    whole.grid = Arc::new(Grid { crs: Some(crs::parse("EPSG:32632").unwrap()), ..(*whole.grid).clone() });
    let found = |op: &Arc<dyn Op>| valid(&run(op, item(vec![whole.clone()]), &[]).unwrap()[0].bands[0]);
    let kept = found(&compile(r#"keep = { polygons = "area.geojson" }"#));
    // Row 2 has its centres at 25 m; there the triangle reaches from 11.7 to 73 m, columns 1 (15 m) to 6 (65 m).
    assert_eq!(kept[20..30], [0, 1, 1, 1, 1, 1, 1, 0, 0, 0]);
    let dropped = found(&compile(r#"drop = { polygons = "area.geojson" }"#));
    assert!(kept.iter().zip(&dropped).all(|(kept, dropped)| kept + dropped == 1));
    let touched = found(&compile(r#"keep = { polygons = "area.geojson", all-touched = true }"#));
    assert_eq!(touched[20..30], [0, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
    let grown = compile(r#"drop = { polygons = "area.geojson", grow = 2 }"#);
    let expected = found(&grown);
    assert!(expected.iter().sum::<u8>() < dropped.iter().sum::<u8>());
    for (row, col) in (0..8).step_by(3).flat_map(|row| (0..10).step_by(4).map(move |col| (row, col))) {
        let window = Window { col, row, width: 4.min(10 - col), height: 3.min(8 - row) };
        let part = windowed(&grown, &whole, window);
        let at = |index: u64| ((row + index / window.width) * 10 + col + index % window.width) as usize;
        let wanted: Vec<u8> = (0..window.pixels()).map(|index| expected[at(index)]).collect();
        assert_eq!(valid(&part.bands[0]), wanted, "{window}");
    }
}

#[test]
fn polygons_that_cannot_be_read_end_the_run() {
    let scene = || item(vec![member("a", vec![band("red", &[[1_u8]])])]);
    let failure =
        run(&compile(&ENTRY, r#"{ keep = { polygons = "/nowhere.gpkg" } }"#), scene(), &[]).unwrap_err();
    assert_eq!(failure.class, crate::events::FailureClass::Fatal);
    assert!(failure.message.contains("cannot open `/nowhere.gpkg` as polygons"), "{}", failure.message);
    let (marked, fault) = faults(&ENTRY, r#"{ keep = { band = "q", polygons = "a.gpkg" } }"#).remove(0);
    assert_eq!((marked.as_str(), fault.code), (r#""a.gpkg""#, "conflicting-options"));
}
