//! `gisrun init FILE`: a pipeline to begin with, and the schema beside it that editors complete it from.

mod starter;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::cli::{Exit, Inputs, Makes, output, schema};
use crate::ops;

use starter::starter;

/// Where the schema is written, relative to the pipeline.
const SCHEMA: &str = "schema/gisrun.schema.json";

pub(super) fn init(path: &Path, inputs: Inputs, makes: Makes) -> Exit {
    let schema = path.with_file_name(SCHEMA);
    let written =
        write_new(path, &starter(SCHEMA, inputs, makes)).and_then(|()| write_schema(&schema)).map(|()| {
            format!("wrote `{0}` and `{1}`; next: `gisrun check {0}`", path.display(), schema.display())
        });
    match written {
        Ok(message) => output::complain(&message),
        Err(message) => {
            output::complain(&format!("error: {message}"));
            Exit::BadInput
        }
    }
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str) -> Result<(), String> {
    let name = path.display();
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => format!("`{name}` exists and is left as it is; give another name"),
            _ => format!("cannot write `{name}`: {error}"),
        })?;
    file.write_all(text.as_bytes()).map_err(|error| format!("cannot write `{name}`: {error}"))
}

/// The schema is this program's, so an older one is renewed.
fn write_schema(path: &Path) -> Result<(), String> {
    let text = schema::published_text(&ops::registry());
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}
