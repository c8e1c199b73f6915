//! Tests of `stats`.

use super::super::testing::{band, compile, compile_in, computer, context, faults, item, masked, member};
use super::*;
use crate::contract::Row;
use crate::raster::{Member, Window};

fn rows(options: &str, item: Item) -> Vec<Row> {
    let computed = computer(compile(&ENTRY, options)).compute(item, &context(&[])).unwrap();
    rows_of(computed)
}

fn rows_of(item: Item) -> Vec<Row> {
    match item.payload {
        Payload::Rows(rows) => rows,
        other => panic!("no rows: {other:?}"),
    }
}

fn row(pairs: &[(&str, Json)]) -> Row {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// 1 to 25, row by row, 13 in the middle being nodata.
fn five_by_five() -> Member {
    let rows: [[i16; 5]; 5] =
        std::array::from_fn(|row| std::array::from_fn(|col| (row * 5 + col + 1) as i16));
    let mut valid = [[1; 5]; 5];
    valid[2][2] = 0;
    member("five", vec![masked(band("value", &rows), &valid)])
}

/// The windows of an item as `window` makes them, each with its pixels alone.
fn windows(whole: &Member, size: u64) -> Vec<Item> {
    let mut windows = Vec::new();
    for row in 0..whole.grid.height.div_ceil(size) {
        for col in 0..whole.grid.width.div_ceil(size) {
            let (left, top) = (col * size, row * size);
            let width = size.min(whole.grid.width - left);
            let height = size.min(whole.grid.height - top);
            let rows = top as usize..(top + height) as usize;
            let columns = left as usize..(left + width) as usize;
            let bands =
                whole.bands.iter().map(|band| band.clone().cut(rows.clone(), columns.clone())).collect();
            let window = Window { col: left, row: top, width, height };
            let mut part = item(vec![Member { window, bands, ..whole.clone() }]);
            part.id = format!("scene/{row}/{col}").into();
            part.lineage.parent = Some("scene".into());
            part.lineage.position = Some((row as i64, col as i64));
            windows.push(part);
        }
    }
    windows
}

/// The rows of the whole item, its windows added in an order that depends on `seed`.
fn assembled(options: &str, mut windows: Vec<Item>, seed: usize) -> Vec<Row> {
    let Kind::Assemble(assemble) = compile(&ENTRY, options).kind() else { panic!("does not assemble") };
    let folder = tempfile::tempdir().unwrap();
    let context = ComputeContext { scratch: folder.path().to_owned(), ..context(&[]) };
    let assembly = assemble.begin(&windows[0], &context).unwrap();
    while !windows.is_empty() {
        assembly.add(windows.swap_remove(seed % windows.len()), &context).unwrap();
    }
    let rows = rows_of(assembly.finish(&context).unwrap());
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "a temporary file stays");
    rows
}

