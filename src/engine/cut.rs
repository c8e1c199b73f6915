//! Items that memory cannot hold whole: cut in the gate into windows of the raster that their path ends with, the first
//! where branches end with several.
//!
//! Each window has a way and memory of its own; the stages where the raster ends join them. Results do not depend on
//! where an item is cut, so neither do they on the budget.

use std::sync::Arc;

use crate::contract::{Failure, Item, Lineage, Payload, Shape, SharedFiles};
use crate::engine::path::{self, PathFailure, PathNode, Survey};
use crate::engine::run::Shared;
use crate::plan::{Oversize, Plan, StagePlan};
use crate::raster::Window;
use crate::units::ByteSize;

/// Edges of windows that are tried, in pixels: tiles of outputs are filled by whole windows of most of them.
const EDGES: [u64; 6] = [4096, 2048, 1024, 512, 256, 128];

/// The plan as its stages work on windows that the engine cut.
pub(crate) fn plan_of_windows(plan: &Plan) -> Arc<Plan> {
    let joined = |stage: &StagePlan| StagePlan {
        op: stage.joining.clone().unwrap_or_else(|| stage.op.clone()),
        ..stage.clone()
    };
    Arc::new(Plan { stages: plan.stages.iter().map(joined).collect(), ..plan.clone() })
}

/// How one item is cut.
pub(crate) struct Cut {
    files: Arc<Shape>,
    into: Arc<[usize]>,
    width: u64,
    height: u64,
    edge: u64,
    /// Bytes of scratch that joining the windows needs, estimated.
    pub(crate) spool: u64,
}

/// How to cut an item that is to enter these stages, so that several of its windows fit into `budget`. May call GDAL, so
/// it belongs on a blocking thread.
///
/// # Errors
/// Why it cannot be cut, in words that follow its demand.
pub(crate) fn cut(
    shared: &Shared,
    item: &Item,
    into: &Arc<[usize]>,
    files: &Shape,
    budget: u64,
) -> Result<Cut, String> {
    if let Some(why) = why_not(&shared.plan, into) {
        return Err(why);
    }
    let surveyed = path::survey(&shared.cut_plan.stages, into, item, files);
    let Survey { raster, spool } =
        surveyed.map_err(|(_, failure)| format!("; it is not cut into windows: {}", failure.message))?;
    let too_small = || "; no window of it would be small enough".to_owned();
    let grid = &raster.members.first().ok_or_else(too_small)?.grid;
    let mut cut = Cut {
        files: Arc::new(files.clone()),
        into: into.clone(),
        width: grid.width,
        height: grid.height,
        edge: 0,
        spool,
    };
    let at_once = into.iter().map(|stage| shared.plan.stages[*stage].parallelism as u64).max();
    let share = budget / at_once.unwrap_or(1).max(1);
    let mut demand = u64::MAX;
    for edge in EDGES {
        if demand > share {
            cut.edge = edge;
            demand = cut.probe(shared, item).map_err(|(_, failure)| format!("; {}", failure.message))?;
        }
    }
    if demand <= budget { Ok(cut) } else { Err(too_small()) }
}

impl Cut {
    /// How many windows there are.
    pub(crate) fn count(&self) -> u64 {
        self.width.div_ceil(self.edge) * self.height.div_ceil(self.edge)
    }

    /// The edge of a window in pixels; those at the right and at the bottom may be smaller.
    pub(crate) fn edge(&self) -> u64 {
        self.edge
    }

    /// The windows as items, row by row.
    pub(crate) fn windows<'a>(&'a self, whole: &'a Item) -> impl Iterator<Item = Item> + Send + 'a {
        let shared = SharedFiles::default();
        let columns = self.width.div_ceil(self.edge);
        (0..self.count()).map(move |index| self.part(whole, &shared, index / columns, index % columns))
    }

    /// The ways of a window, and their memory. May call GDAL.
    ///
    /// # Errors
    /// What a header shows to be impossible.
    pub(crate) fn ways(&self, shared: &Shared, window: &Item) -> Result<Vec<Arc<PathNode>>, PathFailure> {
        let trace = |stage: &usize| path::trace(&shared.cut_plan, *stage, window, &self.files);
        self.into.iter().map(trace).collect()
    }

    fn part(&self, whole: &Item, shared: &SharedFiles, row: u64, col: u64) -> Item {
        let window = Window {
            col: col * self.edge,
            row: row * self.edge,
            width: self.edge.min(self.width - col * self.edge),
            height: self.edge.min(self.height - row * self.edge),
        };
        let lineage = Lineage {
            parent: Some(whole.id.clone()),
            window: Some(window),
            counted_in: Some((self.width, self.height)),
            shared: Some(shared.clone()),
            ..whole.lineage.clone()
        };
        Item { id: format!("{}/{row}/{col}", whole.id).into(), lineage, ..whole.clone() }
    }

    /// The most memory that a window in the middle or in a corner needs.
    fn probe(&self, shared: &Shared, item: &Item) -> Result<u64, PathFailure> {
        let last = |size: u64| (size - 1) / self.edge;
        let (rows, columns) = (last(self.height), last(self.width));
        let places = [(0, 0), (0, columns), (rows, 0), (rows, columns), (rows / 2, columns / 2)];
        let mut most = 0;
        for (row, col) in places {
            let window = self.part(item, &SharedFiles::default(), row, col);
            let ways = self.ways(shared, &window)?;
            most = most.max(ways.iter().map(|way| way.demand).sum());
        }
        Ok(most)
    }
}

/// What goes on when the windows of an item are joined: the item, its payload still lacking.
pub(crate) fn whole(item: &Item) -> Item {
    Item { payload: Payload::Assets(Vec::new()), ..item.clone() }
}

/// Why an item that enters these stages cannot be cut, as far as the plan tells.
fn why_not(plan: &Plan, into: &[usize]) -> Option<String> {
    let name = |stage: usize| &plan.stages[stage].name;
    into.iter().find_map(|stage| match plan.oversize(*stage) {
        Oversize::IsWindow(cutter) => Some(format!(", or make the windows of `{}` smaller", name(cutter))),
        Oversize::NeedsWhole(stage) => {
            Some(format!("; it is not cut into windows, because `{}` needs it whole", name(stage)))
        }
        Oversize::Cut(_) => None,
    })
}

/// The failure of an item, or a window, that can never be granted its memory, with the edit that helps.
pub(crate) fn refusal(bytes: u64, capacity: u64, why: &str) -> Failure {
    Failure::item(format!("{}{why}", too_large(bytes, capacity)))
}

/// The same for files whose headers are known only when they are there.
pub(crate) fn late_refusal(bytes: u64, capacity: u64) -> Failure {
    let why = "it is not cut into windows, because its header was not known beforehand";
    Failure::item(format!("{}; {why}", too_large(bytes, capacity)))
}

fn too_large(bytes: u64, capacity: u64) -> String {
    let (enough, bytes, capacity) =
        (ByteSize(bytes.next_multiple_of(1 << 20)).exact(), ByteSize(bytes), ByteSize(capacity));
    format!("needs `{bytes}` of memory and `memory` has `{capacity}`: raise `memory.bytes` to `\"{enough}\"`")
}
