//! `gisrun check FILE…`: every fault of every kind at once.

pub(super) mod collisions;

use std::path::{Path, PathBuf};

use crate::cli::planned::Named;
use crate::cli::render::{Format, counted};
use crate::cli::{CheckRequest, Exit, PipelineFile, output};
use crate::ops;

/// Checks files; 2 if one has an error.
pub fn check(request: &CheckRequest) -> Exit {
    let paths = match paths(&request.files) {
        Ok(paths) => paths,
        Err(message) => {
            output::complain(&format!("error: {message}"));
            return Exit::BadInput;
        }
    };
    let registry = ops::registry();
    let mut tally = Tally::default();
    for path in &paths {
        let named = Named { path, sets: &request.sets, machine: request.machine };
        let (file, _) = named.resolve_with_items(&registry);
        output::print(&file.render(request.format, output::takes_colour()));
        tally.count(&file);
    }
    if request.format == Format::Human {
        output::complain(&tally.summary());
    }
    tally.exit(request.deny_warnings)
}

/// The files that the arguments name; a pattern names those that it matches.
fn paths(files: &[String]) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for file in files {
        let is_pattern = file.contains(['*', '?', '[']) && !Path::new(file).exists();
        if is_pattern { paths.extend(matches(file)?) } else { paths.push(file.into()) }
    }
    Ok(paths)
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>, String> {
    let found = glob::glob(pattern).map_err(|error| format!("`{pattern}` is not a pattern: {error}"))?;
    let paths: Vec<PathBuf> = found.filter_map(Result::ok).collect();
    if paths.is_empty() { Err(format!("`{pattern}` matches no file")) } else { Ok(paths) }
}

/// What was found in all files.
#[derive(Default)]
struct Tally {
    files: usize,
    errors: usize,
    warnings: usize,
}

impl Tally {
    fn count(&mut self, file: &PipelineFile) {
        self.files += 1;
        self.errors += file.loaded.errors();
        self.warnings += file.loaded.faults.len() - file.loaded.errors();
    }

    fn summary(&self) -> String {
        match (self.errors, self.warnings) {
            (0, 0) => format!("{} without faults", counted(self.files, "file")),
            (0, warnings) => counted(warnings, "warning"),
            (errors, 0) => counted(errors, "error"),
            (errors, warnings) => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
        }
    }

    fn exit(&self, deny_warnings: bool) -> Exit {
        if self.errors > 0 || (deny_warnings && self.warnings > 0) { Exit::BadInput } else { Exit::Done }
    }
}
