//! Cases about disks and signals.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::bench::{Bench, Ended, copy, program};

/// An unprivileged user.
const NOBODY: u32 = 65534;

fn copied(output: &str) -> Bench {
    Bench::new(&format!(
        r#"
[stages]
files   = {{ list = {{ uris = ["in/f_noise420.tif"] }} }}
bands   = {{ from = "files", read = {{}} }}
encoded = {{ from = "bands", encode = {{ format = "gtiff", compress = "none" }} }}
written = {{ from = "encoded", write = {{ path = "{output}" }} }}
"#
    ))
}

/// A file system of 150 KiB; it goes with the value.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: PathBuf) -> Self {
        fs::create_dir(&at).unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=150k", "tmpfs"]).arg(&at).status();
        assert!(mount.unwrap().success(), "only root may mount");
        Self(at)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        assert!(Command::new("umount").arg(&self.0).status().unwrap().success());
    }
}

#[test]
fn f01_a_full_disk_leaves_nothing_half_written() {
    let bench = copied("out/noise.tif");
    let _disk = SmallDisk::mount(bench.path("out"));
    let ended = bench.run().expect_exit(3);
    assert!(ended.said.contains("out/noise.tif") && ended.said.contains("No space left"), "{}", ended.said);
    assert_eq!(bench.outputs(), Vec::<String>::new());
}

#[test]
fn f03_a_folder_that_may_not_be_written_is_named() {
    let bench = copied("out/noise.tif");
    fs::create_dir(bench.path("out")).unwrap();
    allow(&bench.path("out"), 0o555);
    let ended = run_as_nobody(&bench);
    assert!(matches!(ended.exit, Some(1 | 3)), "{:?}: {}", ended.exit, ended.said);
    assert!(
        ended.said.contains("out/noise.tif") && ended.said.contains("Permission denied"),
        "{}",
        ended.said
    );
    assert_eq!(bench.outputs(), Vec::<String>::new());
}

/// Runs the pipeline as another user, who reaches the program and the folder and may write the ledger alone.
fn run_as_nobody(bench: &Bench) -> Ended {
    let copy_of_program = bench.path("gisrun");
    fs::copy(program(), &copy_of_program).unwrap();
    fs::create_dir(bench.path(".gisrun")).unwrap();
    allow(&bench.path(""), 0o755);
    allow(&bench.path(".gisrun"), 0o777);
    // The data of the cases may lie where only its owner comes.
    let inputs = bench.path("in");
    fs::remove_file(&inputs).unwrap();
    copy("f_noise420.tif", &inputs.join("f_noise420.tif"));
    let mut command = Command::new(copy_of_program);
    Ended::of(&command.arg("case.toml").current_dir(bench.path("")).uid(NOBODY).gid(NOBODY).output().unwrap())
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// As somebody who may not write beside the inputs, and whose GDAL would like to leave notes there.
#[test]
fn f04_inputs_may_lie_where_nothing_may_be_written() {
    let bench = Bench::new(
        r#"
[stages]
files = { list = { uris = ["mine/f_noise420.tif"] } }
bands = { from = "files", read = {} }
rows  = { from = "bands", stats = { statistics = ["count", "total"] } }
table = { from = "rows", table = { path = "out/rows.csv" } }
"#,
    );
    copy("f_noise420.tif", &bench.path("mine/f_noise420.tif"));
    fs::create_dir(bench.path("out")).unwrap();
    allow(&bench.path("mine"), 0o555);
    allow(&bench.path("out"), 0o777);
    let ended = run_as_nobody(&bench).expect_exit(0);
    assert!(!ended.said.contains("auxiliary"), "{}", ended.said);
    let rows = fs::read_to_string(bench.path("out/rows.csv")).unwrap();
    assert!(rows.contains("176400,176400"), "420 × 420 pixels: {rows}");
    assert_eq!(fs::read_dir(bench.path("mine")).unwrap().count(), 1, "nothing beside the input");
}

#[test]
fn f05_an_input_is_never_an_output_by_any_name() {
    for (name, link) in [("same.tif", None), ("symbolic.tif", Some(true)), ("hard.tif", Some(false))] {
        let bench = copied(&format!("mine/{name}\", existing = \"replace"));
        let pipeline = fs::read_to_string(bench.path("case.toml")).unwrap();
        fs::write(bench.path("case.toml"), pipeline.replace("in/f_noise420.tif", "mine/same.tif")).unwrap();
        let input = bench.path("mine/same.tif");
        copy("f_noise420.tif", &input);
        match link {
            Some(true) => symlink("same.tif", bench.path("mine/symbolic.tif")).unwrap(),
            Some(false) => fs::hard_link(&input, bench.path("mine/hard.tif")).unwrap(),
            None => {}
        }
        let before = fs::read(&input).unwrap();
        let ended = bench.run().expect_exit(2);
        assert!(ended.said.contains("input") && ended.said.contains(name), "{}", ended.said);
        assert!(fs::read(&input).unwrap() == before, "{name}");
    }
}

/// A warp that takes its time.
fn long_warp() -> Bench {
    Bench::new(
        r#"
[stages]
files   = { list = { uris = ["in/f_noise420.tif"] } }
bands   = { from = "files", read = {} }
warped  = { from = "bands", warp = { crs = "EPSG:3857", size = [6000, 6000], resampling = "lanczos" } }
encoded = { from = "warped", encode = { format = "cog", compress = "zstd" } }
written = { from = "encoded", write = { path = "out/warped.tif" } }
"#,
    )
}

/// Starts the program and waits until its record tells that the warp has begun.
fn warping(bench: &Bench) -> Child {
    let mut command = bench.command();
    let mut child = command
        .args(["--events", "/dev/stdout"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let events = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let begun = |line: &String| line.contains("\"stage_started\"") && line.contains("\"warped\"");
    assert!(events.map(Result::unwrap).any(|line| begun(&line)), "the warp never begins");
    child
}

#[test]
fn f08_a_signal_in_a_long_warp_ends_it_within_seconds() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let bench = long_warp();
        let mut child = warping(&bench);
        let send = || kill_process(Pid::from_child(&child), signal).unwrap();
        send();
        let words = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(
            words.map(Result::unwrap).any(|line| line.contains("stopping")),
            "it never says that it stops"
        );
        let begun = Instant::now();
        let send = || kill_process(Pid::from_child(&child), signal).unwrap();
        send();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        assert_eq!(bench.outputs(), Vec::<String>::new());
    }
}

#[test]
fn f09_a_killed_run_is_done_again_to_the_same_bytes() {
    let bench = long_warp();
    let mut child = warping(&bench);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    bench.run().expect_exit(0);
    assert_eq!(bench.outputs(), ["warped.tif"], "and no temporary file");

    let whole = long_warp();
    whole.run().expect_exit(0);
    let bytes = |bench: &Bench| fs::read(bench.path("out/warped.tif")).unwrap();
    assert!(bytes(&bench) == bytes(&whole));
}
