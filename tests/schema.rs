//! The schema that editors read: current, and of one mind with the program.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test stops at what cannot be")]

use std::fs;
use std::path::{Path, PathBuf};

use gisrun::config::{self, Schema};
use gisrun::{cli, ops};
use serde_json::Value as Json;

#[path = "language/fake_ops.rs"]
mod fake_ops;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_committed_schema_is_current() {
    let committed = fs::read_to_string(Path::new(ROOT).join("schema/gisrun.schema.json")).unwrap_or_default();
    let generated = cli::schema::published_text(&ops::registry());
    assert!(
        committed == generated,
        "schema/gisrun.schema.json is stale; renew it with\n    cargo run -- schema > schema/gisrun.schema.json"
    );
}

#[test]
fn the_committed_schema_of_records_is_current() {
    let committed = fs::read_to_string(Path::new(ROOT).join("schema/run.schema.json")).unwrap_or_default();
    assert!(
        committed == cli::schema::run_text(),
        "schema/run.schema.json is stale; renew it with\n    cargo run -- schema run > schema/run.schema.json"
    );
}

#[test]
fn the_schema_of_records_takes_the_lines_of_all_versions() {
    let schema = jsonschema::validator_for(&gisrun::events::schema()).unwrap();
    for version in ["run-v1.jsonl", "run-v2.jsonl"] {
        let text = fs::read_to_string(Path::new(ROOT).join("src/events/fixtures").join(version)).unwrap();
        for line in text.lines() {
            let faults: Vec<_> = schema
                .iter_errors(&serde_json::from_str(line).unwrap())
                .map(|error| error.to_string())
                .collect();
            assert_eq!(faults, Vec::<String>::new(), "{version}: {line}");
        }
    }
}

#[test]
fn the_schema_of_records_refuses_what_is_no_event() {
    let schema = jsonschema::validator_for(&gisrun::events::schema()).unwrap();
    for line in [
        r#"{"ts":1,"event":"item_painted","item":"a"}"#,
        r#"{"event":"item_finished","item":"a"}"#,
        r#"{"ts":1,"event":"item_finished"}"#,
        r#"{"ts":1,"event":"item_finished","item":3}"#,
        r#"{"ts":1,"event":"stage_started","stage":"a","item":"b","attempt":1,"waited":{}}"#,
    ] {
        assert!(!schema.is_valid(&serde_json::from_str(line).unwrap()), "{line}");
    }
}

#[test]
fn editors_accept_what_the_program_accepts() {
    let published = Published::new(&fake_ops::schema());
    for path in pipelines("sound") {
        assert_eq!(published.complaints(&path), Vec::<String>::new(), "{}", path.display());
    }
}

/// Editors cannot see syntax beyond TOML, values of parameters, or sums; every other broken pipeline is broken to them too.
#[test]
fn editors_refuse_what_the_program_refuses() {
    let beyond = ["syntax", "newer_syntax", "duplicate_keys", "parameters"];
    let published = Published::new(&fake_ops::schema());
    for path in pipelines("broken") {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if !beyond.contains(&stem) {
            assert!(!published.complaints(&path).is_empty(), "the schema accepts {}", path.display());
        }
    }
}

/// The published schema alone decides what is a valid schema of draft 7, which both editor engines read.
#[test]
fn the_schema_is_valid_draft_7() {
    for schema in [fake_ops::schema().published(), fake_ops::schema().strict().clone()] {
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
        jsonschema::draft7::meta::validate(&schema).expect("it is valid");
    }
}

#[test]
fn every_key_of_the_language_is_described() {
    let schema = fake_ops::schema().published();
    let mut bare = Vec::new();
    undescribed(&schema, "", &mut bare);
    assert_eq!(bare, Vec::<String>::new());
}

fn undescribed(schema: &Json, path: &str, bare: &mut Vec<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        if property["description"].as_str().is_none_or(str::is_empty) {
            bare.push(path.clone());
        }
        undescribed(property, &path, bare);
    }
    if schema["additionalProperties"].is_object() {
        undescribed(&schema["additionalProperties"], &format!("{path}/*"), bare);
    }
}

struct Published(jsonschema::Validator);

impl Published {
    fn new(schema: &Schema) -> Self {
        Self(jsonschema::validator_for(&schema.published()).unwrap())
    }

    /// What an editor says of the file as it stands, parameters not filled in.
    fn complaints(&self, path: &Path) -> Vec<String> {
        let (tree, _) = config::parse(&fs::read_to_string(path).unwrap());
        self.0.iter_errors(&tree.to_json()).map(|error| error.to_string()).collect()
    }
}

fn pipelines(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(ROOT).join("tests/language").join(kind);
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}
