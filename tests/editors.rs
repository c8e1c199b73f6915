//! What editors say of the pipelines here: Tombi and Taplo, the two engines that know `#:schema`.
//!
//! This binary runs only where it is asked for, `cargo test --test editors`, with `tombi` and `taplo` on the path.

#![allow(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn both_engines_find_no_fault_in_any_pipeline() {
    for engine in [tombi, taplo] {
        for path in pipelines() {
            let output = engine(&path);
            assert!(output.status.success(), "{}:\n{}", path.display(), said(&output));
        }
    }
}

#[test]
fn both_engines_find_a_misspelt_option() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("schema")).unwrap();
    let schema = "schema/gisrun.schema.json";
    fs::copy(Path::new(ROOT).join(schema), folder.path().join(schema)).unwrap();
    let path = folder.path().join("misspelt.toml");
    let sound = format!(
        "#:schema {schema}\n\nname = \"a\"\n\n[stages.scenes]\nglob = {{ paths = [\"in/*.tif\"] }}\n"
    );
    for engine in [tombi, taplo] {
        fs::write(&path, &sound).unwrap();
        let output = engine(&path);
        assert!(output.status.success(), "{}", said(&output));
        fs::write(&path, sound.replace("paths", "pahts")).unwrap();
        let output = engine(&path);
        assert!(!output.status.success() && said(&output).contains("pahts"), "{}", said(&output));
    }
}

fn tombi(path: &Path) -> Output {
    run(Command::new("tombi").args(["lint", "--offline", "--error-on-warnings"]).arg(path))
}

fn taplo(path: &Path) -> Output {
    run(Command::new("taplo").args(["check", "--colors", "never"]).arg(path))
}

fn run(command: &mut Command) -> Output {
    let name = command.get_program().to_string_lossy().into_owned();
    command.current_dir(ROOT).output().unwrap_or_else(|error| panic!("`{name}` is needed: {error}"))
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn pipelines() -> Vec<PathBuf> {
    let folders = ["pipelines", "examples"].map(|folder| Path::new(ROOT).join(folder));
    let files =
        folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|suffix| suffix == "toml")).collect()
}
