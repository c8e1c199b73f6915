//! What a run shows while it goes: on a terminal, in a log, and to programs.

use std::process::{Command, Stdio};

use crate::job::Job;
use crate::scene::Scene;

/// NDVI of enough scenes that a terminal is drawn on.
fn job() -> Job {
    let job = Job::new(
        r#"
[stages]
scenes = { glob = { paths = ["in/*.tif"] } }
bands = { from = "scenes", read = { bands = { red = 1, nir = 2 } } }
ndvi = { from = "bands", calc = { bands = { ndvi = "(nir - red) / (nir + red)" }, dtype = "float32" } }
encoded = { from = "ndvi", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
"#,
    );
    for number in 0..40 {
        Scene::meadow_of(256).write(&job.path(&format!("in/s{number:02}.tif")));
    }
    job
}

/// All that a run writes on a terminal of 80 columns: `script` of util-linux makes one.
fn on_a_terminal(job: &Job, variables: &[(&str, &str)]) -> String {
    let program = env!("CARGO_BIN_EXE_gisrun");
    let typed = format!("stty cols 80; '{program}' job.toml --fresh --limit cores=1");
    let output = Command::new("script")
        .args(["-qec", &typed, "/dev/null"])
        .current_dir(job.path(""))
        .envs(variables.iter().copied())
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether a text sets a colour: `ESC [ … 3x m` or `ESC [ … 9x m` (ECMA-48, SGR).
fn is_coloured(text: &str) -> bool {
    text.split("\u{1b}[").skip(1).any(|rest| {
        let code: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ';').collect();
        rest[code.len()..].starts_with('m') && code.split(';').any(|part| part.starts_with(['3', '9']))
    })
}

#[test]
fn a_terminal_gets_bars_with_what_is_in_use_and_colours_where_they_are_wanted() {
    let job = job();
    let shown = on_a_terminal(&job, &[]);
    assert!(shown.contains("encoded") && shown.contains("cores 1/1"), "{shown}");
    assert!(shown.contains("`cores` binds"), "{shown}");
    assert!(is_coloured(&shown), "{shown}");
    std::fs::remove_dir_all(job.path("out")).unwrap();
    let plain = on_a_terminal(&job, &[("NO_COLOR", "1")]);
    assert!(plain.contains("cores 1/1") && !is_coloured(&plain), "{plain}");
}

#[test]
fn a_log_gets_plain_lines() {
    let said = job().run().expect_exit(0).stderr;
    assert!(!said.contains('\u{1b}'), "{said}");
    assert!(said.contains("40 items done"), "{said}");
}

#[test]
fn quiet_says_nothing_of_what_went_well_and_verbose_tells_of_every_item() {
    let job = job();
    assert_eq!(job.gisrun(&["job.toml", "--quiet"]).expect_exit(0).stderr, "");
    std::fs::remove_file(job.path("out/s07.tif")).unwrap();
    let said = job.gisrun(&["job.toml", "--verbose"]).expect_exit(0);
    said.line_with(&["done: `s07`"]);
    said.line_with(&["not run: `s08`: it is done"]);
}

#[test]
fn the_log_can_be_read_by_programs() {
    let job = job();
    let output = Command::new(env!("CARGO_BIN_EXE_gisrun"))
        .args(["job.toml", "--quiet"])
        .current_dir(job.path(""))
        .env("GISRUN_LOG", "debug")
        .env("GISRUN_LOG_FORMAT", "json")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    for line in said.lines() {
        let line: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
    }
}
