//! Cases about grids: warps, downsampling, crops, odd georeferences.

use std::fs;

use crate::bench::Bench;

/// One file onto another grid.
fn warped(file: &str, warp: &str) -> Bench {
    Bench::new(&pipeline(file, warp, ""))
}

fn pipeline(file: &str, warp: &str, resources: &str) -> String {
    format!(
        r#"
{resources}
[stages]
files   = {{ list = {{ uris = ["in/{file}"] }} }}
bands   = {{ from = "files", read = {{}} }}
warped  = {{ from = "bands", warp = {{ {warp} }} }}
encoded = {{ from = "warped", encode = {{ format = "cog" }} }}
written = {{ from = "encoded", write = {{ path = "out/warped.tif" }} }}
"#
    )
}

fn onto(resampling: &str, bounds: &str) -> String {
    format!(
        r#"crs = "EPSG:32633", resolution = 10, bounds = {bounds}, align = false, resampling = "{resampling}""#
    )
}

#[test]
fn c15_bilinear_beside_nodata_never_blends_it_in() {
    let warp = onto("bilinear", "[500005, 3999965, 500035, 3999995]");
    warped("c15_nodata_hole.tif", &warp).gives("c15", "out/warped.tif");
}

#[test]
fn c16_half_a_pixel_off_gives_exact_midpoints() {
    let warp = onto("bilinear", "[500005, 3999960, 500055, 4000000]");
    warped("c16_ramp.tif", &warp).gives("c16", "out/warped.tif");
}

#[test]
fn c19_a_rotated_raster_comes_north_up() {
    let warp = onto("nearest", "[500000, 3999980, 500030, 4000000]");
    warped("c19_rot90.tif", &warp).gives("c19", "out/warped.tif");
}

#[test]
fn c20_a_raster_without_crs_is_refused_and_taken_with_one() {
    let warp = r#"crs = "EPSG:3857", resampling = "nearest""#;
    warped("c20_nocrs.tif", warp).fails(&["c20_nocrs.tif", "CRS"]);
    let bench = warped("c20_nocrs.tif", &format!(r#"{warp}, source-crs = "EPSG:32633""#));
    bench.run().expect_exit(0);
    assert_eq!(bench.outputs(), ["warped.tif"]);
}

#[test]
fn c21_control_points_are_used_when_asked_for() {
    let warp = onto("nearest", "[500000, 3999970, 500030, 4000000]");
    warped("c21_gcps.tif", &warp).fails(&["c21_gcps.tif", "control points"]);
    let warp = format!("{warp}, control-points = {{ order = 1 }}");
    warped("c21_gcps.tif", &warp).gives("c21", "out/warped.tif");
}

#[test]
fn c23_a_global_raster_gets_a_finite_grid() {
    let warp = r#"crs = "EPSG:3857", resampling = "nearest""#;
    warped("c23_global.tif", warp).gives("c23", "out/warped.tif");
}

#[test]
fn c28_the_bytes_of_a_warp_depend_on_no_limit() {
    let warp = onto("bilinear", "[500005, 3997005, 502995, 3999995]");
    let mut all = Vec::new();
    for resources in
        ["", "[resources]\ncores.slots = 1", "[resources]\ncores.slots = 8\nmemory.bytes = \"16 MiB\""]
    {
        let bench = Bench::new(&pipeline("c28_plane.tif", &warp, resources));
        bench.gives("c28", "out/warped.tif");
        all.push(fs::read(bench.path("out/warped.tif")).unwrap());
    }
    assert!(all.iter().all(|bytes| *bytes == all[0]));
}

#[test]
fn c30_valid_zeros_stay_zeros() {
    let warp = onto("bilinear", "[500000, 3999970, 500040, 4000000]");
    warped("c30_binary.tif", &warp).gives("c30", "out/warped.tif");
}

#[test]
fn c32_an_average_is_that_of_the_valid_pixels() {
    warped("c32_avg_nodata.tif", r#"resolution = 20, resampling = "average""#).gives("c32", "out/warped.tif");
}

#[test]
fn c33_classes_are_voted_on() {
    warped("c33_palette.tif", r#"resolution = 20, resampling = "mode""#).gives("c33", "out/warped.tif");
}

#[test]
fn c44_bounds_are_longitude_first() {
    warped("c44_lonlat.tif", "resolution = 1, bounds = [10, 50, 11, 51]").gives("c44", "out/warped.tif");
}
