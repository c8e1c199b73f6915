//! A folder in which the program runs, ports, and what is waited for.

use std::env;
use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tempfile::TempDir;

/// How long a server may take until it answers; a bound for broken ones.
const PATIENCE: Duration = Duration::from_mins(2);

/// A temporary folder for pipelines and what they make.
pub(crate) struct Bench(TempDir);

impl Bench {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a pipeline, which must succeed; the events of its record.
    #[track_caller]
    pub(crate) fn run(&self, name: &str, pipeline: &str, environment: &[(&str, &str)]) -> Vec<Json> {
        told(&self.start(name, pipeline, environment));
        let record = fs::read_to_string(self.path(&format!(".gisrun/{name}.run.jsonl"))).unwrap();
        record.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Runs a pipeline to its end, whatever that is.
    pub(crate) fn start(&self, name: &str, pipeline: &str, environment: &[(&str, &str)]) -> Output {
        let file = format!("{name}.toml");
        fs::write(self.path(&file), format!("name = \"{name}\"\n{pipeline}")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gisrun"));
        command.arg(&file).current_dir(self.0.path()).envs(environment.iter().copied()).stdin(Stdio::null());
        command.output().unwrap()
    }
}

/// The events of a kind.
pub(crate) fn of_kind<'a>(events: &'a [Json], kind: &str) -> Vec<&'a Json> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

/// What a program said that must have ended well.
#[track_caller]
pub(crate) fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// The programs of the Python environment.
pub(crate) fn services() -> PathBuf {
    env::var_os("GISRUN_SERVICES").expect("GISRUN_SERVICES names the programs of a Python environment").into()
}

/// The folder with the scripts that start servers.
pub(crate) fn scripts() -> PathBuf {
    let shared: PathBuf =
        env::var_os("GISRUN_SHARED").expect("GISRUN_SHARED names the folder with `services`").into();
    shared.join("services")
}

/// So many free ports in a row; nobody else takes them in the moment until the server does.
pub(crate) fn free_ports(count: u16) -> u16 {
    let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    loop {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        if first < u16::MAX - count && (first..first + count).all(is_free) {
            return first;
        }
    }
}

/// Waits until something listens on a port.
#[track_caller]
pub(crate) fn wait_for(port: u16) {
    let begun = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        assert!(begun.elapsed() < PATIENCE, "nobody listens on port {port}");
        thread::yield_now();
    }
}
