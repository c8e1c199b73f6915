//! `gisrun diff OLD NEW`: what a change to a pipeline changes in its plan, in words that a reviewer can judge.

mod compare;
mod outputs;
mod revision;
mod text;

use std::path::Path;

use crate::cli::planned::{Named, Planned};
use crate::cli::{DiffFormat, DiffRequest, Exit, output};

/// One of the two pipelines.
pub(super) struct Side {
    /// As people call it: the file, or `HEAD~1:ndvi.toml`.
    name: String,
    planned: Planned,
}

/// What the change changes.
pub(super) struct Difference {
    old: String,
    new: String,
    /// Each with a title and at least one sentence.
    sections: Vec<(&'static str, Vec<String>)>,
    outputs: outputs::Outputs,
}

/// Compares two pipelines, both planned for the same machine.
pub fn diff(request: &DiffRequest) -> Exit {
    let sides = old_side(request).and_then(|old| Ok((old, side(request, &request.new, None)?)));
    let (old, new) = match sides {
        Ok(sides) => sides,
        Err(message) => {
            output::complain(&message);
            return Exit::BadInput;
        }
    };
    let outputs = match outputs::compare(&old.planned.plan, &new.planned.plan) {
        Ok(outputs) => outputs,
        Err(message) => {
            output::complain(&format!("error: {message}"));
            return Exit::Aborted;
        }
    };
    let sections = compare::sections(&old.planned, &new.planned);
    let difference = Difference { old: old.name, new: new.name, sections, outputs };
    output::print(&match request.format {
        DiffFormat::Human => text::human(&difference),
        DiffFormat::Markdown => text::markdown(&difference),
        DiffFormat::Json => text::json(&difference),
    })
}

/// The file of that name, else the new file at that revision.
fn old_side(request: &DiffRequest) -> Result<Side, String> {
    let old = Path::new(&request.old);
    if old.exists() {
        return side(request, old, None);
    }
    let found = revision::read(&request.old, &request.new).map_err(|message| format!("error: {message}"))?;
    side(request, &request.new, Some(found))
}

/// A pipeline without errors; `committed` is what stands in its place: its name and text.
fn side(request: &DiffRequest, path: &Path, committed: Option<(String, String)>) -> Result<Side, String> {
    let named = Named { path, sets: &request.sets, machine: request.machine };
    let (name, text) =
        committed.map_or((path.display().to_string(), None), |(name, text)| (name, Some(text)));
    match named.plan_quietly(text) {
        Ok(planned) => Ok(Side { name, planned }),
        Err(faults) => Err(format!("{faults}\nerror: `{name}` has errors, and only plans can be compared")),
    }
}
