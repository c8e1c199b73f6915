//! `--metrics` as Prometheus sees it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::job::Job;

/// What a run says of itself while it goes on.
fn metrics_of_a_run() -> String {
    let job = Job::new(
        r#"
[stages]
files = { glob = { paths = ["in/*.txt"] } }
held = { from = "files", exec = { command = ["cp", "pipe", "{output}"], outputs = { kept = ".txt" } } }
"#,
    );
    std::fs::create_dir(job.path("in")).unwrap();
    std::fs::write(job.path("in/a.txt"), "a").unwrap();
    // The program waits for the other end of the pipe, so that the run goes on until it is told to end.
    assert!(Command::new("mkfifo").arg(job.path("pipe")).status().unwrap().success());
    let mut run = Command::new(env!("CARGO_BIN_EXE_gisrun"))
        .args(["job.toml", "--metrics", "0"])
        .current_dir(job.path(""))
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(run.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("metrics at http://").and_then(|it| it.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("it does not say where: {line}")).to_owned();
    let mut text = scrape(&address);
    while !text.contains("gisrun_stage_items_running{stage=\"held\"} 1") {
        text = scrape(&address);
    }
    drop(std::fs::OpenOptions::new().write(true).open(job.path("pipe")).unwrap());
    run.wait().unwrap();
    text
}

fn scrape(address: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.write_all(b"GET /metrics HTTP/1.1\r\nHost: gisrun\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[test]
fn promtool_has_nothing_to_say_against_the_metrics_of_a_run() {
    let text = metrics_of_a_run();
    let mut check = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    check.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = check.wait_with_output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.trim().is_empty(), "{said}\n{text}");
}
