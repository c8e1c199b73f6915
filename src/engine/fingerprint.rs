//! What decides whether an item is done: its input's identity chained with every option that can change the result.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::contract::Item;
use crate::ledger::Manifest;
use crate::plan::Plan;

/// The fingerprint of one item's results, and what it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// SHA-256 of the manifest, in hexadecimal.
    pub hash: Arc<str>,
    /// The identity of the input and the options of every stage, so that the first difference can be named.
    pub manifest: Manifest,
}

/// The options of every stage of a plan, in topological order, as JSON text.
#[derive(Clone, Debug)]
pub struct Manifests {
    options: Arc<str>,
}

impl Manifests {
    /// What a plan's stages say of themselves. Sources are left out: what they list is in each item's identity.
    pub fn of_plan(plan: &Plan) -> Self {
        let stages = plan.stages.iter().filter(|stage| stage.accepts.is_some());
        let named = stages.map(|stage| (stage.name.to_string(), stage.manifest.clone()));
        Self { options: Json::Object(named.collect()).to_string().into() }
    }

    /// The options as JSON text, as every item's manifest has them.
    pub fn options(&self) -> Arc<str> {
        self.options.clone()
    }

    /// The fingerprint of an item.
    pub fn of_item(&self, item: &Item) -> Fingerprint {
        let inputs: Arc<str> = Json::from(item.lineage.identity.as_str()).to_string().into();
        let mut hasher = Sha256::new();
        hasher.update(inputs.as_bytes());
        hasher.update([0]);
        hasher.update(self.options.as_bytes());
        let mut hash = String::with_capacity(64);
        for byte in hasher.finalize() {
            write!(hash, "{byte:02x}").expect("writing to a string cannot fail");
        }
        Fingerprint { hash: hash.into(), manifest: Manifest { inputs, options: self.options.clone() } }
    }
}
