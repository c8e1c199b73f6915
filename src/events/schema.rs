//! The JSON schema of one line of `run.jsonl`.

use schemars::generate::SchemaSettings;
use serde_json::Value as Json;

use super::Record;

/// The schema of one line, for this version of the vocabulary (JSON schema 2020-12).
///
/// A program that reads records must leave out events and fields that it does not know: the schema allows further
/// fields, and a later version has further events.
pub fn schema() -> Json {
    let mut schema =
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Record>().to_value();
    schema["title"] = "One line of a run.jsonl of gisrun".into();
    schema
}
