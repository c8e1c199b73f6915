//! Real rasters of other projects, `../shared/data`: each becomes what numpy says it has to, or is refused with a sentence.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::bench::{Ended, program, python, shared};

/// One run over all files.
struct Sweep {
    folder: TempDir,
    /// What failed, by item, in the words of the failure.
    refused: BTreeMap<String, String>,
}

impl Sweep {
    /// Runs a pipeline whose stages take from `bands`, the bands of every file.
    fn run(stages: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        symlink(shared().join("data").canonicalize().unwrap(), folder.path().join("in")).unwrap();
        let pipeline = format!(
            r#"
name = "sweep"
[stages]
files = {{ glob = {{ paths = ["in/*.tif", "in/*.vrt"] }} }}
bands = {{ from = "files", read = {{}} }}
{stages}
"#
        );
        fs::write(folder.path().join("sweep.toml"), pipeline).unwrap();
        let mut command = Command::new(program());
        let ended = Ended::of(&command.arg("sweep.toml").current_dir(folder.path()).output().unwrap());
        assert!(matches!(ended.exit, Some(0 | 1)), "{:?}: {}", ended.exit, ended.said);
        assert!(!ended.said.contains("panicked"), "{}", ended.said);
        let refused = refusals(&fs::read_to_string(folder.path().join(".gisrun/sweep.run.jsonl")).unwrap());
        Self { folder, refused }
    }

    /// Exactly these are refused, each with these words.
    #[track_caller]
    fn refuses(&self, expected: &[(&str, &str)]) {
        let names: Vec<&str> = self.refused.keys().map(String::as_str).collect();
        assert_eq!(names, expected.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{:#?}", self.refused);
        for (name, words) in expected {
            assert!(self.refused[*name].contains(words), "{name}: {}", self.refused[*name]);
        }
    }

    /// All others became what they have to, and nothing lies beside inputs or outputs.
    #[track_caller]
    fn gives(&self, kind: &str, output: &str) {
        let sources = files().into_iter().filter(|(item, _)| !self.refused.contains_key(item));
        let mut check = Command::new(python());
        check.env("PYTHONDONTWRITEBYTECODE", "1");
        check.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/reference.py")).arg(kind);
        check.arg(self.folder.path().join(output)).args(sources.map(|(_, path)| path));
        let told = check.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(told.status.success(), "{}{}", text(&told.stdout), text(&told.stderr));
        let beside = |folder: PathBuf| fs::read_dir(folder).unwrap().any(|entry| is_litter(&entry.unwrap()));
        assert!(!beside(shared().join("data")) && !beside(self.folder.path().join("out")));
    }
}

fn is_litter(entry: &fs::DirEntry) -> bool {
    entry.file_name().to_string_lossy().contains(".aux.xml")
}

/// The failures that a record tells of, by item.
fn refusals(record: &str) -> BTreeMap<String, String> {
    let events = record.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let failed = events.filter(|event| event["event"] == "item_failed");
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    failed.map(|event| (text(&event["item"]), text(&event["message"]))).collect()
}

/// All files, by the id of their item.
fn files() -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(shared().join("data")).unwrap().map(|entry| entry.unwrap().path());
    let rasters = entries.filter(|path| path.extension().is_some_and(|suffix| suffix != "md"));
    rasters.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

const ENCODED: &str = r#"
encoded = { from = "warped", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
"#;

/// What cannot be read at all: two files that end too early, and a type that is not supported.
const UNREADABLE: [(&str, &str); 3] = [
    ("byte_truncated", "byte_truncated.tif` cannot be read"),
    ("cint16", "complex data type `CInt16`"),
    ("corrupt", "corrupt.tif` cannot be read"),
];

const NO_CRS: &str = "has no CRS; name it with `source-crs`";
const CONTROL_POINTS: &str = "control points present: choose a fit with `control-points = { order = 1 }`";
const POLYNOMIALS: &str = "placed by rational polynomial coefficients alone";

/// What lies nowhere, or not on this Earth.
const UNPLACED: [(&str, &str); 21] = [
    ("RGB.byte.rpc", POLYNOMIALS),
    ("bigtiff_four_strip_be_short", NO_CRS),
    ("byte_gcp_pixelispoint", CONTROL_POINTS),
    ("byte_nogeoref", NO_CRS),
    ("cog_gcps", CONTROL_POINTS),
    ("cog_nonearth", "no way is known from `Equirectangular EUROPA`"),
    ("float32", NO_CRS),
    ("float32_with_nodata_slightly_above_float_max", NO_CRS),
    ("float_nan", NO_CRS),
    ("gcp", CONTROL_POINTS),
    ("int64_full_range", NO_CRS),
    ("non_square_pixels", NO_CRS),
    ("rotated", NO_CRS),
    ("sparse_nodata_one", NO_CRS),
    ("stefan_full_rgba", NO_CRS),
    ("test_average_palette", NO_CRS),
    ("test_nodatavalues", NO_CRS),
    ("test_rpcs", POLYNOMIALS),
    ("tinymarble", NO_CRS),
    ("uint16_nodata_65535_bigtiff", NO_CRS),
    ("uint64_full_range", NO_CRS),
];

#[test]
fn every_file_is_copied_pixel_by_pixel() {
    let sweep = Sweep::run(&ENCODED.replace("warped", "bands"));
    sweep.refuses(&UNREADABLE);
    sweep.gives("copy", "out/{id}.tif");
}

#[test]
fn every_file_has_the_statistics_that_numpy_finds() {
    let sweep = Sweep::run(
        r#"
rows  = { from = "bands", stats = { statistics = ["count", "total", "min", "max", "sum", "mean", "std"] } }
table = { from = "rows", table = { path = "out/rows.jsonl" } }
"#,
    );
    sweep.refuses(&UNREADABLE);
    sweep.gives("stats", "out/rows.jsonl");
}

#[track_caller]
fn warped(crs: &str, resampling: &str) {
    let warp =
        format!(r#"warped = {{ from = "bands", warp = {{ crs = "{crs}", resampling = "{resampling}" }} }}"#);
    let sweep = Sweep::run(&format!("{warp}{ENCODED}"));
    let mut refused = [&UNREADABLE[..], &UNPLACED].concat();
    refused.sort_unstable();
    sweep.refuses(&refused);
    sweep.gives(resampling, "out/{id}.tif");
}

#[test]
fn every_file_comes_onto_degrees_nearest() {
    warped("EPSG:4326", "nearest");
}

#[test]
fn every_file_comes_onto_degrees_bilinear() {
    warped("EPSG:4326", "bilinear");
}

#[test]
fn every_file_comes_onto_web_mercator_nearest() {
    warped("EPSG:3857", "nearest");
}

#[test]
fn every_file_comes_onto_web_mercator_bilinear() {
    warped("EPSG:3857", "bilinear");
}
