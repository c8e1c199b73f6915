//! Windows, workers and budgets never change a result, whoever cuts.

use std::cell::Cell;
use std::{env, fs};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value as Json;

use crate::drawn::{Drawn, drawn};
use crate::job::Job;
use crate::rasters::Raster;

/// How many rasters are drawn, unless GISRUN_CASES says another number.
const CASES: u32 = 12;

/// How a job is cut and what it may use.
#[derive(Clone, Copy, Debug)]
struct Chunks {
    window: Option<u64>,
    cores: u64,
    /// Bytes of memory.
    budget: Option<u64>,
}

const WHOLE: Chunks = Chunks { window: None, cores: 1, budget: None };

/// How a job is cut: by `window`, or by the engine, which has so many percent of the memory that the whole needs.
#[derive(Clone, Copy, Debug)]
enum Cut {
    Window(u64),
    Budget(u64),
}

fn cut() -> impl Strategy<Value = Cut> {
    prop_oneof![
        2 => select(vec![64, 256, 1000, 100, 37]).prop_map(Cut::Window),
        1 => select(vec![80, 90, 96]).prop_map(Cut::Budget),
    ]
}

impl Cut {
    fn chunks(self, cores: u64, needed: u64) -> Chunks {
        match self {
            Cut::Window(size) => Chunks { window: Some(size), cores, budget: None },
            Cut::Budget(percent) => Chunks { window: None, cores, budget: Some(needed * percent / 100) },
        }
    }
}

/// Where warps go.
#[derive(Clone, Debug)]
struct Onto {
    crs: &'static str,
    /// Edge of a pixel in metres; as many degrees as that is at the equator.
    pixel: Option<f64>,
}

impl Onto {
    fn options(&self, resampling: &str) -> String {
        let pixel = self.pixel.map(|pixel| if self.crs == "EPSG:4326" { pixel / 111_320.0 } else { pixel });
        let resolution = pixel.map_or_else(String::new, |pixel| format!("resolution = {pixel}, "));
        format!("crs = \"{}\", {resolution}resampling = \"{resampling}\"", self.crs)
    }
}

/// A raster, and where warps take it: onto pixels as large as its own, somewhat smaller, or much larger.
fn scene_and_target() -> impl Strategy<Value = (Drawn, Onto)> {
    let crs = select(vec!["EPSG:32633", "EPSG:3857", "EPSG:4326", "EPSG:3035"]);
    (drawn(), crs, select(vec![None, Some(0.8), Some(2.6)])).prop_map(|(scene, crs, factor)| {
        let pixel = factor.map(|factor| factor * scene.pixel());
        (scene, Onto { crs, pixel })
    })
}

const BRANCHES: [&str; 4] = ["sums", "nearest", "bilinear", "cubic"];

/// One read, and four branches that end with pixels and statistics on two grids.
fn pipeline(onto: &Onto, chunks: Chunks) -> String {
    let [nearest, bilinear, cubic] = ["nearest", "bilinear", "cubic"].map(|name| onto.options(name));
    let ends = BRANCHES.map(|name| end(name, chunks)).concat();
    format!(
        r#"{}
bands    = {{ from = "source", read = {{ bands = {{ a = 1, b = 2 }} }} }}
sums     = {{ from = "bands", calc = {{ bands = {{ s = "sqrt(a) * 3 - b / 7" }}, dtype = "float32" }} }}
nearest  = {{ from = "bands", warp = {{ {nearest} }} }}
bilinear = {{ from = "sums", warp = {{ {bilinear} }} }}
cubic    = {{ from = "bands", warp = {{ {cubic} }} }}
{ends}"#,
        head(chunks)
    )
}

/// Limits, and where pixels come from: `source`.
fn head(Chunks { window, cores, budget }: Chunks) -> String {
    let memory = budget.map_or_else(String::new, |budget| format!("memory.bytes = \"{budget} B\""));
    let list = r#"list = { uris = ["in/scene.tif"] }"#;
    let source = match window {
        Some(size) => {
            format!("files = {{ {list} }}\nsource = {{ from = \"files\", window = {{ size = {size} }} }}")
        }
        None => format!("source = {{ {list} }}"),
    };
    format!("[resources]\ncores.slots = {cores}\n{memory}\n\n[stages]\n{source}")
}

/// What becomes of the rasters of one stage.
fn end(name: &str, chunks: Chunks) -> String {
    let assemble = if chunks.window.is_some() { ", assemble = true" } else { "" };
    format!(
        r#"
{name}-tif     = {{ from = "{name}", encode = {{ format = "cog", blocksize = 128{assemble} }} }}
{name}-written = {{ from = "{name}-tif", write = {{ path = "out/{name}.tif" }} }}
{name}-rows    = {{ from = "{name}", stats = {{ percentiles = [5, 50, 95], per = "item" }} }}
{name}-table   = {{ from = "{name}-rows", table = {{ path = "out/{name}.jsonl" }} }}
"#
    )
}

