//! What the engine reserves for an item against the memory of a fresh process that runs it alone.
//!
//! Never less than is taken, and at most 1.3 times of it beside a fixed allowance. Each pipeline is made so that the stage
//! of its name is the worst of the path. `GISRUN_SHAPES=10` takes every shape instead of two.

#![allow(clippy::unwrap_used, reason = "a test stops at what cannot be")]
#![allow(clippy::disallowed_methods, reason = "how many shapes are taken comes from outside")]
#![allow(clippy::print_stdout, reason = "the measured ratios are what a reader of the test's output wants")]

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use gdal::DriverManager;
use gdal::raster::{Buffer, GdalType, RasterCreationOptions};
use gdal::spatial_ref::SpatialRef;
use gisrun::events::{Event, read_records};
use server::Server;

/// What the allocator had already when the item came, stacks of threads.
const ALLOWANCE: u64 = 3 << 20;
const MOST: f64 = 1.3;
/// By how much two runs on the same small raster differ.
const NOISE: u64 = 1 << 20;

#[allow(dead_code, reason = "other tests need more of it")]
#[path = "support/server.rs"]
mod server;

/// Width, height, bands, block; as the type of a pixel see [`write`].
type Form = (usize, usize, usize, usize, Pixel);

#[derive(Clone, Copy)]
enum Pixel {
    U8,
    U16,
    I16,
    U32,
    I32,
    F32,
    F64,
}

const SHAPES: [Form; 10] = [
    (2000, 2000, 2, 256, Pixel::U16),
    (1500, 1500, 3, 512, Pixel::F32),
    (4000, 4000, 1, 512, Pixel::U8),
    (2000, 2000, 4, 512, Pixel::U8),
    (4000, 1000, 3, 512, Pixel::I16),
    (1000, 4000, 3, 512, Pixel::F32),
    (1500, 1500, 3, 512, Pixel::F64),
    (2500, 2500, 1, 512, Pixel::U32),
    (300, 10000, 2, 128, Pixel::I32),
    (6000, 700, 2, 512, Pixel::F32),
];

/// How many scenes a composite is made of.
const MEMBERS: usize = 3;

const STATS: &str = r#"last = { from = "made", stats = { bands = ["b1"] } }"#;

