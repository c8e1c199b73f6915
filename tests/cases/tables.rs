//! Cases about statistics, as rows of a table.

use std::fs;

use serde_json::{Value as Json, json};

use crate::bench::{Bench, Run, expected};

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
    assert!(ended.said.contains("-9999") && ended.said.contains("c08_u8_nodata_m9999.tif"), "{}", ended.said);
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

/// The row and column of a window count windows, so that the pixel it begins at is twice of each.
#[test]
fn c35_windows_at_the_edge_are_narrow_and_nodata_is_left_out() {
    let bench = Bench::new(
        r#"
[stages]
files   = { list = { uris = ["in/c35_windows.tif"] } }
windows = { from = "files", window = { size = 2 } }
bands   = { from = "windows", read = {} }
rows    = { from = "bands", stats = { statistics = ["count", "total", "sum", "mean", "min", "max"] } }
table   = { from = "rows", table = { path = "out/rows.jsonl" } }
"#,
    );
    bench.run().expect_exit(0);
    let got: Vec<Json> = rows(&bench)
        .iter()
        .map(|row| {
            let (valid, total) = (row["count"].as_u64().unwrap(), row["total"].as_u64().unwrap());
            json!([
                [row["row"].as_u64().unwrap() * 2, row["col"].as_u64().unwrap() * 2, valid, total - valid],
                [row["sum"], row["mean"], row["min"], row["max"]],
            ])
        })
        .collect();
    let expected = &expected("c35")["windows"];
    let expected: Vec<Json> = expected
        .as_array()
        .unwrap()
        .iter()
        .map(|window| {
            json!([
                [window["row_off"], window["col_off"], window["count"], window["nodata"]],
                [window["sum"], window["mean"], window["min"], window["max"]],
            ])
        })
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn c24_the_footprint_of_a_pole_has_every_longitude() {
    let bench = Bench::new(
        r#"
[stages]
files   = { list = { uris = ["in/c24_pole.tif"] } }
bands   = { from = "files", read = {} }
encoded = { from = "bands", encode = {} }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
index   = { from = "written", table = { path = "out/rows.jsonl" } }
"#,
    );
    bench.run().expect_exit(0);
    let row = &rows(&bench)[0];
    let footprint = row["footprint"].as_str().unwrap();
    let numbers: Vec<f64> =
        footprint.split(|c: char| !"-.0123456789".contains(c)).filter_map(|part| part.parse().ok()).collect();
    let of = |axis: usize| numbers.iter().skip(axis).step_by(2).copied();
    let range = |axis| [of(axis).fold(f64::INFINITY, f64::min), of(axis).fold(f64::NEG_INFINITY, f64::max)];
    let (east, north) = (range(0), range(1));
    let expected = expected("c24");
    for (place, got) in [east[0], north[0], east[1], north[1]].into_iter().enumerate() {
        let bound = expected["bounds"][place].as_f64().unwrap();
        assert!((got - bound).abs() <= 0.01, "{footprint}: {got} instead of {bound}");
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
