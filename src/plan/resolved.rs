//! The types of a plan.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Isolation, MaxFailures, OnError};
use crate::contract::{Kind, Moves, Op, Port, Take};
use crate::ids::{ResourceName, StageName};
use crate::machine::{Granted, Machine};
use crate::remote::RetryPolicy;

/// What a run does and may use.
#[derive(Clone)]
pub struct Plan {
    /// The pipeline's name.
    pub name: String,
    /// The pipeline's file.
    pub pipeline: PathBuf,
    /// The pipeline's folder, absolute; paths in the file are relative to it.
    pub folder: PathBuf,
    /// What it was planned for.
    pub machine: Machine,
    /// Resources in canonical order: run-wide first, then by declaration, defaults last.
    pub resources: Vec<ResourcePlan>,
    /// Stages in topological order, ties by declaration.
    pub stages: Vec<StagePlan>,
    /// What holds for the whole run.
    pub run: RunPlan,
    /// All that may be in memory at once.
    pub memory: MemoryTotal,
}

/// One resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourcePlan {
    /// Its name.
    pub name: ResourceName,
    /// Its limit.
    pub limit: Limit,
    /// The limit as arithmetic: `floor(40% × 15.2 GiB [cgroup memory.max] ÷ 2 GiB) = 3`.
    pub derivation: String,
    /// Whether the pipeline declares it; else it is a default.
    pub is_declared: bool,
    /// Bytes of memory that one slot was counted for, where the count was derived from memory.
    pub working_set: Option<u64>,
}

/// The limit of a resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A fixed count.
    Slots(u64),
    /// A count found by measuring.
    Adaptive {
        /// Never below.
        from: u64,
        /// Never above.
        to: u64,
    },
    /// A budget.
    Bytes(u64),
    /// Tokens (requests or items) per second.
    Rate {
        /// Tokens per second.
        per_second: f64,
        /// Tokens at once after a pause.
        burst: u64,
        /// Whether tokens are bytes.
        counts_bytes: bool,
        /// One bucket for each host.
        per_host: bool,
    },
}

/// One stage.
#[derive(Clone)]
pub struct StagePlan {
    /// Its name.
    pub name: StageName,
    /// The op's name.
    pub op_name: String,
    /// The op.
    pub op: Arc<dyn Op>,
    /// The op as it joins the windows of an item that the engine cuts because memory cannot hold it whole.
    pub joining: Option<Arc<dyn Op>>,
    /// The port of its input; `None` for a source.
    pub accepts: Option<Port>,
    /// The port of its output.
    pub gives: Port,
    /// Where its items come from: indices into `Plan::stages`.
    pub from: Vec<usize>,
    /// Where its outputs go: indices, in topological order.
    pub to: Vec<usize>,
    /// Slots that one piece of work takes, in canonical order; per request where requests are made.
    ///
    /// A byte budget other than `memory` and `scratch` stands here too, its amount in bytes: it is a count that a
    /// piece of work holds ([`Limit::as_slots`]).
    pub slots: Vec<(ResourceName, u64)>,
    /// Rates that one piece of work takes a token of, in canonical order.
    pub rates: Vec<ResourceName>,
    /// How much memory it counts for: as measured, or an explicit amount.
    pub memory: MemoryDemand,
    /// Whether slots, rates, timeout and retry are per request.
    pub is_per_request: bool,
    /// Places of the queue into it; 0 for a source, which has none.
    pub queue: usize,
    /// Where `queue` comes from: `declared`, or the feeders it is the sum of.
    pub queue_derivation: String,
    /// How many items it works on at most, and the resource that binds it.
    pub parallelism: usize,
    /// The resource that binds `parallelism`.
    pub bound_by: Option<ResourceName>,
    /// Of one request, or of one try elsewhere.
    pub timeout: Option<Duration>,
    /// Of one request, or of one try elsewhere.
    pub retry: RetryPolicy,
    /// What a failed item does to the run.
    pub on_error: OnError,
    /// Where it runs.
    pub isolation: Isolation,
    /// By the op's name the options that can change a result.
    pub manifest: serde_json::Value,
}

/// How a stage counts in an item's reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryDemand {
    /// What the op says for the item's form.
    Measured,
    /// An amount that the pipeline names instead.
    Declared(u64),
}

/// What holds for the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlan {
    /// When the run gives up.
    pub max_failures: Option<MaxFailures>,
    /// How long running items may go on after the first signal; `None` for as long as they take.
    pub grace: Option<Duration>,
    /// GDAL's block cache in bytes, and its derivation.
    pub gdal_cache: (u64, String),
    /// The folder for temporaries.
    pub scratch: PathBuf,
    /// The ledger's file.
    pub ledger: PathBuf,
    /// The unit: slots that an item holds from admission to its last byte, in canonical order.
    pub unit: Vec<(ResourceName, u64)>,
}

