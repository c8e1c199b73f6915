//! `isolation = "process"` in pipelines that the real binary runs.

#![allow(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use gdal::DriverManager;
use gdal::raster::Buffer;
use rustix::process::{Pid, Signal, kill_process};

/// Long enough for a machine with much to do.
const PATIENCE: Duration = Duration::from_mins(1);

const PIPELINE: &str = r#"name = "job"

[stages.scenes]
glob = { paths = ["in/*.tif"] }

[stages.bands]
from = "scenes"
ISOLATION
read = { bands = { a = 1, b = 2 } }

[stages.ratio]
from = "bands"
ISOLATION
calc = { bands = { ratio = "a / b", twice = "2 * a" }, dtype = "float32" }

[stages.encoded]
from = "ratio"
ISOLATION
encode = { compress = "zstd", blocksize = 64 }

[stages.written]
from = "encoded"
write = { path = "out/{id}.tif" }
"#;

/// A folder with so many scenes and the pipeline above.
struct Job {
    folder: tempfile::TempDir,
}

impl Job {
    fn new(scenes: usize, isolation: &str) -> Self {
        let job = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(job.path("in")).unwrap();
        (0..scenes).for_each(|number| scene(&job.path(&format!("in/s{number}.tif")), number));
        fs::write(job.path("job.toml"), PIPELINE.replace("ISOLATION", isolation)).unwrap();
        job
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gisrun"));
        command.arg(self.path("job.toml")).args(["--machine", "cores=1,memory=4GiB"]);
        command
    }

    fn run(&self) -> Output {
        self.command().output().unwrap()
    }

    fn start(&self) -> Running {
        Running(self.command().stderr(Stdio::piped()).spawn().unwrap())
    }

    fn record(&self) -> String {
        fs::read_to_string(self.path(".gisrun/job.run.jsonl")).unwrap_or_default()
    }

    /// What the first item was admitted with, in bytes.
    fn reserved(&self) -> u64 {
        let record = self.record();
        let admitted = record.lines().find(|line| line.contains("item_admitted")).unwrap();
        let event: serde_json::Value = serde_json::from_str(admitted).unwrap();
        event["reserved"].as_u64().unwrap()
    }

    fn outputs(&self) -> Vec<(String, Vec<u8>)> {
        let Ok(entries) = fs::read_dir(self.path("out")) else { return Vec::new() };
        let file =
            |path: PathBuf| (path.file_name().unwrap().to_string_lossy().into(), fs::read(&path).unwrap());
        let mut files: Vec<_> = entries.map(|entry| file(entry.unwrap().path())).collect();
        files.sort();
        files
    }
}

struct Running(Child);

