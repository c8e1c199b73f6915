//! Every pipeline for people, in `pipelines/`, `examples/` and the README, is right to the program and to editors.

#![allow(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gisrun::config;
use serde_json::Value as Json;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_program_finds_no_fault_in_any_pipeline() {
    for path in pipelines() {
        let check = Command::new(env!("CARGO_BIN_EXE_gisrun"))
            .args(["check", "--deny-warnings"])
            .arg(&path)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&check.stdout);
        assert!(check.status.success(), "{}:\n{told}", path.display());
    }
}

#[test]
fn the_schema_finds_no_fault_in_any_pipeline() {
    let schema = fs::read_to_string(Path::new(ROOT).join("schema/gisrun.schema.json")).unwrap();
    let schema: Json = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for path in pipelines() {
        let (tree, faults) = config::parse(&fs::read_to_string(&path).unwrap());
        assert_eq!(faults, [], "{}", path.display());
        let complaints: Vec<_> =
            validator.iter_errors(&tree.to_json()).map(|error| error.to_string()).collect();
        assert_eq!(complaints, Vec::<String>::new(), "{}", path.display());
    }
}

#[test]
fn every_pipeline_names_its_schema_for_editors() {
    for path in pipelines() {
        let text = fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        let named = lines.next().and_then(|line| line.strip_prefix("#:schema ")).unwrap_or_default();
        let schema = path.parent().unwrap().join(named);
        assert!(
            schema.is_file() && schema.ends_with("schema/gisrun.schema.json"),
            "{}: the first line names no schema",
            path.display()
        );
        assert_eq!(lines.next(), Some(""), "{}: an empty line follows the schema", path.display());
    }
}

#[test]
fn the_readme_shows_pipelines_that_are_files_here() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let shown: Vec<&str> =
        readme.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!shown.is_empty(), "the README shows no pipeline");
    let files: Vec<String> = pipelines().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    for text in shown {
        assert!(files.iter().any(|file| file == text), "no file in pipelines/ or examples/ is\n{text}");
    }
}

/// The example in the manual of an op, as a stage of a pipeline that ends in a file.
#[test]
fn the_example_of_every_op_checks_clean() {
    let folder = tempfile::tempdir().unwrap();
    let registry = gisrun::ops::registry();
    for entry in registry.entries() {
        let above = entry.accepts.first().map_or("", |port| feeders(*port));
        let from = if above.is_empty() { "" } else { "from = 'above'\n" };
        let text =
            format!("name = 'example'\n{above}[stages.example]\n{from}{} = {}\n", entry.name, entry.example);
        let path = folder.path().join("example.toml");
        fs::write(&path, &text).unwrap();
        let check = Command::new(env!("CARGO_BIN_EXE_gisrun")).arg("check").arg(&path).output().unwrap();
        let told = String::from_utf8_lossy(&check.stdout);
        assert!(check.status.success(), "{text}\n{told}");
    }
}

/// Stages of which the last, `above`, gives a port.
fn feeders(port: gisrun::contract::Port) -> &'static str {
    use gisrun::contract::Port;
    match port {
        Port::Asset => "[stages.above]\nlist = { uris = ['a.tif'] }\n",
        Port::Blob => "[stages.a]\nlist = { uris = ['a.tif'] }\n[stages.above]\nfrom = 'a'\nfetch = {}\n",
        Port::Raster => {
            "[stages.a]\nlist = { uris = ['a.tif'] }\n[stages.above]\nfrom = 'a'\nread = { bands = { red = 1, nir = 2, scl = 3 } }\n"
        }
        Port::Rows => {
            "[stages.a]\nlist = { uris = ['a.tif'] }\n[stages.b]\nfrom = 'a'\nread = { bands = { red = 1 } }\n\
             [stages.above]\nfrom = 'b'\nstats = {}\n"
        }
        Port::Encoded => {
            "[stages.a]\nlist = { uris = ['a.tif'] }\n[stages.b]\nfrom = 'a'\nread = { bands = { red = 1 } }\n\
             [stages.above]\nfrom = 'b'\nencode = { format = 'cog' }\n"
        }
        Port::File => {
            "[stages.a]\nlist = { uris = ['a.tif'] }\n[stages.b]\nfrom = 'a'\nfetch = {}\n\
             [stages.above]\nfrom = 'b'\nwrite = { path = 'out/{id}' }\n"
        }
    }
}

#[test]
fn every_starter_checks_clean_and_plans() {
    for inputs in ["folder", "list", "stac"] {
        for makes in ["images", "statistics", "program"] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("scenes.txt"), "in/a.tif\n").unwrap();
            let gisrun = |arguments: &[&str]| {
                let output = Command::new(env!("CARGO_BIN_EXE_gisrun"))
                    .args(arguments)
                    .current_dir(folder.path())
                    .output()
                    .unwrap();
                let told = [&output.stdout[..], &output.stderr[..]]
                    .map(|text| String::from_utf8_lossy(text).into_owned());
                assert!(output.status.success(), "{inputs} {makes} {arguments:?}\n{}", told.concat());
                told.concat()
            };
            let said = gisrun(&["init", "job.toml", "--inputs", inputs, "--makes", makes]);
            assert!(said.contains("gisrun check job.toml"), "{said}");
            gisrun(&["check", "--deny-warnings", "job.toml"]);
            gisrun(&["plan", "--offline", "job.toml"]);
            assert!(folder.path().join("schema/gisrun.schema.json").is_file());
        }
    }
}

/// All of them, in the order of their paths.
fn pipelines() -> Vec<PathBuf> {
    let folders = ["pipelines", "examples"].map(|folder| Path::new(ROOT).join(folder));
    let files =
        folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let mut pipelines: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|suffix| suffix == "toml")).collect();
    pipelines.sort();
    assert!(pipelines.len() >= 2, "{pipelines:?}");
    pipelines
}

/// What shells complete and the manual shows are the commands that there are.
#[test]
fn completions_and_the_man_page_name_every_command() {
    let gisrun = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_gisrun")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for arguments in
        [&["completions", "bash"][..], &["completions", "zsh"], &["completions", "fish"], &["man"]]
    {
        let text = gisrun(arguments);
        for command in ["check", "plan", "diff", "graph", "report", "sweep", "schema", "ops", "init"] {
            assert!(text.contains(command), "{arguments:?} lacks `{command}`");
        }
    }
}
