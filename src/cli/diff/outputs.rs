//! Which outputs a change makes stale: by the fingerprints of all, and by the ledger of those that are done.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::engine::Manifests;
use crate::ids::ItemId;
use crate::ledger::{Snapshot, State, differences};
use crate::plan::Plan;

/// What becomes of outputs.
pub(super) struct Outputs {
    /// The changes that make what is done stale; empty where nothing becomes stale.
    pub(super) reasons: Vec<String>,
    /// The ledgers of both where they differ: nothing that is done is known any more.
    pub(super) moved: Option<(String, String)>,
    /// The items that are done in the new pipeline's ledger, and those of them that become stale, sorted.
    pub(super) done: usize,
    pub(super) stale: Vec<ItemId>,
    /// Whether there is a ledger to look at.
    pub(super) has_ledger: bool,
    /// Templates of files that are written no more; what stands there stays.
    pub(super) left: Vec<String>,
}

/// What becomes of the outputs of `old` when `new` is run.
///
/// # Errors
/// The ledger cannot be read.
pub(super) fn compare(old: &Plan, new: &Plan) -> Result<Outputs, String> {
    let (before, after) = (Manifests::of_plan(old).options(), Manifests::of_plan(new).options());
    let earlier = Snapshot::read(&new.run.ledger).map_err(|error| error.to_string())?;
    let done: Vec<_> = earlier.entries.iter().filter(|(_, entry)| entry.state == State::Done).collect();
    let stale = done.iter().filter(|(_, entry)| entry.manifest.options != after);
    let stale: BTreeSet<ItemId> = stale.map(|(item, _)| ItemId::clone(item)).collect();
    let place = |plan: &Plan| plan.shown(&plan.run.ledger).display().to_string();
    Ok(Outputs {
        reasons: reasons(&parsed(&before), &parsed(&after)),
        moved: (old.run.ledger.file_name() != new.run.ledger.file_name()).then(|| (place(old), place(new))),
        done: done.len(),
        stale: stale.into_iter().collect(),
        has_ledger: new.run.ledger.exists(),
        left: left(old, new),
    })
}

/// The options of each stage.
type Manifest = serde_json::Map<String, Json>;

fn parsed(options: &str) -> Manifest {
    serde_json::from_str(options).unwrap_or_default()
}

/// What differs in what all outputs are fingerprinted with: options of stages, stages that are new and that are gone.
fn reasons(old: &Manifest, new: &Manifest) -> Vec<String> {
    let only = |these: &Manifest, others: &Manifest| -> Vec<String> {
        these.keys().filter(|stage| !others.contains_key(*stage)).cloned().collect()
    };
    let common = |these: &Manifest, others: &Manifest| -> Json {
        let entries = these.iter().filter(|(stage, _)| others.contains_key(*stage));
        Json::Object(entries.map(|(stage, options)| (stage.clone(), options.clone())).collect())
    };
    let mut reasons = differences(&common(old, new), &common(new, old));
    reasons.extend(only(new, old).iter().map(|stage| format!("the stage `{stage}` is new")));
    reasons.extend(only(old, new).iter().map(|stage| format!("the stage `{stage}` is gone")));
    reasons
}

/// The paths that stages of `old` write to and none of `new` does.
fn left(old: &Plan, new: &Plan) -> Vec<String> {
    let kept = templates(new);
    templates(old).into_iter().filter(|path| !kept.contains(path)).collect()
}

/// What `write` says of itself is its path alone.
fn templates(plan: &Plan) -> Vec<String> {
    let path = |manifest: &Json| manifest["write"].as_str().map(str::to_owned);
    plan.stages.iter().filter_map(|stage| path(&stage.manifest)).collect()
}

impl Outputs {
    /// For programs.
    pub(super) fn to_json(&self) -> Json {
        json!({
            "become-stale": !self.reasons.is_empty() || self.moved.is_some(),
            "reasons": self.reasons,
            "ledger-moved": self.moved,
            "done": self.done,
            "stale": self.stale,
            "written-no-more": self.left,
        })
    }
}