impl Running {
    /// The workers of a stage that live now, by their process numbers.
    fn workers(&self) -> BTreeSet<i32> {
        let children = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let number: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
            let parent = stat.rsplit(") ").next()?.split(' ').nth(1)?.parse::<u32>().ok()?;
            let command = fs::read(format!("/proc/{number}/cmdline")).ok()?;
            (parent == self.0.id() && command.ends_with(b"\0worker\0")).then_some(number)
        });
        children.collect()
    }

    fn first_worker(&mut self) -> i32 {
        loop {
            if let Some(worker) = self.workers().first() {
                return *worker;
            }
            assert!(self.0.try_wait().unwrap().is_none(), "the run ended before a worker was seen");
        }
    }

    fn wait_until(&mut self, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < PATIENCE && self.0.try_wait().unwrap().is_none(), "it never is so");
            std::thread::yield_now();
        }
    }

    fn end(self) -> (ExitStatus, String) {
        let output = self.0.wait_with_output().unwrap();
        (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Sends the signal until the process is gone: the first one may meet a handler that lets it go on.
fn kill(process: i32, signal: Signal) {
    let pid = Pid::from_raw(process).unwrap();
    let begun = Instant::now();
    while is_running(process) {
        if kill_process(pid, signal).is_err() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{process} lives on");
        std::thread::yield_now();
    }
}

fn is_running(process: i32) -> bool {
    let state = fs::read_to_string(format!("/proc/{process}/stat"));
    state.is_ok_and(|text| !text.contains(") Z"))
}

#[test]
fn the_bytes_are_those_of_threads() {
    let (threads, processes) = (Job::new(3, ""), Job::new(3, "isolation = \"process\""));
    for job in [&threads, &processes] {
        let output = job.run();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let outputs = processes.outputs();
    assert_eq!(outputs.len(), 3);
    assert!(outputs == threads.outputs(), "the files differ");
    // Two bands of 200 × 150 float32 pixels with masks go into the last stage, and are held twice now.
    assert!(processes.reserved() >= threads.reserved() + 2 * 200 * 150 * (4 + 1));
}

#[test]
fn a_worker_works_on_many_items_and_goes_with_the_run() {
    let job = Job::new(6, "isolation = \"process\"");
    let mut running = job.start();
    let mut seen = BTreeSet::new();
    while running.0.try_wait().unwrap().is_none() {
        seen.extend(running.workers());
    }
    assert_eq!(job.outputs().len(), 6);
    assert_eq!(seen.len(), 3, "one for each stage on one core");
    assert!(!seen.into_iter().any(is_running));
}

#[test]
fn a_crash_fails_one_item_and_names_its_signal() {
    let job = Job::new(4, "isolation = \"process\"");
    let mut running = job.start();
    kill(running.first_worker(), Signal::SEGV);
    let (status, said) = running.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("in `bands`: its worker process was killed by signal 11 (SIGSEGV)"), "{said}");
    assert_eq!(job.outputs().len(), 3, "{said}");
    assert!(job.run().status.success());
    assert_eq!(job.outputs().len(), 4, "a later run does what is missing");
}

#[test]
fn a_worker_ends_with_a_run_that_is_killed() {
    let job = Job::new(2, "isolation = \"process\"");
    let mut running = job.start();
    let worker = running.first_worker();
    running.0.kill().unwrap();
    running.end();
    let begun = Instant::now();
    while is_running(worker) {
        assert!(begun.elapsed() < PATIENCE, "the worker outlives its run");
        std::thread::yield_now();
    }
}

#[test]
fn ending_a_run_at_once_ends_its_workers() {
    let job = Job::new(2, "isolation = \"process\"");
    let mut running = job.start();
    let worker = running.first_worker();
    // A worker that stands still never answers.
    let pid = Pid::from_raw(worker).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let run = Pid::from_child(&running.0);
    kill_process(run, Signal::INT).unwrap();
    running.wait_until(|| job.record().contains("\"event\":\"stopping\""));
    // The first signal stopped admission, the second ends the work.
    kill_process(run, Signal::INT).unwrap();
    assert_eq!(running.end().0.code(), Some(130));
    assert!(!is_running(worker));
}

#[test]
fn nobody_is_a_worker_by_hand() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gisrun"));
    let output = command.arg("worker").stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is started by a run alone"));
}

/// Two bands of 200 × 150 pixels, some of them missing.
fn scene(path: &Path, number: usize) {
    let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
    let mut file = driver.create_with_band_type::<u16, _>(path, 200, 150, 2).unwrap();
    file.set_geo_transform(&[0.1, 1.0 / 3.0, 0.0, 50.0, 0.0, -1.0 / 3.0]).unwrap();
    for band in 1..=2 {
        let value = |pixel: usize| ((pixel * (7 + number) * band + pixel / 13) % 1000) as u16;
        let mut pixels = Buffer::new((200, 150), (0..30_000).map(value).collect());
        let mut band = file.rasterband(band).unwrap();
        band.set_no_data_value(Some(0.0)).unwrap();
        band.write((0, 0), (200, 150), &mut pixels).unwrap();
    }
}
