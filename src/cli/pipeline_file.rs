//! A pipeline file, read and loaded, with all that is wrong with it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::render::{Format, render};
use crate::config::{Fault, Inputs, Loaded, Schema, codes, load};

/// One file and what came of it.
#[derive(Debug)]
pub struct PipelineFile {
    /// The file, as given on the command line.
    pub path: PathBuf,
    /// Its text; empty when it cannot be read.
    pub text: String,
    /// The pipeline and its faults.
    pub loaded: Loaded,
}

impl PipelineFile {
    /// Reads and loads; a file that cannot be read is a fault like any other.
    pub fn open(path: &Path, sets: &[(String, String)], schema: &Schema) -> Self {
        match read(path) {
            Ok(text) => Self::of_text(path, text, sets, schema),
            Err(fault) => {
                let mut loaded = Loaded::default();
                loaded.add(vec![*fault]);
                Self { path: path.to_owned(), text: String::new(), loaded }
            }
        }
    }

    /// Loads a text as though it stood in the file.
    pub fn of_text(path: &Path, text: String, sets: &[(String, String)], schema: &Schema) -> Self {
        let inputs = Inputs { sets, environment: &environment };
        let loaded = load(path, &text, &inputs, schema);
        Self { path: path.to_owned(), text, loaded }
    }

    /// The folder that paths in the file are relative to.
    pub fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Its faults as text.
    pub fn render(&self, format: Format, is_coloured: bool) -> String {
        render(format, &self.path, &self.text, &self.loaded.faults, is_coloured)
    }
}

fn read(path: &Path) -> Result<String, Box<Fault>> {
    let name = path.display();
    let unreadable = |message: String| Box::new(Fault::error(codes::UNREADABLE, 0..0, message));
    let bytes = fs::read(path).map_err(|error| unreadable(format!("cannot read `{name}`: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        unreadable(format!("`{name}` is not UTF-8: byte {position} begins no character"))
    })
}

#[allow(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
pub(super) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