fn stages(op: &str) -> String {
    let write = r#"last = { from = "done", write = { path = "out/{id}.tif" } }"#;
    match op {
        "read" => STATS.replace("made", "bands"),
        "calc" => format!(
            "made = {{ from = \"bands\", calc = {{ bands = {{ b1 = \"b1 * 2\", b2 = \"b1 + 1\" }}, dtype = \"float64\" }} }}\n{STATS}"
        ),
        "mask" => format!(
            "made = {{ from = \"bands\", mask = {{ drop = {{ band = \"b1\", values = [5], grow = 3 }} }} }}\n{STATS}"
        ),
        "warp" => format!(
            "made = {{ from = \"bands\", warp = {{ crs = \"EPSG:4326\", resampling = \"bilinear\" }} }}\n{STATS}"
        ),
        "stats" => {
            STATS.replace("made", "bands").replace(r#"["b1"]"#, r#"["b1"], percentiles = [10, 50, 90]"#)
        }
        "composite" => {
            format!("made = {{ from = \"bands\", composite = {{ reduce = \"median\" }} }}\n{STATS}")
        }
        "encode" => format!("done = {{ from = \"bands\", encode = {{ format = \"cog\" }} }}\n{write}"),
        "fetch" => String::new(),
        other => panic!("no pipeline for {other}"),
    }
}

/// The stages up to `bands`: a source, and what brings its items.
fn source(op: &str, bands: &[String], address: &str) -> String {
    let bands = bands.join(", ");
    let glob = r#"glob = { paths = ["in/*.tif"] }"#;
    match op {
        "fetch" => format!(
            "scenes = {{ list = {{ uris = [\"{address}\"] }} }}\nfetched = {{ from = \"scenes\", fetch = {{ mode = \"whole\" }} }}\n\
             last = {{ from = \"fetched\", write = {{ path = \"out/{{id}}.tif\" }} }}"
        ),
        "composite" => format!(
            "scenes = {{ {glob} }}\nall = {{ from = \"scenes\", group = {{ by = \"all\" }} }}\nbands = {{ from = \"all\", read = {{ bands = {{ {bands} }} }} }}"
        ),
        _ => format!(
            "scenes = {{ {glob} }}\nbands = {{ from = \"scenes\", read = {{ bands = {{ {bands} }} }} }}"
        ),
    }
}

/// (reserved, peak resident) of a run on one raster of this form, or on one group of them.
fn run(op: &str, form: Form) -> (u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    for number in 0..if op == "composite" { MEMBERS } else { 1 } {
        scene(&folder.path().join(format!("in/{number}.tif")), form);
    }
    let server = Server::start(&folder.path().join("in")).unwrap();
    let bands: Vec<String> = (1..=form.2).map(|band| format!("b{band} = {band}")).collect();
    let pipeline = format!(
        "name = \"job\"\n[run]\ngdal = {{ cache = \"1 MiB\" }}\n[resources]\ncores.slots = 1\nmemory.bytes = \"8 GiB\"\n[stages]\n\
         {}\n{}\n",
        source(op, &bands, &server.url("0.tif")),
        stages(op)
    );
    fs::write(folder.path().join("job.toml"), pipeline).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_gisrun"))
        .args(["job.toml", "--machine", "memory=64GiB"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{op}: {}", String::from_utf8_lossy(&output.stderr));
    let (mut reserved, mut peak) = (0, 0);
    for record in read_records(File::open(folder.path().join(".gisrun/job.run.jsonl")).unwrap()) {
        match record.unwrap().event {
            Event::ItemAdmitted { reserved: bytes, .. } => reserved = bytes,
            Event::RunFinished { peak_resident, .. } => peak = peak_resident,
            _ => {}
        }
    }
    (reserved, peak)
}

fn assert_demand(op: &str) {
    let shapes = std::env::var("GISRUN_SHAPES").map_or(2, |count| count.parse().unwrap());
    let (_, base) = run(op, (64, 64, 2, 64, Pixel::U8));
    for form in SHAPES.into_iter().take(shapes) {
        let (reserved, peak) = run(op, form);
        let taken = peak.saturating_sub(base);
        let told =
            format!("{op} of {} × {} × {}: {reserved} reserved, {taken} taken", form.0, form.1, form.2);
        println!("{told}, {:.2} times", reserved as f64 / taken as f64);
        assert!(taken <= reserved + NOISE, "too little for {told}");
        assert!(reserved as f64 <= MOST * taken as f64 + ALLOWANCE as f64, "too much for {told}");
    }
}

#[test]
fn read_takes_what_is_reserved() {
    assert_demand("read");
}

#[test]
fn calc_takes_what_is_reserved() {
    assert_demand("calc");
}

#[test]
fn mask_takes_what_is_reserved() {
    assert_demand("mask");
}

#[test]
fn warp_takes_what_is_reserved() {
    assert_demand("warp");
}

#[test]
fn stats_takes_what_is_reserved() {
    assert_demand("stats");
}

#[test]
fn composite_takes_what_is_reserved() {
    assert_demand("composite");
}

#[test]
fn fetch_takes_what_is_reserved() {
    assert_demand("fetch");
}

#[test]
fn encode_takes_what_is_reserved() {
    assert_demand("encode");
}

/// Noise, which does not compress, and some nodata, so that validity masks are needed: the worst case of every bound.
fn scene(path: &Path, form: Form) {
    match form.4 {
        Pixel::U8 => write(path, form, |bits| bits as u8),
        Pixel::U16 => write(path, form, |bits| bits as u16),
        Pixel::I16 => write(path, form, |bits| bits as i16),
        Pixel::U32 => write(path, form, |bits| bits as u32),
        Pixel::I32 => write(path, form, |bits| bits as i32),
        Pixel::F32 => write(path, form, |bits| bits as u32 as f32 / 1e6),
        Pixel::F64 => write(path, form, |bits| bits as f64 / 1e6),
    }
}

fn write<T: GdalType + Copy>(path: &Path, (width, height, bands, block, _): Form, pixel: impl Fn(u64) -> T) {
    let mut random = fastrand::Rng::with_seed(7);
    let (x, y) = (format!("BLOCKXSIZE={block}"), format!("BLOCKYSIZE={block}"));
    let options =
        RasterCreationOptions::from_iter(["TILED=YES", "PHOTOMETRIC=MINISBLACK", "ALPHA=NO", &x, &y]);
    let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
    let mut file =
        driver.create_with_band_type_with_options::<T, _>(path, width, height, bands, &options).unwrap();
    file.set_geo_transform(&[500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0]).unwrap();
    file.set_spatial_ref(&SpatialRef::from_epsg(32633).unwrap()).unwrap();
    for band in 1..=bands {
        let values =
            (0..width * height).map(|_| pixel(if random.u8(..) == 0 { 0 } else { random.u64(..) })).collect();
        let mut band = file.rasterband(band).unwrap();
        band.set_no_data_value(Some(0.0)).unwrap();
        band.write((0, 0), (width, height), &mut Buffer::new((width, height), values)).unwrap();
    }
    file.close().unwrap();
}
