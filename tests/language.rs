//! Broken pipelines and what is said of them, whole: `tests/language/*.toml` beside their snapshots.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test stops at what cannot be")]

use std::fs;
use std::path::{Path, PathBuf};

use gisrun::cli::render::{Format, render};
use gisrun::config::{self, Inputs, Loaded, Schema, codes};

#[path = "language/fake_ops.rs"]
mod fake_ops;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/language");

#[test]
fn broken_pipelines_get_these_diagnostics() {
    let schema = fake_ops::schema();
    for path in pipelines("broken") {
        let (name, text) = (stem(&path), fs::read_to_string(&path).unwrap());
        let loaded = load(&text, &schema);
        assert!(loaded.errors() > 0, "`{name}` is not broken");
        let output = render(Format::Human, Path::new(&format!("{name}.toml")), &text, &loaded.faults, false);
        insta::with_settings!({ snapshot_path => "language/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, output);
        });
    }
}

#[test]
fn sound_pipelines_get_none() {
    let schema = fake_ops::schema();
    for path in pipelines("sound") {
        let loaded = load(&fs::read_to_string(&path).unwrap(), &schema);
        assert_eq!(loaded.faults, [], "{}", path.display());
        assert!(loaded.pipeline.is_some(), "{}", path.display());
    }
}

/// Every code of the language is caused by one of the broken pipelines, or by what no file can cause.
#[test]
fn every_code_has_a_pipeline_that_causes_it() {
    let schema = fake_ops::schema();
    let caused: Vec<&str> = pipelines("broken")
        .iter()
        .flat_map(|path| load(&fs::read_to_string(path).unwrap(), &schema).faults)
        .map(|fault| fault.code)
        .collect();
    let elsewhere = [codes::UNREADABLE, codes::UNSET_PARAMETER];
    for (code, _) in codes::ALL {
        assert!(caused.contains(code) || elsewhere.contains(code), "no pipeline causes `{code}`");
    }
}

fn load(text: &str, schema: &Schema) -> Loaded {
    config::load(Path::new("pipeline.toml"), text, &Inputs::NONE, schema)
}

fn pipelines(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(FOLDER).join(kind);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}
