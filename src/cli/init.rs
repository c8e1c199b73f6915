//! `gisrun init FILE`: a pipeline to begin with, and the schema beside it that editors complete it from.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::cli::{Exit, output, schema};
use crate::ops;

/// Where the schema is written, relative to the pipeline.
const SCHEMA: &str = "schema/gisrun.schema.json";

/// The pipeline that `init` writes.
pub(super) const STARTER: &str = r#"#:schema schema/gisrun.schema.json

name = "ndvi"
description = "The vegetation index of every scene of a folder, as cloud-optimised GeoTIFFs."

# `gisrun pipeline.toml --set 'scenes=other/*.tif'` replaces a parameter.
[params]
scenes = { default = "in/*.tif", help = "the files to read" }

# Limits, named after what runs out. Those that are not declared have defaults; `gisrun plan pipeline.toml` shows them.
[resources]
cores.slots = "cores - 1"
memory.bytes = "50%"

# Each stage has common keys (`from`, `uses`, `retry`, …) and exactly one op with its options; `gisrun ops` lists the ops.
[stages.scenes]
glob = { paths = ["${scenes}"] }

[stages.bands]
from = "scenes"
read = { bands = { red = 3, nir = 4 } }

[stages.ndvi]
from = "bands"
calc = { bands = { ndvi = "(nir - red) / (nir + red)" }, dtype = "float32" }

[stages.encoded]
from = "ndvi"
encode = { format = "cog" }

[stages.written]
from = "encoded"
write = { path = "out/{id}_ndvi.tif" }
"#;

pub(super) fn init(path: &Path) -> Exit {
    let schema = path.with_file_name(SCHEMA);
    let written = write_new(path, STARTER)
        .and_then(|()| write_schema(&schema))
        .map(|()| format!("wrote `{0}`; next: `gisrun check {0}`", path.display()));
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
