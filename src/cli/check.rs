//! `gisrun check FILE…`: every fault of every kind at once.

use std::path::{Path, PathBuf};

use crate::cli::render::{Format, counted};
use crate::cli::{CheckRequest, Exit, PipelineFile, output, schema};
use crate::config::{AsWritten, Fault};
use crate::contract::{Environment, Registry};
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
    let schema = schema::compile(&registry);
    let mut tally = Tally::default();
    for path in &paths {
        let mut file = PipelineFile::open(path, &request.sets, &schema);
        let further =
            file.loaded.pipeline.as_ref().map(|pipeline| further_faults(pipeline, &file, &registry));
        file.loaded.add(further.unwrap_or_default());
        output::print(&file.render(request.format, output::takes_colour()));
        tally.count(&file);
    }
    if request.format == Format::Human {
        output::complain(&tally.summary());
    }
    tally.exit(request.deny_warnings)
}

/// What is found only once the whole file is typed: the options that the ops themselves check.
fn further_faults(pipeline: &AsWritten, file: &PipelineFile, registry: &Registry) -> Vec<Fault> {
    let environment = Environment { folder: file.folder().to_owned(), grids: pipeline.grids.clone() };
    let compile = |stage: &crate::config::Stage| {
        let entry = registry.get(&stage.op.value)?;
        (entry.compile)(&stage.options, &environment).err()
    };
    pipeline.stages.iter().filter_map(compile).flatten().collect()
}

/// The files that the arguments name; a pattern names those that it matches.
fn paths(files: &[String]) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for file in files {
        let is_pattern = file.contains(['*', '?', '[']) && !Path::new(file).exists();
        match is_pattern {
            true => paths.extend(matches(file)?),
            false => paths.push(file.into()),
        }
    }
    Ok(paths)
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>, String> {
    let found = glob::glob(pattern).map_err(|error| format!("`{pattern}` is not a pattern: {error}"))?;
    let paths: Vec<PathBuf> = found.filter_map(Result::ok).collect();
    match paths.is_empty() {
        true => Err(format!("`{pattern}` matches no file")),
        false => Ok(paths),
    }
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
        match self.errors > 0 || (deny_warnings && self.warnings > 0) {
            true => Exit::BadInput,
            false => Exit::Done,
        }
    }
}
