//! What editors say of the pipelines here and offer in them: Tombi and Taplo, the two engines that know `#:schema`.
//!
//! This binary runs only where it is asked for, `cargo test --test editors`, with `tombi`, `taplo` and `node` on the path and
//! NODE_PATH naming a folder with the npm package `@taplo/lsp`, the language server that editors run.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test stops at what cannot be")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

#[path = "editors/broken.rs"]
mod broken;
#[path = "editors/completions.rs"]
mod completions;
#[path = "language/fake_ops.rs"]
mod fake_ops;
#[path = "editors/language_server.rs"]
mod language_server;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn both_engines_find_no_fault_in_any_pipeline() {
    for engine in [tombi, taplo] {
        for name in pipelines() {
            let output = engine(Path::new(ROOT), &name);
            assert!(output.status.success(), "{name}:\n{}", said(&output));
        }
    }
}

/// The same look at a pipeline with a fault finds it: the engines do see the schema.
#[test]
fn both_engines_find_a_misspelt_option() {
    let folder = tempfile::tempdir().unwrap();
    for name in [".taplo.toml", "tombi.toml", "schema/gisrun.schema.json"] {
        let copy = folder.path().join(name);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(Path::new(ROOT).join(name), copy).unwrap();
    }
    fs::create_dir(folder.path().join("examples")).unwrap();
    let sound = fs::read_to_string(Path::new(ROOT).join("examples/ndvi.toml")).unwrap();
    for engine in [tombi, taplo] {
        for (text, is_sound) in [(sound.clone(), true), (sound.replace("paths", "pahts"), false)] {
            fs::write(folder.path().join("examples/ndvi.toml"), text).unwrap();
            let output = engine(folder.path(), "examples/ndvi.toml");
            assert_eq!(output.status.success(), is_sound, "{}", said(&output));
            assert_eq!(said(&output).contains("pahts"), !is_sound, "{}", said(&output));
        }
    }
}

fn tombi(folder: &Path, pipeline: &str) -> Output {
    run(Command::new("tombi")
        .args(["lint", "--offline", "--error-on-warnings", pipeline])
        .current_dir(folder))
}

/// It looks only at files below the folder that its settings include, so paths are relative.
fn taplo(folder: &Path, pipeline: &str) -> Output {
    run(Command::new("taplo").args(["check", "--colors", "never", pipeline]).current_dir(folder))
}

fn run(command: &mut Command) -> Output {
    let name = command.get_program().to_string_lossy().into_owned();
    command.output().unwrap_or_else(|error| panic!("`{name}` is needed: {error}"))
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The paths of all pipelines, relative to the repository.
fn pipelines() -> Vec<String> {
    let mut pipelines = Vec::new();
    for folder in ["pipelines", "examples"] {
        let names = fs::read_dir(Path::new(ROOT).join(folder)).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        pipelines.extend(names.filter(|name| name.ends_with(".toml")).map(|name| format!("{folder}/{name}")));
    }
    assert!(!pipelines.is_empty());
    pipelines
}
