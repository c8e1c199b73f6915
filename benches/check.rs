//! What looking at a pipeline costs: `gisrun check` on 300 stages, and `gisrun --version`, beside an empty program that is
//! linked to the same GDAL, whose loading nothing here can spare.
//!
//! `cargo bench --bench check`. The figures are CPU time, the mean of many processes; the benchmark fails where they are too large.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at what cannot be"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const STAGES: usize = 300;
const RUNS: u32 = 40;
const CHECK_WITHIN: Duration = Duration::from_millis(50);
const VERSION_WITHIN: Duration = Duration::from_millis(10);

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let empty = empty_program(folder.path());
    let pipeline = folder.path().join("many.toml");
    fs::write(&pipeline, many_stages()).unwrap();
    let gisrun = env!("CARGO_BIN_EXE_gisrun");

    let loading = cpu_of(Command::new(&empty));
    let version = cpu_of(arguments(gisrun, &["--version"]));
    let check = cpu_of(arguments(gisrun, &["check", pipeline.to_str().unwrap()]));
    println!("an empty program linked to GDAL   {:>6.1} ms", millis(loading));
    println!("gisrun --version                  {:>6.1} ms more", millis(version.saturating_sub(loading)));
    println!("gisrun check of {STAGES} stages       {:>6.1} ms more", millis(check.saturating_sub(loading)));
    let is_judged = !cfg!(debug_assertions);
    assert!(!is_judged || version.saturating_sub(loading) < VERSION_WITHIN, "--version is slow");
    assert!(!is_judged || check.saturating_sub(loading) < CHECK_WITHIN, "check is slow");
}

/// Fifty chains of six stages, each with formulas, templates and resources of its own.
fn many_stages() -> String {
    let mut text =
        "name = \"many\"\n\n[resources]\nprovider.rate = { limit = \"5/s\", burst = 1 }\n".to_owned();
    for chain in 0..STAGES / 6 {
        write!(
            text,
            r#"
[stages.scenes-{chain}]
list = {{ uris = ["https://h.example/{chain}/a.tif", "https://h.example/{chain}/b.tif"] }}

[stages.fetched-{chain}]
from = "scenes-{chain}"
uses = ["provider"]
retry = {{ tries = 5, first-delay = "500ms", max-delay = "30s", total = "5m" }}
fetch = {{}}

[stages.bands-{chain}]
from = "fetched-{chain}"
read = {{ bands = {{ red = 3, nir = 4 }} }}

[stages.ndvi-{chain}]
from = "bands-{chain}"
calc = {{ bands = {{ ndvi = "(nir - red) / (nir + red)" }}, dtype = "float32" }}

[stages.encoded-{chain}]
from = "ndvi-{chain}"
encode = {{ format = "cog", compress = "zstd", overview-resampling = "average" }}

[stages.written-{chain}]
from = "encoded-{chain}"
write = {{ path = "out/{chain}/{{id}}.tif" }}
"#
        )
        .unwrap();
    }
    text
}

/// `int main`, with GDAL linked though nothing needs it.
fn empty_program(folder: &Path) -> std::path::PathBuf {
    let (source, program) = (folder.join("empty.c"), folder.join("empty"));
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let mut cc = Command::new("cc");
    cc.arg(&source).arg("-o").arg(&program).args(["-Wl,--no-as-needed", "-lgdal"]);
    assert!(cc.status().unwrap().success(), "`cc` with GDAL is needed");
    program
}

fn arguments(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// The CPU time of one process, the mean of many, so that a busy machine changes little.
fn cpu_of(mut command: Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let before = children();
    for _ in 0..RUNS {
        assert!(command.status().unwrap().success());
    }
    children().saturating_sub(before) / RUNS
}

/// Ticks of a clock that `/proc` counts in: `USER_HZ`.
const TICKS_PER_SECOND: u64 = 100;

/// User and system time of all children that have ended: fields 16 and 17 of `/proc/self/stat` (proc(5)).
fn children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let ticks = |field: usize| after_name.split_whitespace().nth(field - 3).unwrap().parse::<u64>().unwrap();
    Duration::from_millis((ticks(16) + ticks(17)) * 1000 / TICKS_PER_SECOND)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