#[test]
fn nan_and_invalid_pixels_do_not_count() {
    let nan = band("a", &[[1.0_f32, 2.0, 3.0, f32::NAN]]);
    let none = masked(band("b", &[[1_u8, 2, 3, 4]]), &[[0, 0, 0, 0]]);
    let options = r#"{ statistics = ["count", "total", "min", "max", "sum", "mean"], percentiles = [50] }"#;
    let found = rows(options, item(vec![member("m", vec![nan, none])]));
    let expected = [
        row(&[
            ("id", json!("scene")),
            ("band", json!("a")),
            ("count", json!(3)),
            ("total", json!(4)),
            ("min", json!(1.0)),
            ("max", json!(3.0)),
            ("sum", json!(6.0)),
            ("mean", json!(2.0)),
            ("p50", json!(2.0)),
        ]),
        row(&[
            ("id", json!("scene")),
            ("band", json!("b")),
            ("count", json!(0)),
            ("total", json!(4)),
            ("min", Json::Null),
            ("max", Json::Null),
            ("sum", json!(0.0)),
            ("mean", Json::Null),
            ("p50", Json::Null),
        ]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn windows_give_a_row_each_with_their_place() {
    let options = r#"{ statistics = ["count", "sum", "mean"] }"#;
    let found: Vec<Row> =
        windows(&five_by_five(), 2).into_iter().flat_map(|window| rows(options, window)).collect();
    let values: Vec<_> =
        found.iter().map(|row| row[5..].iter().map(|(_, value)| value.clone()).collect::<Vec<_>>()).collect();
    let expected = [
        (4, 16.0, 4.0),
        (4, 24.0, 6.0),
        (2, 15.0, 7.5),
        (4, 56.0, 14.0),
        (3, 51.0, 17.0),
        (2, 35.0, 17.5),
        (2, 43.0, 21.5),
        (2, 47.0, 23.5),
        (1, 25.0, 25.0),
    ];
    assert_eq!(values, expected.map(|(count, sum, mean)| vec![json!(count), json!(sum), json!(mean)]));
    let place =
        [("id", json!("scene/1/2")), ("parent", json!("scene")), ("row", json!(1)), ("col", json!(2))];
    assert_eq!(found[5][..4], row(&place));
}

#[test]
fn totals_of_an_item_do_not_depend_on_its_windows_or_their_order() {
    let options = r#"{ statistics = ["count", "total", "sum", "mean", "std"], percentiles = [25], histogram = { bins = 2, range = [1, 25] }, per = "item" }"#;
    // 1 to 25 without 13: the sum is 312; the 24 values have their 25th percentile at rank 5.75, between 6 and 7; and the
    // squares sum to 5525 - 169 = 5356, so that the variance is 5356 / 24 - 13² = 54.1666….
    let variance: f64 = 5356.0 / 24.0 - 169.0;
    for (size, seed) in [(1, 3), (2, 1), (3, 7), (5, 0)] {
        let found = assembled(options, windows(&five_by_five(), size), seed);
        let Json::Number(std) = &found[0][6].1 else { panic!() };
        assert!((std.as_f64().unwrap() - variance.sqrt()).abs() < 1e-14);
        let expected = [
            ("id", json!("scene")),
            ("band", json!("value")),
            ("count", json!(24)),
            ("total", json!(25)),
            ("sum", json!(312.0)),
            ("mean", json!(13.0)),
            ("std", json!(std)),
            ("p25", json!(6.75)),
            ("bin_0", json!(12)),
            ("bin_1", json!(12)),
        ];
        assert_eq!(found, [row(&expected)], "windows of {size}");
    }
}

#[test]
fn floats_come_out_the_same_to_the_last_bit() {
    let rows: [[f32; 37]; 29] = std::array::from_fn(|row| {
        std::array::from_fn(|col| ((row * 37 + col) as f32 * 0.7).sin() * 10_f32.powi(col as i32 % 9))
    });
    let doubles: Vec<[f64; 37]> = rows.iter().map(|row| row.map(|value| f64::from(value) / 3.0)).collect();
    let whole = member("m", vec![band("single", &rows), band("double", &doubles)]);
    let options = |per| {
        format!(
            r#"{{ statistics = ["sum", "mean", "std", "min", "max"], percentiles = [1.5, 50, 99], per = "{per}" }}"#
        )
    };
    let expected = self::rows(&options("window"), item(vec![whole.clone()]));
    assert!(expected.iter().flatten().all(|(_, value)| !value.is_null()));
    for (size, seed) in [(1, 5), (7, 2), (16, 1), (64, 0)] {
        assert_eq!(assembled(&options("item"), windows(&whole, size), seed), expected, "windows of {size}");
    }
}

#[test]
fn bands_are_chosen_in_the_order_that_is_asked_for() {
    let scene =
        item(vec![member("m", vec![band("a", &[[1_u8]]), band("b", &[[2_u8]]), band("c", &[[3_u8]])])]);
    let found = rows(r#"{ statistics = ["max"], bands = ["c", "a"] }"#, scene);
    let maxima: Vec<_> = found.iter().map(|row| (row[1].1.clone(), row[2].1.clone())).collect();
    assert_eq!(maxima, [(json!("c"), json!(3.0)), (json!("a"), json!(1.0))]);
    let op = compile(&ENTRY, r#"{ bands = ["cc"] }"#);
    let fault = op.bands(&Some(vec!["a".into(), "c".into()])).unwrap_err().remove(0);
    assert_eq!((fault.message.as_str(), fault.help.as_str()), ("unknown band `cc`", "did you mean `c`?"));
}

#[test]
fn options_out_of_range_are_refused_where_they_stand() {
    let cases = [
        ("{ percentiles = [50, 101] }", "101", "expected a percentile from 0 to 100, found `101`"),
        ("{ histogram = { bins = 0, range = [0, 1] } }", "0", "expected 1 to 4096 bins, found `0`"),
        (
            "{ histogram = { bins = 2, range = [1, 1] } }",
            "[1, 1]",
            "expected a range that rises, found `[1, 1]`",
        ),
    ];
    for (options, marked, message) in cases {
        let (text, fault) = faults(&ENTRY, options).remove(0);
        assert_eq!((text.as_str(), fault.message.as_str()), (marked, message));
    }
    compile(&ENTRY, ENTRY.example);
}

#[test]
fn a_group_is_refused_with_the_stage_that_helps() {
    let scene = item(vec![five_by_five(), five_by_five()]);
    let shape = super::super::testing::shape(&scene);
    let message = compile(&ENTRY, "{}").shape(&shape, &scene).unwrap_err().message;
    assert_eq!(message, "`stats` works on one image, found a group of 2; add a `composite` stage before it");
}

/// Two fields: the first is pixels (0..2, 0..2) and a half of column 2 beside them; the second is one pixel wide and reaches
/// beyond the raster's left edge.
const FIELDS: &str = r#"{
    "type": "FeatureCollection",
    "crs": { "type": "name", "properties": { "name": "urn:ogc:def:crs:EPSG::32632" } },
    "features": [
        { "type": "Feature", "properties": { "field": "b7" }, "geometry": { "type": "Polygon", "coordinates":
            [[[500000, 4000000], [500025, 4000000], [500025, 3999980], [500000, 3999980], [500000, 4000000]]] } },
        { "type": "Feature", "properties": { "field": "far" }, "geometry": { "type": "Polygon", "coordinates":
            [[[600000, 4000000], [600025, 4000000], [600025, 3999980], [600000, 4000000]]] } },
        { "type": "Feature", "properties": { "field": "a1" }, "geometry": { "type": "Polygon", "coordinates":
            [[[499980, 3999970], [500010, 3999970], [500010, 3999900], [499980, 3999900], [499980, 3999970]]] } }
    ]
}"#;

fn zoned(keys: &str) -> (tempfile::TempDir, Arc<dyn Op>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fields.geojson"), FIELDS).unwrap();
    let keys = format!("zones = \"fields.geojson\"\nzone-id = \"field\"\n{keys}");
    let op = compile_in(&ENTRY, &keys, folder.path()).unwrap();
    (folder, op)
}

fn five_by_five_in_zone_32() -> Member {
    let member = five_by_five();
    let crs = crate::raster::crs::parse("EPSG:32632").unwrap();
    Member { grid: Arc::new(crate::raster::Grid { crs: Some(crs), ..(*member.grid).clone() }), ..member }
}

/// The zone and the statistics of each row.
fn of_zones(rows: &[Row]) -> Vec<(Json, Vec<f64>)> {
    let numbers = |row: &Row| row[3..].iter().map(|(_, value)| value.as_f64().unwrap()).collect();
    rows.iter().map(|row| (row[2].1.clone(), numbers(row))).collect()
}

#[test]
fn each_zone_with_pixels_gets_a_row() {
    let (_folder, op) = zoned(r#"statistics = ["count", "total", "sum", "max"]"#);
    let rows = rows_of(computer(op).compute(item(vec![five_by_five_in_zone_32()]), &context(&[])).unwrap());
    assert_eq!(rows[0][2], ("zone".to_owned(), json!("b7")));
    // The centre of column 2 lies on the edge at 25 m, which is a right edge: 1, 2, 6, 7. Then 16 and 21.
    let expected = [(json!("b7"), vec![4.0, 4.0, 16.0, 7.0]), (json!("a1"), vec![2.0, 2.0, 37.0, 21.0])];
    assert_eq!(of_zones(&rows), expected);
}

#[test]
fn fractions_weigh_pixels() {
    let (_folder, op) =
        zoned("statistics = [\"count\", \"total\", \"sum\", \"mean\"]\ncoverage = \"fraction\"");
    let rows = rows_of(computer(op).compute(item(vec![five_by_five_in_zone_32()]), &context(&[])).unwrap());
    // 1 + 2 + 6 + 7 and halves of 3 and 8 are 21.5 over 5 pixels.
    let expected = [(json!("b7"), vec![5.0, 5.0, 21.5, 4.3]), (json!("a1"), vec![2.0, 2.0, 37.0, 18.5])];
    assert_eq!(of_zones(&rows), expected);
}

#[test]
fn whole_zones_come_out_the_same_whatever_windows_cut_them() {
    for keys in [
        "statistics = [\"count\", \"total\", \"sum\", \"std\"]\npercentiles = [10, 50]",
        "statistics = [\"count\", \"sum\", \"std\"]\ncoverage = \"fraction\"\nhistogram = { bins = 3, range = [0, 25] }",
    ] {
        let (_folder, op) = zoned(keys);
        let whole =
            rows_of(computer(op).compute(item(vec![five_by_five_in_zone_32()]), &context(&[])).unwrap());
        let (_folder, op) = zoned(&format!("{keys}\nper = \"item\""));
        let Kind::Assemble(assemble) = op.kind() else { panic!("does not assemble") };
        for size in [1, 2, 3] {
            let windows = windows(&five_by_five_in_zone_32(), size);
            let assembly = assemble.begin(&windows[0], &context(&[])).unwrap();
            for window in windows.into_iter().rev() {
                assembly.add(window, &context(&[])).unwrap();
            }
            assert_eq!(rows_of(assembly.finish(&context(&[])).unwrap()), whole, "windows of {size}");
        }
    }
}

#[test]
fn zone_options_that_do_not_fit_together_are_refused() {
    let cases = [
        (r#"{ zone-id = "x" }"#, r#""x""#),
        (r#"{ coverage = "fraction" }"#, r#""fraction""#),
        (r#"{ zones = "a.gpkg", coverage = "fraction", percentiles = [50] }"#, r#""fraction""#),
    ];
    for (options, marked) in cases {
        let (text, fault) = faults(&ENTRY, options).remove(0);
        assert_eq!((text.as_str(), fault.code), (marked, "conflicting-options"), "{options}");
    }
}
