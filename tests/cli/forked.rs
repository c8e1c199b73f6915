//! Branches of one read: each works on its own part of it, whatever the others need beside.

use std::fs;

use serde_json::Value as Json;

use crate::job::Job;
use crate::rasters::{Raster, read};

const CORNER: (f64, f64) = (500_000.0, 4_000_000.0);

/// 100 × 80 pixels of 3, in windows of 40 pixels; a branch that looks 7 pixels around each, and one more.
fn beside_a_mask_that_grows(branch: &str) -> Job {
    let job = Job::new(&format!(
        r#"
[stages]
files   = {{ list = {{ uris = ["in/scene.tif"] }} }}
windows = {{ from = "files", window = {{ size = 40 }} }}
bands   = {{ from = "windows", read = {{ bands = {{ a = 1 }} }} }}
grown   = {{ from = "bands", mask = {{ drop = {{ band = "a", values = [9], grow = 7 }} }} }}
encoded = {{ from = "grown", encode = {{ format = "cog", assemble = true }} }}
written = {{ from = "encoded", write = {{ path = "out/grown.tif" }} }}
{branch}
"#
    ));
    Raster::of(3, CORNER, (100, 80)).write(&job.path("in/scene.tif"));
    job.run().expect_exit(0);
    job
}

#[test]
fn statistics_count_no_pixel_that_only_another_branch_needs() {
    let job = beside_a_mask_that_grows(
        r#"
rows    = { from = "bands", stats = { per = "item", statistics = ["count", "total", "sum"] } }
table   = { from = "rows", table = { path = "out/rows.jsonl" } }
"#,
    );
    let row: Json = serde_json::from_str(&fs::read_to_string(job.path("out/rows.jsonl")).unwrap()).unwrap();
    assert_eq!((&row["count"], &row["total"], &row["sum"]), (&8000.into(), &8000.into(), &24_000.0.into()));
}

#[test]
fn files_of_windows_hold_no_pixel_that_only_another_branch_needs() {
    let job = beside_a_mask_that_grows(
        r#"
tile    = { from = "bands", encode = { format = "cog" } }
tiles   = { from = "tile", write = { path = "out/{row}_{col}.tif" } }
"#,
    );
    let (corner, pixels) = read(&job.path("out/1_1.tif"));
    assert_eq!((corner, pixels.len()), ((500_400.0, 3_999_600.0), 40 * 40));
    let (corner, pixels) = read(&job.path("out/1_2.tif"));
    assert_eq!((corner, pixels.len()), ((500_800.0, 3_999_600.0), 20 * 40));
}

#[test]
fn programs_are_given_no_pixel_that_only_another_branch_needs() {
    let job = beside_a_mask_that_grows(
        r#"
copies  = { from = "bands", exec = { command = ["cp", "{input}", "{output}"], outputs = { output = "out/{row}_{col}.tif" } } }
"#,
    );
    let (corner, pixels) = read(&job.path("out/1_1.tif"));
    assert_eq!((corner, pixels.len()), ((500_400.0, 3_999_600.0), 40 * 40));
}

/// 100 columns in windows of 40, with 5 pixels around each where the raster goes on.
#[test]
fn programs_are_given_the_overlap_of_windows_and_others_are_not() {
    let job = Job::new(
        r#"
[stages]
files   = { list = { uris = ["in/scene.tif"] } }
windows = { from = "files", window = { size = 40, overlap = 5 } }
bands   = { from = "windows", read = { bands = { a = 1 } } }
copies  = { from = "bands", exec = { command = ["cp", "{input}", "{output}"], outputs = { output = "out/{row}_{col}.tif" } } }
rows    = { from = "bands", stats = { per = "item", statistics = ["total"] } }
table   = { from = "rows", table = { path = "out/rows.csv" } }
"#,
    );
    Raster::of(3, CORNER, (100, 80)).write(&job.path("in/scene.tif"));

    job.run().expect_exit(0);

    let tile = |name: &str| {
        let (corner, pixels) = read(&job.path(name));
        (corner, pixels.len())
    };
    assert_eq!(tile("out/0_0.tif"), (CORNER, 45 * 45));
    assert_eq!(tile("out/1_1.tif"), ((500_350.0, 3_999_650.0), 50 * 45));
    assert_eq!(tile("out/1_2.tif"), ((500_750.0, 3_999_650.0), 25 * 45));
    assert_eq!(fs::read_to_string(job.path("out/rows.csv")).unwrap(), "id,band,total\nscene,a,8000\n");
}

/// Windows are counted on the raster of the first branch, 100 × 80 pixels of 10 m; the other branch ends with 50 × 40 of
/// 20 m, and has the same parts of them.
#[test]
fn branches_may_end_on_different_grids() {
    let job = Job::new(
        r#"
[stages]
files   = { list = { uris = ["in/scene.tif"] } }
windows = { from = "files", window = { size = 40 } }
bands   = { from = "windows", read = { bands = { a = 1 } } }
rows    = { from = "bands", stats = { statistics = ["count"] } }
table   = { from = "rows", table = { path = "out/rows.jsonl" } }
warped  = { from = "bands", warp = { resolution = 20 } }
encoded = { from = "warped", encode = { format = "cog", assemble = true } }
written = { from = "encoded", write = { path = "out/warped.tif" } }
parts   = { from = "warped", stats = { statistics = ["count"] } }
counts  = { from = "parts", table = { path = "out/counts.jsonl" } }
"#,
    );
    Raster::of(3, CORNER, (100, 80)).write(&job.path("in/scene.tif"));

    job.run().expect_exit(0);

    assert_eq!(read(&job.path("out/warped.tif")), (CORNER, vec![3; 50 * 40]));
    let counts = |name: &str| {
        let text = fs::read_to_string(job.path(name)).unwrap();
        let rows = text.lines().map(|row| serde_json::from_str::<Json>(row).unwrap());
        rows.map(|row| row["count"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(counts("out/rows.jsonl"), [1600, 1600, 800, 1600, 1600, 800]);
    assert_eq!(counts("out/counts.jsonl"), [400, 400, 200, 400, 400, 200]);
}

#[test]
fn windows_smaller_than_a_pixel_of_another_branch_are_refused_with_the_edit() {
    let job = Job::new(
        r#"
[stages]
files   = { list = { uris = ["in/scene.tif"] } }
windows = { from = "files", window = { size = 10 } }
bands   = { from = "windows", read = { bands = { a = 1 } } }
rows    = { from = "bands", stats = { per = "item" } }
table   = { from = "rows", table = { path = "out/rows.jsonl" } }
warped  = { from = "bands", warp = { resolution = 500 } }
encoded = { from = "warped", encode = { format = "cog", assemble = true } }
written = { from = "encoded", write = { path = "out/warped.tif" } }
"#,
    );
    Raster::of(3, CORNER, (100, 80)).write(&job.path("in/scene.tif"));
    let ended = job.run().expect_exit(1);
    ended.line_with(&["less than a pixel of 2×2 pixels", "make windows larger"]);
}
