//! Cases about what a file says of itself, and whether that survives.

use std::fs;

use gdal::Dataset;

use crate::bench::{Bench, copy, data};

/// Files, as COGs.
fn copied(uris: &str, write: &str) -> Bench {
    Bench::new(&format!(
        r#"
[stages]
files   = {{ list = {{ uris = [{uris}] }} }}
bands   = {{ from = "files", read = {{}} }}
encoded = {{ from = "bands", encode = {{ format = "cog" }} }}
written = {{ from = "encoded", write = {{ path = "out/{{id}}.tif"{write} }} }}
"#
    ))
}

#[test]
fn c12_64_bit_integers_stay_exact() {
    // GDAL 3.5 and newer know the type.
    copied("\"in/c12_u64.tif\"", "").gives("c12", "out/c12_u64.tif");
}

#[test]
fn c37_one_pixel_is_a_raster() {
    copied("\"in/c37_1x1.tif\"", "").gives("c37", "out/c37_1x1.tif");
}

#[test]
fn c38_strips_become_one_tile() {
    copied("\"in/c38_strips171.tif\"", "").gives("c38", "out/c38_strips171.tif");
}

#[test]
fn c40_tiles_that_are_not_there_are_nodata_or_zero() {
    let bench = copied("\"in/c40_sparse_nd7.tif\", \"in/c40_sparse_none.tif\"", "");
    bench.run().expect_exit(0);
    let valid = |name: &str| -> Vec<i64> {
        let file = Dataset::open(bench.path(name)).unwrap();
        let band = file.rasterband(1).unwrap();
        let nodata = band.no_data_value().map(|nodata| nodata as i64);
        let pixels = band.read_band_as::<i64>().unwrap();
        pixels.data().iter().copied().filter(|pixel| Some(*pixel) != nodata).collect()
    };
    let (some, all) = (valid("out/c40_sparse_nd7.tif"), valid("out/c40_sparse_none.tif"));
    assert_eq!((some.len(), some.iter().sum::<i64>()), (1024, 5120));
    assert_eq!((all.len(), all.iter().sum::<i64>()), (4096, 5120));
}

#[test]
fn c43_descriptions_units_scales_and_tags_are_kept() {
    copied("\"in/c43_meta.tif\"", "").gives("c43", "out/c43_meta.tif");
}

#[test]
fn c46_a_damaged_tile_fails_its_file_by_name() {
    copied("\"in/c46_corrupt_tile.tif\"", "").fails(&["c46_corrupt_tile.tif"]);
}

#[test]
fn c47_what_is_no_raster_is_called_what_it_looks_like() {
    for (name, looks_like) in
        [("c47_empty.tif", "empty (0 bytes)"), ("c47_html.tif", "HTML"), ("c47_lfs.tif", "git-lfs pointer")]
    {
        copied(&format!("\"in/{name}\""), "").fails(&[name, looks_like]);
    }
}

#[test]
fn c48_names_with_odd_characters_are_only_names() {
    let names = [
        "c48 space",
        "c48#hash",
        "c48%20pct",
        "c48?q",
        "c48'q\"q",
        "c48_é中",
        "-c48_dash",
        "c48:colon",
        "c48&amp;",
    ];
    let uris: Vec<String> = names.iter().map(|name| format!("'''in/c48_names/{name}.tif'''")).collect();
    let bench = copied(&uris.join(", "), "");
    bench.run().expect_exit(0);
    for (index, name) in names.iter().enumerate() {
        let file = Dataset::open(bench.path(&format!("out/{name}.tif"))).unwrap();
        let pixels = file.rasterband(1).unwrap().read_band_as::<u8>().unwrap();
        assert_eq!(pixels.data(), [index as u8 + 1], "{name}");
    }
}

/// What a killed writer left is no output: it is told, and replaced where that is asked for.
#[test]
fn c50_half_a_file_is_never_taken_for_a_whole_one() {
    let bench = copied("\"in/c50_in.tif\"", "");
    copy("c50_half.tif", &bench.path("out/c50_in.tif"));
    let ended = bench.run().expect_exit(1);
    assert!(ended.said.contains("out/c50_in.tif"), "{}", ended.said);
    assert_eq!(
        fs::read(bench.path("out/c50_in.tif")).unwrap(),
        fs::read(data().join("c50_half.tif")).unwrap()
    );

    let bench = copied("\"in/c50_in.tif\"", ", existing = \"replace\"");
    copy("c50_half.tif", &bench.path("out/c50_in.tif"));
    bench.gives("c50", "out/c50_in.tif");
}
