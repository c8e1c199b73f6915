//! Outputs of local items that are in each other's way: two at one place, or one that is an input.
//!
//! Items are listed as a run would list them, without asking a server; a source that needs one lists nothing here.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::cli::foresight::{Requests, foresee};
use crate::config::{AsWritten, Fault, Span, Stage};
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
    let look = Look { written, plan, items: &foreseen.items };
    look.same_outputs().into_iter().chain(look.outputs_that_are_inputs()).collect()
}

/// Whether an item is what its source says: groups are known only when all headers are read.
fn is_listed_at_once(plan: &Plan) -> bool {
    !plan.stages.iter().any(|stage| matches!(stage.op.clone().kind(), Kind::Regroup(_)))
}

/// What is looked at.
struct Look<'a> {
    written: &'a AsWritten,
    plan: &'a Plan,
    items: &'a [Prospect],
}

impl<'a> Look<'a> {
    fn same_outputs(&self) -> Vec<Fault> {
        let mut known: HashMap<String, &ItemId> = HashMap::new();
        let mut folders = Folders::default();
        let mut told = HashSet::new();
        let mut faults = Vec::new();
        for (place, item, stage) in self.outputs() {
            let Some(first) = known.insert(folders.resolved(place), item) else { continue };
            if first != item && told.insert(stage) {
                let place = self.shown(place);
                let message = format!("the items `{first}` and `{item}` both write to `{place}`");
                let fault = Fault::error(codes::SAME_OUTPUT, self.key_of(stage), message);
                faults.push(fault.help("name what tells the items apart: `{id}`, or `{folder}/{stem}`"));
            }
        }
        faults
    }

    fn outputs_that_are_inputs(&self) -> Vec<Fault> {
        let inputs = self.items.iter().flat_map(|item| item.inputs.iter());
        let inputs: HashMap<Identity, &Location> =
            inputs.filter_map(|place| Some((identity(place)?, place))).collect();
        let mut told = HashSet::new();
        let mut faults = Vec::new();
        for (place, item, stage) in self.outputs() {
            let Some(input) = identity(place).and_then(|file| inputs.get(&file)) else { continue };
            if told.insert(stage) {
                let (place, input) = (self.shown(place), self.shown(input));
                let message = format!("the output `{place}` of `{item}` is the input `{input}`");
                let fault = Fault::error(codes::OUTPUT_IS_INPUT, self.key_of(stage), message);
                faults.push(fault.help("write to another folder: an input is never written over"));
            }
        }
        faults
    }

    /// Every output with its item and stage.
    fn outputs(&self) -> impl Iterator<Item = (&'a Location, &'a ItemId, &'a StageName)> {
        let of_item = |prospect: &'a Prospect| {
            prospect.outputs.iter().map(move |(stage, place)| (place, &prospect.item, stage))
        };
        self.items.iter().flat_map(of_item)
    }

    /// A place as people of this pipeline see it.
    fn shown(&self, place: &Location) -> String {
        match place {
            Location::Local(path) => self.plan.shown(path).display().to_string(),
            Location::Remote(_) => place.to_string(),
        }
    }

    /// Where a stage says what it writes.
    fn key_of(&self, stage: &StageName) -> Span {
        let found = self.written.stages.iter().find(|other| other.name.value == *stage);
        let key = |stage: &Stage| {
            let value = stage.options.get("path").or_else(|| stage.options.get("outputs"));
            value.map_or_else(|| stage.op.span.clone(), |value| value.span.clone())
        };
        found.map_or(0..0, key)
    }
}

/// Folders as they were written, and with the links on the way to them followed; `None` for those that are not there.
#[derive(Default)]
struct Folders(HashMap<PathBuf, Option<PathBuf>>);

impl Folders {
    /// A place with the links on the way to it followed; the file itself need not be there.
    fn resolved(&mut self, place: &Location) -> String {
        let Location::Local(path) = place else { return place.to_string() };
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return path.display().to_string();
        };
        if !self.0.contains_key(folder) {
            self.0.insert(folder.to_owned(), fs::canonicalize(folder).ok());
        }
        self.0[folder].as_deref().unwrap_or(folder).join(name).display().to_string()
    }
}

/// What tells one file from another, whatever its name.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    /// Device and inode.
    File(u64, u64),
    /// An address without its query.
    Object(String),
}

/// `None` where there is no such file.
fn identity(place: &Location) -> Option<Identity> {
    let of_file = |path: &Path| fs::metadata(path).ok().map(|file| Identity::File(file.dev(), file.ino()));
    match place {
        Location::Local(path) => of_file(path),
        Location::Remote(_) => Some(Identity::Object(place.to_string())),
    }
}
