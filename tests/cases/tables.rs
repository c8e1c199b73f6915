//! Cases about statistics, as rows of a table.

use std::fs;

use serde_json::{Value as Json, json};

use crate::bench::{Bench, Run};

/// Statistics of one file as JSON lines.
fn statistics(file: &str) -> Bench {
    Bench::new(&format!(
        r#"
[stages]
files = {{ list = {{ uris = ["in/{file}"] }} }}
bands = {{ from = "files", read = {{}} }}
rows  = {{ from = "bands", stats = {{ statistics = ["count", "total", "min", "max", "sum", "mean", "std"] }} }}
table = {{ from = "rows", table = {{ path = "out/rows.jsonl" }} }}
"#
    ))
}

/// The rows of the table.
fn rows(bench: &Bench) -> Vec<Json> {
    let text = fs::read_to_string(bench.path("out/rows.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Holds the first band's row against what the case expects.
#[track_caller]
fn gives(case: &str, file: &str) -> Bench {
    let bench = statistics(file);
    bench.run().expect_exit(0);
    check(case, &bench);
    bench
}

#[track_caller]
fn check(case: &str, bench: &Bench) {
    let row = &rows(bench)[0];
    let (valid, total) = (row["count"].as_u64().unwrap(), row["total"].as_u64().unwrap());
    let stats = json!({
        "valid_count": valid,
        "nodata_count": total - valid,
        "min": row["min"],
        "max": row["max"],
        "sum": row["sum"],
        "mean": row["mean"],
    });
    fs::write(bench.path("stats.json"), stats.to_string()).unwrap();
    bench.check(case, "stats.json");
}

#[test]
fn c07_not_a_number_is_no_value() {
    let bench = gives("c07", "c07_in.tif");
    let std = rows(&bench)[0]["std"].as_f64().unwrap();
    assert!((std - (2.0_f64 / 3.0).sqrt()).abs() < 1e-12, "of 1, 2, 3: {std}");
}

#[test]
fn c08_a_nodata_that_no_pixel_can_have_hides_none_and_is_told() {
    let bench = statistics("c08_u8_nodata_m9999.tif");
    let ended = bench.run().expect_exit(0);
    check("c08", &bench);
    assert!(ended.said.contains("-9999") && ended.said.contains("`c08_u8_nodata_m9999`"), "{}", ended.said);
}

#[test]
fn c10_a_nodata_rounded_beyond_the_type_is_the_type_s_lowest() {
    gives("c10", "c10_f32_nodata_beyond.tif");
}

#[test]
fn c11_signed_bytes_are_signed() {
    gives("c11", "c11_int8.tif");
}

#[test]
fn c31_hidden_pixels_do_not_count() {
    gives("c31", "c31_mask.tif");
}

#[test]
fn c40_tiles_that_are_not_there_count_as_nodata_or_zero() {
    for (file, count, nodata, mean) in
        [("c40_sparse_nd7.tif", 1024, 3072, 5.0), ("c40_sparse_none.tif", 4096, 0, 1.25)]
    {
        let bench = statistics(file);
        bench.run().expect_exit(0);
        let row = &rows(&bench)[0];
        assert_eq!((&row["count"], &row["total"]), (&json!(count), &json!(count + nodata)), "{file}");
        assert_eq!((&row["sum"], &row["mean"]), (&json!(5120.0), &json!(mean)), "{file}");
    }
}

/// 5.4 thousand million pixels in windows, in a budget of 256 MiB.
#[test]
fn c41_a_huge_raster_is_read_by_windows() {
    let bench = Bench::new(
        r#"
[run]
gdal = { cache = "32 MiB" }

[resources]
memory.bytes = "256 MiB"

[stages]
files   = { list = { uris = ["in/c41_big_sparse.tif"] } }
windows = { from = "files", window = { size = 4096 } }
bands   = { from = "windows", read = {} }
rows    = { from = "bands", stats = { statistics = ["count", "total", "min", "max", "sum", "mean"], per = "item" } }
table   = { from = "rows", table = { path = "out/rows.jsonl" } }
"#,
    );
    bench.run().expect_exit(0);
    check("c41", &bench);
    let Run { peak_resident } = bench.last_run();
    assert!(peak_resident < 512 << 20, "{peak_resident} bytes");
}

/// The windows of the case as (row, col, count, nodata, sum, mean, min, max), from plain slices of 1 to 25 without 13.
#[test]
fn c35_windows_at_the_edge_are_narrow_and_totals_add_up() {
    let bench = windows_of_two("");
    bench.run().expect_exit(0);
    let found: Vec<Json> = rows(&bench)
        .iter()
        .map(|row| {
            let nodata = row["total"].as_u64().unwrap() - row["count"].as_u64().unwrap();
            let value = |key: &str| row[key].clone();
            json!([
                value("row"),
                value("col"),
                value("count"),
                nodata,
                value("sum"),
                value("mean"),
                value("min"),
                value("max")
            ])
        })
        .collect();
    let expected = json!([
        [0, 0, 4, 0, 16.0, 4.0, 1.0, 7.0],
        [0, 1, 4, 0, 24.0, 6.0, 3.0, 9.0],
        [0, 2, 2, 0, 15.0, 7.5, 5.0, 10.0],
        [1, 0, 4, 0, 56.0, 14.0, 11.0, 17.0],
        [1, 1, 3, 1, 51.0, 17.0, 14.0, 19.0],
        [1, 2, 2, 0, 35.0, 17.5, 15.0, 20.0],
        [2, 0, 2, 0, 43.0, 21.5, 21.0, 22.0],
        [2, 1, 2, 0, 47.0, 23.5, 23.0, 24.0],
        [2, 2, 1, 0, 25.0, 25.0, 25.0, 25.0],
    ]);
    assert_eq!(json!(found), expected);

    let bench = windows_of_two(", per = \"item\"");
    bench.run().expect_exit(0);
    let row = &rows(&bench)[0];
    assert_eq!((&row["count"], &row["total"], &row["sum"]), (&json!(24), &json!(25), &json!(312.0)));
}

/// Statistics of a raster of 5 × 5 pixels by windows of 2 × 2.
fn windows_of_two(per: &str) -> Bench {
    let statistics = r#"["count", "total", "sum", "mean", "min", "max"]"#;
    Bench::new(&format!(
        r#"
[stages]
files   = {{ list = {{ uris = ["in/c35_windows.tif"] }} }}
windows = {{ from = "files", window = {{ size = 2 }} }}
bands   = {{ from = "windows", read = {{}} }}
rows    = {{ from = "bands", stats = {{ statistics = {statistics}{per} }} }}
table   = {{ from = "rows", table = {{ path = "out/rows.jsonl" }} }}
"#
    ))
}

/// `per = "item"` needs no windows: it is what a whole raster gives anyway.
#[test]
fn whole_rasters_give_their_own_rows_when_asked_for_items() {
    let bench = statistics("c07_in.tif");
    bench.run().expect_exit(0);
    let whole = rows(&bench);
    let pipeline = fs::read_to_string(bench.path("case.toml")).unwrap();
    let per_item =
        pipeline.replace("\"std\"]", "\"std\"], per = \"item\"").replace("rows.jsonl", "items.jsonl");
    fs::write(bench.path("case.toml"), &per_item).unwrap();
    bench.run().expect_exit(0);
    let text = fs::read_to_string(bench.path("out/items.jsonl")).unwrap();
    assert_eq!(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Json>>(), whole);
}

/// The corners lie at 76.998816° alone; the box reaches the pole and goes all the way round.
#[test]
fn c24_a_footprint_around_the_pole_reaches_it() {
    let bench = Bench::new(
        r#"
[stages]
files = { list = { uris = ["in/c24_pole.tif"] } }
bands = { from = "files", read = {} }
encoded = { from = "bands", encode = {} }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
table = { from = "written", table = { path = "out/files.jsonl" } }
"#,
    );
    bench.run().expect_exit(0);
    let text = fs::read_to_string(bench.path("out/files.jsonl")).unwrap();
    let row: Json = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let footprint = row["footprint"].as_str().unwrap();
    let numbers: Vec<f64> = footprint
        .split(|sign: char| !(sign.is_ascii_digit() || "-.".contains(sign)))
        .filter_map(|number| number.parse().ok())
        .collect();
    let axis = |offset: usize| numbers.iter().skip(offset).step_by(2).copied();
    let (low, high) = (
        |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MAX, f64::min),
        |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MIN, f64::max),
    );
    let found = [low(&mut axis(0)), low(&mut axis(1)), high(&mut axis(0)), high(&mut axis(1))];
    for (found, expected) in found.iter().zip([-180.0, 76.998_815_531_682_67, 180.0, 90.0]) {
        assert!((found - expected).abs() < 0.01, "{footprint}");
    }
}
