//! Outputs of local items that are in each other's way: two at one path, or one that is an input.
//!
//! Items are listed as a run would list them, without asking a server; a source that needs one lists nothing here.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::cli::foresight::{Requests, foresee};
use crate::config::{AsWritten, Fault, Span};
use crate::contract::{Kind, Location};
use crate::engine::Prospect;
use crate::ids::{ItemId, StageName};
use crate::ledger::Snapshot;
use crate::plan::{Plan, codes};

/// The faults among the outputs of a plan's local items: of each kind the first of each stage.
pub(crate) fn faults(written: &AsWritten, plan: &Plan) -> Vec<Fault> {
    if !is_listed_at_once(plan) {
        return Vec::new();
    }
    let foreseen = foresee(written, plan, Requests::None, Snapshot::default());
    let Ok(foreseen) = foreseen else { return Vec::new() };
    let mut faults = Vec::new();
    faults.extend(same_outputs(written, plan, &foreseen.items));
    faults.extend(outputs_that_are_inputs(written, plan, &foreseen.items));
    faults
}

/// Whether an item is what its source says: groups are known only when all headers are read.
fn is_listed_at_once(plan: &Plan) -> bool {
    let regroups = |kind: Kind| matches!(kind, Kind::Regroup(_));
    !plan.stages.iter().any(|stage| regroups(stage.op.clone().kind()))
}

/// Every local output with its item and stage.
fn outputs(items: &[Prospect]) -> impl Iterator<Item = (&Path, &ItemId, &StageName)> {
    items.iter().flat_map(|prospect| {
        prospect.outputs.iter().filter_map(move |(stage, place)| match place {
            Location::Local(path) => Some((path.as_path(), &prospect.item, stage)),
            Location::Remote(_) => None,
        })
    })
}

fn same_outputs(written: &AsWritten, plan: &Plan, items: &[Prospect]) -> Vec<Fault> {
    let mut known: HashMap<PathBuf, &ItemId> = HashMap::new();
    let mut told = HashSet::new();
    let mut faults = Vec::new();
    for (path, item, stage) in outputs(items) {
        let Some(first) = known.insert(resolved(path), item) else { continue };
        if first != item && told.insert(stage) {
            let path = plan.shown(path).display();
            let message = format!("the items `{first}` and `{item}` both write to `{path}`");
            let fault = Fault::error(codes::SAME_OUTPUT, place(written, stage), message);
            faults.push(fault.help("name what tells the items apart: `{id}`, or `{folder}/{stem}`"));
        }
    }
    faults
}

fn outputs_that_are_inputs(written: &AsWritten, plan: &Plan, items: &[Prospect]) -> Vec<Fault> {
    let inputs: HashMap<(u64, u64), &PathBuf> = items
        .iter()
        .flat_map(|item| item.inputs.iter())
        .filter_map(|path| Some((file(path)?, path)))
        .collect();
    let mut told = HashSet::new();
    let mut faults = Vec::new();
    for (path, item, stage) in outputs(items) {
        let Some(input) = file(path).and_then(|file| inputs.get(&file)) else { continue };
        if told.insert(stage) {
            let (path, input) = (plan.shown(path).display(), plan.shown(input).display());
            let message = format!("the output `{path}` of `{item}` is the input `{input}`");
            let fault = Fault::error(codes::OUTPUT_IS_INPUT, place(written, stage), message);
            faults.push(fault.help("write to another folder: an input is never written over"));
        }
    }
    faults
}

/// A path with the links on the way to it followed; the file itself need not be there.
fn resolved(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// What tells one file from another, whatever its name: device and inode.
fn file(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Where a stage says what it writes.
fn place(written: &AsWritten, stage: &StageName) -> Span {
    let found = written.stages.iter().find(|other| other.name.value == *stage);
    let key = |stage: &crate::config::Stage| {
        let value = stage.options.get("path").or_else(|| stage.options.get("outputs"));
        value.map_or_else(|| stage.op.span.clone(), |value| value.span.clone())
    };
    found.map_or(0..0, key)
}
