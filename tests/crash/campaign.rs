//! Rounds of kills: a run from nothing that is killed several times, and resumed to its end.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gdal::DriverManager;
use gdal::raster::Buffer;
use gdal::spatial_ref::SpatialRef;
use tempfile::TempDir;

use crate::state::{Done, State};

const PIPELINE: &str = r#"
name = "job"

[stages]
scenes  = { glob = { paths = ["in/*.tif"] } }
bands   = { from = "scenes", read = { bands = { red = 1, nir = 2 } } }
made    = { from = "bands", calc = { bands = { made = "(nir - red) / (nir + red)" }, dtype = "float32" } }
encoded = { from = "made", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
"#;

const SIZE: usize = 64;

/// Counts over all rounds so far, and what an undisturbed run gives.
pub(crate) struct Campaign {
    inputs: TempDir,
    expected: BTreeMap<String, Vec<u8>>,
    left: Vec<PathBuf>,
    took: Duration,
    random: fastrand::Rng,
    /// SIGKILLs so far.
    pub(crate) kills: u64,
    /// Those that left some items done and others not.
    pub(crate) in_the_middle: u64,
    /// Those that left a temporary file.
    with_temporaries: u64,
    /// Those that left an intent that was not yet known to be done.
    with_intents: u64,
    rounds: u64,
}

impl Campaign {
    /// Makes `items` small scenes and runs them undisturbed.
    pub(crate) fn new(items: u64, seed: u64) -> Self {
        let inputs = tempfile::tempdir().unwrap();
        (0..items).for_each(|number| scene(&inputs.path().join(format!("s{number:03}.tif")), number));
        let folder = job(inputs.path());
        let begun = Instant::now();
        run_to_the_end(folder.path());
        let took = begun.elapsed();
        let expected = outputs(folder.path());
        assert_eq!(expected.len() as u64, items);
        Self {
            inputs,
            expected,
            left: files_beside(folder.path()),
            took,
            random: fastrand::Rng::with_seed(seed),
            kills: 0,
            in_the_middle: 0,
            with_temporaries: 0,
            with_intents: 0,
            rounds: 0,
        }
    }

    /// Kills one run and its resumes `kills` times, resumes to the end, and compares.
    pub(crate) fn round(&mut self, kills: u64) {
        let folder = job(self.inputs.path());
        let mut done = Done::default();
        for _ in 0..kills {
            // The moment is what is random here, so it is a time and not a condition.
            let moment = self.took.mul_f64(self.random.f64() / 2.0);
            let mut run = start(folder.path());
            std::thread::sleep(moment);
            run.kill().unwrap();
            let has_ended = run.wait().unwrap().success();
            self.count(folder.path(), &mut done, has_ended);
        }
        run_to_the_end(folder.path());
        done.assert_skipped_and_untouched(folder.path());
        assert_eq!(outputs(folder.path()), self.expected, "outputs of a run that was killed {kills} times");
        assert_eq!(files_beside(folder.path()), self.left, "files beside the outputs");
        self.rounds += 1;
    }

    fn count(&mut self, folder: &Path, done: &mut Done, has_ended: bool) {
        done.assert_not_begun_again(folder);
        let state = State::of(folder);
        self.kills += u64::from(!has_ended);
        let is_in_the_middle = !state.done.is_empty() && state.done.len() < self.expected.len();
        self.in_the_middle += u64::from(is_in_the_middle);
        self.with_temporaries += u64::from(state.temporaries > 0);
        self.with_intents += u64::from(state.intents > 0);
        *done = state.done;
    }
}

impl fmt::Display for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, in_the_middle, with_temporaries, with_intents, rounds, .. } = self;
        write!(
            f,
            "{kills} kills in {rounds} rounds of {} items that take {:.1} s undisturbed; {in_the_middle} kills left a part of the items done, \
             {with_temporaries} a temporary file, {with_intents} an open intent",
            self.expected.len(),
            self.took.as_secs_f64()
        )
    }
}

/// A folder with the pipeline and a link to the inputs.
fn job(inputs: &Path) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("job.toml"), PIPELINE).unwrap();
    std::os::unix::fs::symlink(inputs, folder.path().join("in")).unwrap();
    folder
}

/// Starts a run; what the last one recorded is removed, for a run that is killed at once records nothing.
fn start(folder: &Path) -> Child {
    match fs::remove_file(folder.join(".gisrun/job.run.jsonl")) {
        Err(error) if error.kind() != ErrorKind::NotFound => panic!("{error}"),
        _ => {}
    }
    let program = std::env::var("GISRUN_BINARY").unwrap_or(env!("CARGO_BIN_EXE_gisrun").into());
    let mut command = Command::new(program);
    command.arg("job.toml").current_dir(folder).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(File::create(folder.join("said")).unwrap()).spawn().unwrap()
}

fn run_to_the_end(folder: &Path) {
    let ended = start(folder).wait().unwrap();
    assert!(ended.success(), "{ended}: {}", fs::read_to_string(folder.join("said")).unwrap());
}

/// The files below `out`, hidden ones included.
fn outputs(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.join("out")).unwrap().map(Result::unwrap);
    let file =
        |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    entries.map(file).collect()
}

/// Everything that a run leaves beside its outputs.
fn files_beside(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.join(".gisrun")];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            found.push(entry.path().strip_prefix(folder).unwrap().to_owned());
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Two bands whose pixels differ from scene to scene.
fn scene(path: &Path, number: u64) {
    let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
    let mut file = driver.create_with_band_type::<u16, _>(path, SIZE, SIZE, 2).unwrap();
    file.set_geo_transform(&[500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0]).unwrap();
    file.set_spatial_ref(&SpatialRef::from_epsg(32633).unwrap()).unwrap();
    for band in 1..=2 {
        let value = |pixel: usize| (1000 * band + pixel * (number as usize + 1) % 997) as u16;
        let mut buffer = Buffer::new((SIZE, SIZE), (0..SIZE * SIZE).map(value).collect());
        file.rasterband(band).unwrap().write((0, 0), (SIZE, SIZE), &mut buffer).unwrap();
    }
    file.close().unwrap();
}
