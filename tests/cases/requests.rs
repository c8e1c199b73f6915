//! Cases about servers that misbehave.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gdal::Dataset;
use serde_json::Value as Json;

use crate::bench::{Bench, data, python, shared};

/// The server of the cases; it ends with the value.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let script = shared().join("cases/serve_cases.py");
        let mut process = Command::new(python()).arg(script).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("PORT=").unwrap().parse().unwrap();
        Self { process, port }
    }

    /// The requests below a path up to now.
    fn requests(&self, path: &str) -> usize {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "GET /__log HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, log) = answer.split_once("\r\n\r\n").unwrap();
        let log: Vec<Json> = serde_json::from_str(log).unwrap();
        log.iter().filter(|request| request["path"].as_str().unwrap().starts_with(path)).count()
    }

    /// A pipeline that fetches this path, writes the bytes as they are, and the pixels as a GeoTIFF.
    fn bench(&self, path: &str, fetch: &str) -> Bench {
        let port = self.port;
        Bench::new(&format!(
            r#"
[stages.files]
list = {{ uris = ["http://127.0.0.1:{port}{path}"] }}

[stages.fetched]
from = "files"
{fetch}
fetch = {{ mode = "whole" }}

[stages.bytes]
from = "fetched"
write = {{ path = "out/{{id}}-bytes.tif" }}

[stages.bands]
from = "fetched"
read = {{}}

[stages.encoded]
from = "bands"
encode = {{ format = "gtiff" }}

[stages.written]
from = "encoded"
write = {{ path = "out/{{id}}.tif" }}
"#
        ))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// The bytes that came are the file's, and its pixels have the sum that numpy gives.
#[track_caller]
fn assert_fetched(bench: &Bench) {
    let bytes = fs::read(bench.path("out/payload-bytes.tif")).unwrap();
    assert!(bytes == fs::read(data().join("payload.tif")).unwrap());
    assert_eq!(bytes.len(), 4382);
    let file = Dataset::open(bench.path("out/payload.tif")).unwrap();
    let pixels = file.rasterband(1).unwrap().read_band_as::<u64>().unwrap();
    assert_eq!(pixels.data().iter().sum::<u64>(), 505_160);
}

/// Runs a pipeline that must fetch the file; how long it took.
#[track_caller]
fn fetches(bench: &Bench) -> Duration {
    let begun = Instant::now();
    bench.run().expect_exit(0);
    assert_fetched(bench);
    begun.elapsed()
}

#[test]
fn s01_retry_after_is_waited_for() {
    let server = Server::start();
    let took = fetches(&server.bench("/429-twice/payload.tif", ""));
    assert!(took >= Duration::from_secs(4), "{took:?}");
    assert!(server.requests("/429-twice") >= 3);
}

#[test]
fn s02_a_busy_server_is_asked_again() {
    let server = Server::start();
    fetches(&server.bench("/503-thrice/payload.tif", "retry = { first-delay = \"10ms\" }"));
    assert!(server.requests("/503-thrice") >= 4);
}

#[test]
fn s04_what_is_missing_is_asked_for_once_and_not_remembered() {
    let server = Server::start();
    let bench = server.bench("/404-then-ok/payload.tif", "");
    bench.fails(&["404", "/404-then-ok/payload.tif"]);
    assert_eq!(server.requests("/404-then-ok"), 1);
    fetches(&bench);
}

#[test]
fn s05_half_a_body_is_no_file() {
    let server = Server::start();
    let bench = server.bench("/truncated/payload.tif", "retry = { tries = 3, first-delay = \"10ms\" }");
    bench.fails(&["/truncated/payload.tif"]);
    assert!(server.requests("/truncated") >= 3, "it may succeed when tried again");
    fetches(&server.bench("/truncated-once/payload.tif", "retry = { first-delay = \"10ms\" }"));
}

#[test]
fn s07_a_login_page_is_not_a_raster() {
    let server = Server::start();
    server.bench("/html200/payload.tif", "").fails(&["/html200/payload.tif", "HTML"]);
    assert_eq!(server.requests("/html200"), 1, "trying again would not help");
}

#[test]
fn s08_a_server_may_ignore_ranges() {
    fetches(&Server::start().bench("/norange/payload.tif", ""));
}

#[test]
fn s09_a_server_may_refuse_head() {
    fetches(&Server::start().bench("/nohead/payload.tif", ""));
}

#[test]
fn s11_a_redirect_to_a_signed_address_is_followed() {
    fetches(&Server::start().bench("/redirect-expiring/payload.tif", ""));
}

#[test]
fn s12_credentials_stay_with_their_host() {
    let server = Server::start();
    let bench = server.bench("/redirect-other/payload.tif", "");
    let access = format!(
        "[access.\"http://127.0.0.1:{}\"]\nheaders = {{ Authorization = \"Bearer token\" }}\n",
        server.port
    );
    let pipeline = fs::read_to_string(bench.path("case.toml")).unwrap();
    fs::write(bench.path("case.toml"), format!("{pipeline}\n{access}")).unwrap();
    fetches(&bench);
    // The other host answers 400 to a request that carries them.
    assert!(server.requests("/echo-auth") >= 1);
}

#[test]
fn s13_redirects_in_a_circle_end() {
    let server = Server::start();
    server.bench("/loop/payload.tif", "").fails(&["/loop/payload.tif", "redirect"]);
    assert!(server.requests("/loop") <= 25);
}

#[test]
fn s15_a_server_that_falls_silent_is_given_up() {
    let server = Server::start();
    let begun = Instant::now();
    let bench =
        server.bench("/stall/payload.tif", "timeout = \"1s\"\nretry = { tries = 2, first-delay = \"10ms\" }");
    bench.fails(&["/stall/payload.tif"]);
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[test]
fn s16_an_hour_is_not_waited_for_and_a_date_is() {
    let server = Server::start();
    let begun = Instant::now();
    server.bench("/429-hour/payload.tif", "").fails(&["/429-hour/payload.tif", "3600"]);
    assert!(begun.elapsed() < Duration::from_secs(30));
    fetches(&server.bench("/429-date/payload.tif", ""));
}
