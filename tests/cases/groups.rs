//! Cases about several rasters that become one, and about what catalogues say.

use std::fs;

use gdal::Dataset;

use crate::bench::{Bench, program};
use crate::requests::Server;

/// All files as one item, brought onto one grid by `warp` if there is one.
fn merged(files: &str, warp: Option<&str>) -> Bench {
    let (warp, from) = match warp {
        Some(options) => (format!("warped = {{ from = \"bands\", warp = {{ {options} }} }}"), "warped"),
        None => (String::new(), "bands"),
    };
    Bench::new(&format!(
        r#"
[stages]
files   = {{ {files} }}
all     = {{ from = "files", group = {{ by = "all" }} }}
bands   = {{ from = "all", read = {{ bands = {{ value = 1 }} }} }}
{warp}
one     = {{ from = "{from}", composite = {{ reduce = "first" }} }}
encoded = {{ from = "one", encode = {{ format = "cog" }} }}
written = {{ from = "encoded", write = {{ path = "out/merged.tif" }} }}
"#
    ))
}

#[test]
fn c25_rasters_of_two_crss_are_not_merged_unawares() {
    let files = r#"list = { uris = ["in/c25_a_utm33.tif", "in/c25_b_utm32.tif"] }"#;
    merged(files, None).fails(&["EPSG:32633", "EPSG:32632", "warp"]);
    let bench = merged(files, Some(r#"crs = "EPSG:32633""#));
    bench.run().expect_exit(0);
    assert_eq!(bench.outputs(), ["merged.tif"]);
}

#[test]
fn c27_rasters_three_metres_off_meet_without_a_seam() {
    let files = r#"list = { uris = ["in/c27_a.tif", "in/c27_b_off3m.tif"] }"#;
    let warp = r#"crs = "EPSG:32633", resolution = 10, bounds = [500000, 3999990, 500090, 4000000]"#;
    merged(files, Some(warp)).gives("c27", "out/merged.tif");
}

/// With so few descriptors that a run cannot work it says so; with some more it merges 40 files and opens few at once.
#[test]
fn f06_forty_files_need_no_forty_descriptors() {
    let bench = merged(r#"glob = { paths = ["in/f06/*.tif"] }"#, Some("resolution = 10"));
    let with = |descriptors: u32| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {descriptors}; exec \"$0\" case.toml")]).arg(program());
        crate::bench::Ended::of(&shell.current_dir(bench.path("")).output().unwrap())
    };
    let refused = with(16);
    assert!(matches!(refused.exit, Some(2 | 3)), "{:?}: {}", refused.exit, refused.said);
    assert!(refused.said.contains("16") && refused.said.contains("ulimit -n"), "{}", refused.said);
    assert_eq!(bench.outputs(), Vec::<String>::new());

    with(48).expect_exit(0);
    let file = Dataset::open(bench.path("out/merged.tif")).unwrap();
    assert_eq!(file.raster_size(), (40, 1));
    let pixels = file.rasterband(1).unwrap().read_band_as::<u8>().unwrap();
    assert_eq!(pixels.data(), (1..=40).collect::<Vec<u8>>());
}

/// Items of a catalogue, their files as they are.
fn items(source: &str, path: &str) -> Bench {
    Bench::new(&format!(
        r#"
[stages]
items   = {{ stac = {{ {source} }} }}
fetched = {{ from = "items", fetch = {{}} }}
written = {{ from = "fetched", write = {{ path = "{path}" }} }}
"#
    ))
}

#[test]
fn t01_pages_are_followed_and_an_item_counts_once() {
    let server = Server::start();
    let url = server.url("/stac/search");
    let bench = items(&format!(r#"url = "{url}", collections = ["c"], page-size = 2"#), "out/{id}.tif");
    bench.run().expect_exit(0);
    assert_eq!(bench.outputs(), ["i1.tif", "i2.tif", "i3.tif"]);
    assert_eq!(server.requests("/stac/search"), 3);
}

#[test]
fn t02_a_page_that_leads_to_itself_ends_the_list() {
    let server = Server::start();
    let bench =
        items(&format!("url = \"{}\", collections = [\"c\"]", server.url("/stac/loop")), "out/{id}.tif");
    let ended = bench.run();
    assert_ne!(ended.exit, Some(0), "{}", ended.said);
    assert!(ended.said.contains("/stac/loop"), "{}", ended.said);
    assert!(server.requests("/stac/loop") <= 10);
}

#[test]
fn t04_dates_are_in_utc_and_an_interval_counts_from_its_start() {
    let files = r#"file = ["in/stac/t04_nulldt.json", "in/stac/t04_frac.json"]"#;
    let bench = items(files, "out/{id}_{datetime:%Y%m%dT%H%M%SZ}.tif");
    bench.run().expect_exit(0);
    assert_eq!(bench.outputs(), ["frac_20240506T070809Z.tif", "nulldt_20240101T000000Z.tif"]);
}

#[test]
fn t05_an_item_without_the_asset_is_named_with_it() {
    let bench = Bench::new(
        r#"
[stages]
items   = { stac = { file = "in/stac/t05_missing.json" } }
fetched = { from = "items", fetch = {} }
bands   = { from = "fetched", read = { bands = { red = "B04", nir = "B08" } } }
encoded = { from = "bands", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
"#,
    );
    bench.fails(&["miss", "B08"]);
    let pipeline = fs::read_to_string(bench.path("case.toml")).unwrap();
    fs::write(bench.path("case.toml"), pipeline.replace(", nir = \"B08\"", "")).unwrap();
    bench.run().expect_exit(0);
}
