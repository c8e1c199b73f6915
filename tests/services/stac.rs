//! STAC APIs of two makers, which page in two ways.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::bench::{Bench, free_ports, of_kind, scripts, services, told, wait_for};

/// How long a server may take to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// An API over the 25 items `it00` to `it24` of the collection `s2`; it ends with the value.
struct Api {
    folder: PathBuf,
    down: Vec<PathBuf>,
    port: u16,
}

impl Api {
    /// `up` is a script that takes a folder and a port. What has written these files with its process id is ended.
    fn start(bench: &Bench, up: &str, ports: u16, pids: &[&str]) -> Self {
        let (folder, port) = (bench.path("api"), free_ports(ports));
        let api = Self { down: pids.iter().map(|pid| folder.join(pid)).collect(), folder, port };
        let mut script = Command::new("bash");
        let script = script.arg(scripts().join("stac").join(up)).arg(&api.folder).arg(port.to_string());
        told(&script.env("V", services()).output().unwrap());
        wait_for(port);
        api
    }

    /// The ids of the items of a search, sorted, and how many requests were made.
    fn search(&self, bench: &Bench, name: &str, options: &str) -> (Vec<String>, usize) {
        let port = self.port;
        let pipeline = format!(
            r#"
[stages]
found = {{ stac = {{ url = "http://127.0.0.1:{port}", collections = ["s2"], {options} }} }}
noted = {{ from = "found", exec = {{ command = ["cp", "{name}.toml", "{{output}}"], outputs = {{ note = "{name}/{{id}}.txt" }} }} }}
"#
        );
        let events = bench.run(name, &pipeline, &[]);
        let id = |event: &&Json| event["item"].as_str().unwrap().to_owned();
        let mut ids: Vec<_> = of_kind(&events, "item_finished").iter().map(id).collect();
        ids.sort();
        (ids, of_kind(&events, "request").len())
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        for file in &self.down {
            let Ok(pid) = std::fs::read_to_string(file) else { continue };
            end(pid.lines().next().unwrap_or_default().trim());
        }
    }
}

/// Interrupts a process and waits until it is gone, for a while. One that is gone already is no fault.
fn end(pid: &str) {
    let kill = |signal: &str| {
        Command::new("kill")
            .args([signal, pid])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|told| told.success())
    };
    let begun = Instant::now();
    let mut is_there = kill("-INT");
    while is_there && begun.elapsed() < PATIENCE {
        is_there = kill("-0");
    }
}

fn all() -> Vec<String> {
    (0..25).map(|number| format!("it{number:02}")).collect()
}

#[test]
fn the_api_over_a_database_gives_25_items_in_pages_of_10() {
    let bench = Bench::new();
    let api = Api::start(&bench, "up_pgstac.sh", 2, &["pid.api", "pg/data/postmaster.pid"]);
    let (ids, requests) = api.search(&bench, "all", "page-size = 10");
    assert_eq!((ids, requests), (all(), 4), "a landing page and three pages");
    // The cloud cover of item n is 37 n modulo 100, which is below 10 for 0, 37 × 11 = 407 and 37 × 19 = 703.
    let (ids, _) = api.search(&bench, "clear", "filter = '\"eo:cloud_cover\" < 10'");
    assert_eq!(ids, ["it00", "it11", "it19"]);
    // Every fifth day from the first of January on.
    let (ids, _) = api.search(&bench, "early", "datetime = \"2024-01-01/2024-01-12\"");
    assert_eq!(ids, ["it00", "it01", "it02"]);
    // Item n lies half a degree east of item n - 1, and half a degree north of item n - 5.
    let area =
        r#"{"type": "Polygon", "coordinates": [[[10.6, 50.6], [10.9, 50.6], [10.9, 50.9], [10.6, 50.6]]]}"#;
    std::fs::write(bench.path("area.geojson"), area).unwrap();
    let (ids, _) = api.search(&bench, "there", "intersects = \"area.geojson\"");
    assert_eq!(ids, ["it06"]);
    let (ids, _) = api.search(&bench, "some", "page-size = 10, max-items = 12");
    assert_eq!(ids.len(), 12);
}

#[test]
fn the_api_over_memory_gives_25_items_in_pages_of_10() {
    let bench = Bench::new();
    let api = Api::start(&bench, "up_rustac.sh", 1, &["pid"]);
    let (ids, requests) = api.search(&bench, "all", "page-size = 10");
    assert_eq!((ids, requests), (all(), 4), "a landing page and three pages");
}
