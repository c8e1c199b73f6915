//! Windows, workers and budgets never change a result, whoever cuts.

use std::fs;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::job::Job;
use crate::rasters::Raster;

const CORNER: (f64, f64) = (500_000.0, 4_000_000.0);

/// Hills of 1 to 250 with holes where the nodata value 0 falls.
fn scene(size: (usize, usize)) -> Raster {
    let value = |place: usize| {
        let (row, col) = (place / size.0, place % size.0);
        ((row * 7 + col * 13 + row * col / 50) % 251) as u16
    };
    Raster { corner: CORNER, size, values: (0..size.0 * size.1).map(value).collect() }
}

/// How a job is cut and what it may use.
#[derive(Clone, Copy, Debug)]
struct Chunks {
    window: Option<u64>,
    cores: u64,
    budget: Option<&'static str>,
}

const OUTPUTS: [&str; 6] =
    ["calc.tif", "nearest.tif", "bilinear.tif", "cubic.tif", "calc.jsonl", "cubic.jsonl"];

/// A pipeline of `calc`, `stats` and one `warp`.
fn pipeline(warp: Option<&str>, chunks: Chunks) -> String {
    let Chunks { window, cores, budget } = chunks;
    let memory = budget.map_or_else(String::new, |budget| format!("memory.bytes = \"{budget}\""));
    let (cut, source, assemble) = match window {
        Some(size) => (
            format!("windows = {{ from = \"files\", window = {{ size = {size} }} }}"),
            "windows",
            ", assemble = true",
        ),
        None => (String::new(), "files", ""),
    };
    let (warped, last, name) = match warp {
        Some(resampling) => (
            format!(
                "warped = {{ from = \"sums\", warp = {{ crs = \"EPSG:3857\", resampling = \"{resampling}\" }} }}"
            ),
            "warped",
            resampling,
        ),
        None => (String::new(), "sums", "calc"),
    };
    format!(
        r#"
[resources]
cores.slots = {cores}
{memory}

[stages]
files   = {{ list = {{ uris = ["in/scene.tif"] }} }}
{cut}
bands   = {{ from = "{source}", read = {{ bands = {{ a = 1 }} }} }}
sums    = {{ from = "bands", calc = {{ bands = {{ b = "sqrt(a) * 3 - a / 7" }}, dtype = "float32" }} }}
{warped}
encoded = {{ from = "{last}", encode = {{ format = "cog", blocksize = 128{assemble} }} }}
written = {{ from = "encoded", write = {{ path = "out/{name}.tif" }} }}
rows    = {{ from = "{last}", stats = {{ percentiles = [5, 50, 95], per = "item" }} }}
table   = {{ from = "rows", table = {{ path = "out/{name}.jsonl" }} }}
"#
    )
}

/// The bytes of all outputs.
fn outputs(size: (usize, usize), chunks: Chunks) -> Vec<Vec<u8>> {
    let job = Job::new("");
    scene(size).write(&job.path("in/scene.tif"));
    for warp in [None, Some("nearest"), Some("bilinear"), Some("cubic")] {
        job.rewrite(&pipeline(warp, chunks));
        job.gisrun(&["job.toml", "--fresh"]).expect_exit(0);
    }
    OUTPUTS.iter().map(|name| fs::read(job.path(&format!("out/{name}"))).unwrap()).collect()
}

#[test]
fn results_do_not_depend_on_windows_workers_or_budgets() {
    let windows = prop_oneof![Just(None), Just(Some(64)), Just(Some(256)), Just(Some(1000)), Just(Some(100))];
    let limits = (prop_oneof![Just(1u64), Just(8)], prop_oneof![Just(None), Just(Some("24 MiB"))]);
    let chunks = (windows, limits).prop_map(|(window, (cores, budget))| Chunks { window, cores, budget });
    let sizes = (200..600usize, 200..600usize);
    let mut runner = TestRunner::new(Config { cases: 6, failure_persistence: None, ..Config::default() });
    let whole = Chunks { window: None, cores: 1, budget: None };
    let outcome = runner.run(&(sizes, chunks), |(size, chunks)| {
        prop_assert!(outputs(size, chunks) == outputs(size, whole), "{size:?} by {chunks:?}");
        Ok(())
    });
    outcome.unwrap();
}

/// 1500 × 1500 pixels of four bytes and a mask, twice, and what encodes them: more than 16 MiB.
#[test]
fn what_memory_cannot_hold_is_cut_by_the_engine_with_the_same_bytes() {
    let job = Job::new("");
    scene((1500, 1500)).write(&job.path("in/scene.tif"));
    let mut files = Vec::new();
    for budget in [None, Some("16 MiB")] {
        job.rewrite(&pipeline(Some("bilinear"), Chunks { window: None, cores: 2, budget }));
        job.gisrun(&["job.toml", "--fresh"]).expect_exit(0);
        files.push(
            ["bilinear.tif", "bilinear.jsonl"].map(|name| fs::read(job.path("out").join(name)).unwrap()),
        );
        let is_cut = fs::read_to_string(job.path(".gisrun/job.run.jsonl")).unwrap().contains("\"item_cut\"");
        assert_eq!(is_cut, budget.is_some());
    }
    assert!(files[0] == files[1]);
    let plan = job.gisrun(&["plan", "job.toml"]).expect_exit(0).stdout;
    assert!(plan.contains("bands  are cut into windows, which are joined by encoded and rows"), "{plan}");
}

#[test]
fn what_a_picture_needs_whole_is_refused_with_the_budget_that_it_needs() {
    let job = Job::new(
        r#"
[resources]
memory.bytes = "4 MiB"

[stages]
files   = { list = { uris = ["in/scene.tif"] } }
bands   = { from = "files", read = {} }
picture = { from = "bands", encode = { format = "png", stretch = "min-max" } }
written = { from = "picture", write = { path = "out/{id}.png" } }
"#,
    );
    scene((1500, 1500)).write(&job.path("in/scene.tif"));
    let ended = job.run().expect_exit(1);
    let line = ended.line_with(&["`picture` needs it whole", "raise `memory.bytes` to `\""]).to_owned();
    let enough = line.split("raise `memory.bytes` to `\"").nth(1).unwrap().split('"').next().unwrap();
    let pipeline = fs::read_to_string(job.path("job.toml")).unwrap();
    fs::write(job.path("job.toml"), pipeline.replace("4 MiB", enough)).unwrap();
    job.run().expect_exit(0);
}
