//! What would become of every item: the way of a run up to the gate, where each is judged and none goes on.
//!
//! The sources, conditions and groups are those of the run, under the same resources, so a plan names the very items that
//! a run would. No pixel is fetched and nothing is written.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::standing::Standings;
use super::{Memory, Services, Stop, StopReason};
use crate::contract::{Failure, Item, Location};
use crate::events::Emitter;
use crate::ids::{ItemId, StageName};
use crate::ledger::{Snapshot, Verdict};
use crate::plan::{Plan, StagePlan};
use crate::remote::Client;

/// What would become of all items.
#[derive(Debug)]
pub struct Foreseen {
    /// Every item that was listed and that no condition dropped, sorted by id.
    pub items: Vec<Prospect>,
    /// Why the listing ended before its end, if it did.
    pub stopped: Option<StopReason>,
}

/// What would become of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Prospect {
    /// The item.
    pub item: ItemId,
    /// What would be done, and why.
    pub fate: Fate,
    /// The final files that stages would write for it, where that is known without its headers.
    pub outputs: Vec<(StageName, Location)>,
    /// The files that it is made from.
    pub inputs: Arc<[Location]>,
}

/// What would be done for an item, each with the reason as a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is run.
    Run(String),
    /// It is run again: outputs of other inputs or options stand.
    Stale(String),
    /// It is done.
    Skip(String),
    /// It fails before any work on it.
    Fail(StageName, String),
}

/// Lists what a plan would work on, and judges every item by what an earlier run left; `objects` is what is known of its
/// objects in stores.
pub async fn foresee(plan: &Plan, client: Client, earlier: Snapshot, objects: Standings) -> Foreseen {
    let mut plan = plan.clone();
    plan.run.max_failures = None;
    let foresight = Arc::new(Foresight::of(&plan));
    let services = Services {
        emitter: Emitter::default(),
        client,
        memory: Arc::new(Memory::foreseeing(earlier, objects, foresight.clone())),
        stop: Stop::default(),
        workers: None,
        sample_every: Duration::MAX,
        stall_after: Duration::from_mins(1),
    };
    let outcome = super::run(Arc::new(plan), services).await;
    Foreseen { items: foresight.take(), stopped: outcome.stopped }
}

/// Takes in what is judged at the gate.
#[derive(Debug)]
pub(crate) struct Foresight {
    /// The stages that write files and that every source leads to.
    writers: Vec<usize>,
    prospects: Mutex<Vec<Prospect>>,
}

impl Foresight {
    fn of(plan: &Plan) -> Self {
        let sources = plan.stages.iter().filter(|stage| stage.accepts.is_none()).count();
        let is_writer =
            |stage: &StagePlan| stage.op.files_made() > 0 && sources_above(plan, stage) == sources;
        let writers = (0..plan.stages.len()).filter(|at| is_writer(&plan.stages[*at])).collect();
        Self { writers, prospects: Mutex::default() }
    }

    /// An item that came to the gate.
    pub(crate) fn judge(&self, plan: &Plan, item: &Item, verdict: Verdict) {
        self.add(Prospect {
            item: item.id.clone(),
            fate: verdict.into(),
            outputs: self.outputs(plan, item),
            inputs: item.lineage.inputs.clone(),
        });
    }

    /// An item that did not come so far.
    pub(crate) fn on_failed(&self, item: &ItemId, stage: &StageName, failure: &Failure) {
        let fate = Fate::Fail(stage.clone(), failure.message.clone());
        self.add(Prospect { item: item.clone(), fate, outputs: Vec::new(), inputs: Arc::default() });
    }

    /// The files of an item; a template that asks for more than is known is left out.
    fn outputs(&self, plan: &Plan, item: &Item) -> Vec<(StageName, Location)> {
        let stages = self.writers.iter().map(|at| &plan.stages[*at]);
        let files = |stage: &StagePlan| stage.op.outputs(item).unwrap_or_default();
        stages.flat_map(|stage| files(stage).into_iter().map(|file| (stage.name.clone(), file))).collect()
    }

    fn add(&self, prospect: Prospect) {
        self.prospects.lock().unwrap_or_else(PoisonError::into_inner).push(prospect);
    }

    fn take(&self) -> Vec<Prospect> {
        let mut prospects =
            std::mem::take(&mut *self.prospects.lock().unwrap_or_else(PoisonError::into_inner));
        prospects.sort_by(|one, other| one.item.cmp(&other.item));
        prospects
    }
}

impl From<Verdict> for Fate {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Done => Fate::Skip("it is done".into()),
            Verdict::Adopt => Fate::Skip("it was done when the last run ended".into()),
            Verdict::Redo { reason, is_stale: true } => Fate::Stale(reason),
            Verdict::Redo { reason, is_stale: false } => Fate::Run(reason),
        }
    }
}

/// How many sources lead to a stage.
fn sources_above(plan: &Plan, stage: &StagePlan) -> usize {
    let mut above = stage.from.clone();
    let mut at = 0;
    while at < above.len() {
        for feeder in &plan.stages[above[at]].from {
            if !above.contains(feeder) {
                above.push(*feeder);
            }
        }
        at += 1;
    }
    above.iter().filter(|feeder| plan.stages[**feeder].accepts.is_none()).count()
}