/// All that may be in memory at once, against what the machine grants.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryTotal {
    /// Byte budgets, GDAL's cache, what programs may take, and the process itself.
    pub parts: Vec<MemoryPart>,
    /// Their sum in bytes.
    pub total: u64,
    /// What the machine grants.
    pub granted: Granted,
}

/// One thing that may be in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPart {
    /// What it is: the name of a budget, `GDAL cache`, `programs of segments`, `process`.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// The figure as arithmetic.
    pub derivation: String,
}

impl Limit {
    /// The most that can be held at once, in slots or bytes; `None` for a rate.
    pub fn capacity(&self) -> Option<u64> {
        match *self {
            Limit::Slots(count) => Some(count),
            Limit::Adaptive { to, .. } => Some(to),
            Limit::Bytes(bytes) => Some(bytes),
            Limit::Rate { .. } => None,
        }
    }

    /// The most that one lease can hold: never more than an adaptive limit has at its lowest; `None` for a rate.
    pub fn largest_lease(&self) -> Option<u64> {
        match *self {
            Limit::Adaptive { from, .. } => Some(from),
            _ => self.capacity(),
        }
    }

    /// The lowest and the highest count of what is taken place by place; `None` for a rate.
    pub fn as_slots(&self) -> Option<(u64, u64)> {
        Some((self.largest_lease()?, self.capacity()?))
    }

    /// `slots`, `bytes` or `rate`, as the pipeline writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Limit::Slots(_) | Limit::Adaptive { .. } => "slots",
            Limit::Bytes(_) => "bytes",
            Limit::Rate { .. } => "rate",
        }
    }
}

impl StagePlan {
    /// Whether its work is done in worker processes.
    pub fn is_isolated(&self) -> bool {
        self.isolation == Isolation::Process && matches!(self.op.clone().kind(), Kind::Compute(_))
    }

    /// Whether it works in processes of its own: workers, or programs of the user.
    pub fn has_processes(&self) -> bool {
        let runs_programs = || matches!(self.op.clone().kind(), Kind::Transfer(_));
        self.is_isolated() || (runs_programs() && self.op.takes().contains(&Take::Cores))
    }
}

impl Plan {
    /// The stage of this name.
    pub fn stage(&self, name: &str) -> Option<&StagePlan> {
        self.stages.iter().find(|stage| stage.name.as_str() == name)
    }

    /// The resource of this name.
    pub fn resource(&self, name: &str) -> Option<&ResourcePlan> {
        self.resources.iter().find(|resource| resource.name.as_str() == name)
    }

    /// How many items may be between admission and their last byte; `None` where no unit bounds them.
    pub fn items_in_flight(&self) -> Option<u64> {
        let capacity = |name: &ResourceName| self.resource(name.as_str())?.limit.capacity();
        self.run.unit.iter().filter_map(|(name, amount)| Some(capacity(name)? / amount)).min()
    }

    /// How many cores may be idle beside those that one piece of a stage's work takes.
    pub fn idle_cores(&self, stage: &StagePlan) -> u64 {
        let cores = self.resource("cores").and_then(|cores| cores.limit.capacity()).unwrap_or(0);
        let own = stage.slots.iter().find(|(name, _)| name.as_str() == "cores").map_or(0, |(_, own)| *own);
        cores.saturating_sub(own)
    }

    /// How many processes with a block cache of GDAL's run at once: this one, worker processes, programs.
    pub fn gdal_processes(&self) -> u64 {
        let beside = self.stages.iter().filter(|stage| stage.has_processes());
        1 + beside.map(|stage| stage.parallelism as u64).sum::<u64>()
    }

    /// GDAL's block cache of each of these processes, in bytes.
    pub fn gdal_share(&self) -> u64 {
        self.run.gdal_cache.0 / self.gdal_processes()
    }

    /// How much of each file a stage moves; `None` where it moves none.
    pub fn moves(&self, stage: &StagePlan) -> Option<Moves> {
        stage.op.moves(self.taken_by(stage).map(|taker| taker.name.as_str()))
    }

    /// Whether some stage moves parts of files.
    pub fn moves_parts(&self) -> bool {
        self.stages.iter().filter_map(|stage| self.moves(stage)).any(|moves| moves.has_parts)
    }

    /// A stage that takes the files of this one as they are, instead of naming the parts of them that it reads.
    fn taken_by(&self, stage: &StagePlan) -> Option<&StagePlan> {
        stage.to.iter().map(|&next| &self.stages[next]).find_map(|next| match next.gives {
            _ if next.op.reads_headers() => None,
            Port::Asset | Port::Blob if !next.to.is_empty() => self.taken_by(next),
            _ => Some(next),
        })
    }

    /// A path as the pipeline's folder sees it, for people.
    pub fn shown<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.folder).unwrap_or(path)
    }
}