/// What a run gave.
struct Outcome {
    /// The bytes of all outputs.
    files: Vec<Vec<u8>>,
    /// Bytes of memory that the item, or one of its windows, had.
    reserved: u64,
    is_cut_by_engine: bool,
}

/// Runs the job; `None` where the budget is too small for any window, or windows are for one of the grids.
fn outcome(scene: &Drawn, onto: &Onto, chunks: Chunks) -> Option<Outcome> {
    let job = Job::new(&pipeline(onto, chunks));
    scene.write(&job.path("in/scene.tif"));
    let ended = job.run();
    let is_told = |edit: &str| ended.stderr.contains(edit);
    if chunks.budget.is_some() && is_told("raise `memory.bytes`") || is_told("make windows larger") {
        return None;
    }
    ended.expect_exit(0);
    let file = |name: &str, suffix: &str| fs::read(job.path(&format!("out/{name}.{suffix}"))).unwrap();
    let files = BRANCHES.iter().flat_map(|name| ["tif", "jsonl"].map(|suffix| file(name, suffix))).collect();
    let record = fs::read_to_string(job.path(".gisrun/job.run.jsonl")).unwrap();
    let events = record.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let reserved = events.filter_map(|event| event["reserved"].as_u64()).max().unwrap();
    Some(Outcome { files, reserved, is_cut_by_engine: record.contains("\"item_cut\"") })
}

#[test]
#[expect(clippy::disallowed_methods, reason = "who runs the test says how long it may take")]
fn results_do_not_depend_on_windows_workers_or_budgets() {
    let cases = env::var("GISRUN_CASES").map_or(CASES, |cases| cases.parse().unwrap());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 30, ..Config::default() };
    // The same cases each time, so that it is known that some of them are cut by the engine.
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let cut_by_engine = Cell::new(0);
    let tested =
        runner.run(&(scene_and_target(), cut(), select(vec![1, 8])), |((scene, onto), cut, cores)| {
            let whole = outcome(&scene, &onto, WHOLE).unwrap();
            let Some(parts) = outcome(&scene, &onto, cut.chunks(cores, whole.reserved)) else {
                return Err(TestCaseError::reject("too small a budget or window"));
            };
            cut_by_engine.set(cut_by_engine.get() + u32::from(parts.is_cut_by_engine));
            prop_assert!(parts.files == whole.files, "{:?}", differing(&parts.files, &whole.files));
            Ok(())
        });
    tested.unwrap();
    assert!(cut_by_engine.get() > 0, "no budget was small");
}

fn differing(files: &[Vec<u8>], expected: &[Vec<u8>]) -> Vec<String> {
    let names = BRANCHES.iter().flat_map(|name| ["tif", "jsonl"].map(|suffix| format!("{name}.{suffix}")));
    let pairs = names.zip(files.iter().zip(expected));
    pairs.filter(|(_, (one, other))| one != other).map(|(name, _)| name).collect()
}

/// Values of 100 to 199, with holes of the nodata value 0.
fn scene(size: (usize, usize)) -> Raster {
    let value = |place: usize| {
        let (row, col) = (place / size.0, place % size.0);
        match (row * 7 + col * 13 + row * col / 50) % 251 {
            0 => 0,
            value => 100 + (value % 100) as u16,
        }
    };
    Raster { corner: (500_000.0, 4_000_000.0), size, values: (0..size.0 * size.1).map(value).collect() }
}

/// 900 × 900 pixels of two bands and what becomes of them in four branches: far more than 48 MiB.
#[test]
fn what_memory_cannot_hold_is_cut_by_the_engine_with_the_same_bytes() {
    let job = Job::new("");
    scene((900, 900)).write(&job.path("in/scene.tif"));
    let onto = Onto { crs: "EPSG:3857", pixel: None };
    let mut files = Vec::new();
    for budget in [None, Some(48 << 20)] {
        let pipeline = pipeline(&onto, Chunks { window: None, cores: 2, budget });
        job.rewrite(&pipeline.replace("b = 2", "b = 1"));
        job.gisrun(&["job.toml", "--fresh"]).expect_exit(0);
        let names = ["sums.tif", "sums.jsonl", "bilinear.tif", "bilinear.jsonl"];
        files.push(names.map(|name| fs::read(job.path("out").join(name)).unwrap()));
        let is_cut = fs::read_to_string(job.path(".gisrun/job.run.jsonl")).unwrap().contains("\"item_cut\"");
        assert_eq!(is_cut, budget.is_some());
    }
    assert!(files[0] == files[1]);
    let plan = job.gisrun(&["plan", "job.toml"]).expect_exit(0).stdout;
    assert!(
        plan.contains("source  are cut into windows")
            || plan.contains("are cut into windows, which are joined by"),
        "{plan}"
    );
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
