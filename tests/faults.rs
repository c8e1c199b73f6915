//! Broken pipelines of the ops that there are, each checked by the real program: `tests/faults/broken/*.toml` beside what is
//! said of them, whole; and the table of codes, of which each is caused by one of the broken pipelines.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test stops at what cannot be")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gisrun::config::{self, Inputs};
use gisrun::{contract, ops, plan, remote};

#[path = "language/fake_ops.rs"]
mod fake_ops;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");

/// A machine on which every figure is the same everywhere.
const MACHINE: &str = "cores=8,memory=16GiB,descriptors=1024";

#[test]
fn broken_pipelines_get_these_diagnostics() {
    for path in pipelines("faults/broken") {
        let output = check(&path, &["--deny-warnings"]);
        assert_eq!(output.status.code(), Some(2), "`{}` is not broken", path.display());
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        insta::with_settings!({ snapshot_path => "faults/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(stem(&path), said);
        });
    }
}

/// With what `tests/language` has: fifty fail on the schema or the types, the others on what ops and plan know.
#[test]
fn sixty_pipelines_are_broken() {
    let count = pipelines("faults/broken").len() + pipelines("language/broken").len();
    assert!(count >= 60, "{count}");
}

/// The same faults, as programs and as GitHub get them: one line each, which names the file and a place in it.
#[test]
fn every_format_tells_every_fault() {
    for name in ["access", "everything_at_once", "formulas", "port_mismatch", "unused"] {
        let path = Path::new(TESTS).join(format!("faults/broken/{name}.toml"));
        let json = text(&check(&path, &["--format", "json"]).stdout);
        let github = text(&check(&path, &["--format", "github"]).stdout);
        let human = text(&check(&path, &[]).stdout);
        let faults: Vec<serde_json::Value> =
            json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(faults.len(), github.lines().count(), "{}", path.display());
        for (fault, annotation) in faults.iter().zip(github.lines()) {
            let (severity, code) = (fault["severity"].as_str().unwrap(), fault["code"].as_str().unwrap());
            let place = format!("line={},", fault["line"]);
            assert!(
                annotation.starts_with(&format!("::{severity} file=")) && annotation.contains(&place),
                "{annotation}"
            );
            assert!(human.contains(&format!("{severity}[{code}]: ")), "{code}\n{human}");
        }
    }
}

#[test]
fn warnings_pass_unless_they_are_denied() {
    let path = Path::new(TESTS).join("faults/broken/idle_isolation.toml");
    assert_eq!(check(&path, &[]).status.code(), Some(0));
    assert_eq!(check(&path, &["--deny-warnings"]).status.code(), Some(2));
}

#[test]
fn a_pattern_checks_all_files_that_it_matches() {
    let check = |pattern: &str| {
        let mut check = Command::new(env!("CARGO_BIN_EXE_gisrun"));
        check.args(["check", pattern]).current_dir(Path::new(TESTS).join("faults/broken")).output().unwrap()
    };
    let output = check("unk*_st*.toml");
    let said = text(&output.stdout);
    assert!(said.contains("unknown_stage.toml:") && !said.contains("unit_in_stage.toml:"), "{said}");
    assert_eq!(check("nothing*.yaml").status.code(), Some(2));
}

/// What no file can cause here: it is not there, the run lacks a value, or the schema knows an op that the registry does not.
const ELSEWHERE: [&str; 3] = ["unreadable", "unset-parameter", "unknown-op"];

#[test]
fn every_code_of_the_documentation_is_caused_by_a_pipeline() {
    let caused = caused();
    for code in codes() {
        assert!(caused.contains(code) || ELSEWHERE.contains(&code), "no pipeline causes `{code}`");
    }
}

#[test]
fn files_that_cannot_be_read_and_values_that_are_missing_have_codes_too() {
    let folder = tempfile::tempdir().unwrap();
    let gone = check(&folder.path().join("nowhere.toml"), &[]);
    assert!(text(&gone.stdout).starts_with("error[unreadable]: "), "{}", text(&gone.stdout));
    let path = folder.path().join("x.toml");
    let pipeline =
        "name = 'x'\n[params]\ntoken = { env = true }\n[stages.a]\nglob = { paths = ['${token}/*'] }\n";
    fs::write(&path, pipeline).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_gisrun")).arg(&path).env_remove("TOKEN").output().unwrap();
    assert!(text(&run.stderr).contains("error[unset-parameter]: "), "{}", text(&run.stderr));
}

/// The table of `docs/diagnostics.md` and the codes of the program are the same, in the same order.
#[test]
fn the_documentation_lists_exactly_the_codes_that_exist() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/diagnostics.md")).unwrap();
    let documented: String =
        page.lines().filter(|line| line.starts_with("| `")).fold(String::new(), |mut rows, row| {
            _ = writeln!(rows, "{row}");
            rows
        });
    let declared: String =
        tables().iter().flat_map(|table| table.iter()).fold(String::new(), |mut rows, (code, meaning)| {
            _ = writeln!(rows, "| `{code}` | {meaning} |");
            rows
        });
    assert!(documented == declared, "the table of docs/diagnostics.md is to be\n{declared}");
}

fn tables() -> [&'static [(&'static str, &'static str)]; 5] {
    [config::codes::ALL, plan::codes::ALL, ops::codes::ALL, contract::codes::ALL, remote::codes::ALL]
}

fn codes() -> BTreeSet<&'static str> {
    let codes: Vec<&str> = tables().iter().flat_map(|table| table.iter().map(|(code, _)| *code)).collect();
    let unique: BTreeSet<&str> = codes.iter().copied().collect();
    assert_eq!(unique.len(), codes.len(), "a code stands for two things");
    unique
}

/// The codes that the broken pipelines here and in `tests/language` cause.
fn caused() -> BTreeSet<String> {
    let schema = fake_ops::schema();
    let of_text = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        config::load(Path::new("x.toml"), &text, &Inputs::NONE, &schema).faults
    };
    let loaded = pipelines("language/broken");
    let mut caused: BTreeSet<String> =
        loaded.iter().flat_map(of_text).map(|fault| fault.code.to_owned()).collect();
    for path in pipelines("faults/broken") {
        for line in text(&check(&path, &["--format", "json"]).stdout).lines() {
            let fault: serde_json::Value = serde_json::from_str(line).unwrap();
            caused.insert(fault["code"].as_str().unwrap().to_owned());
        }
    }
    caused
}

fn check(path: &Path, flags: &[&str]) -> Output {
    let mut check = Command::new(env!("CARGO_BIN_EXE_gisrun"));
    check.args(["check", "--machine", MACHINE]).args(flags);
    check.arg(path.file_name().unwrap()).current_dir(path.parent().unwrap()).output().unwrap()
}

fn pipelines(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(TESTS).join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|suffix| suffix == "toml")).collect();
    paths.sort();
    paths
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
