//! One item's way through the stages, worked out from headers before its first byte is fetched: the form of every
//! input and output, the window of each, and the memory that the whole way needs.
//!
//! Forms are chained forwards from the files, windows backwards from the last raster, memory forwards again.

use std::sync::Arc;

use crate::contract::{AssetNeed, Failure, Item, Kind, MemberShape, Op, Port, Shape};
use crate::engine::late;
use crate::plan::{MemoryDemand, Plan, StagePlan};
use crate::raster::{Grid, Window};

/// One stage of an item's way, and the ways that follow from its output.
pub(crate) struct PathNode {
    /// The index of the stage in the plan.
    pub(crate) stage: usize,
    /// The form of what comes in.
    pub(crate) input: Arc<Shape>,
    /// The form of what goes out.
    pub(crate) output: Arc<Shape>,
    /// The window of each output member that the stages below need; of each member that comes in where no raster goes
    /// out.
    pub(crate) wanted: Arc<[Window]>,
    /// What the stages below need of each file; `None` where one needs whole files.
    pub(crate) needs: Option<Arc<[AssetNeed]>>,
    /// Bytes of memory from before this stage starts, its input included, to the end of the way.
    pub(crate) demand: u64,
    /// The ways that follow, one a consumer; none into a stage that opens files of which nothing is known yet.
    pub(crate) next: Vec<Arc<PathNode>>,
    /// Whether there is such a stage.
    is_open: bool,
}

impl PathNode {
    /// The way that follows into this stage.
    pub(crate) fn way_into(&self, stage: usize) -> Option<&Arc<PathNode>> {
        self.next.iter().find(|node| node.stage == stage)
    }

    /// Whether this stage or one that follows is, or may be, `stage`.
    pub(crate) fn leads_to(&self, stage: usize) -> bool {
        self.stage == stage || self.is_open || self.next.iter().any(|node| node.leads_to(stage))
    }
}

/// A failure, and the index of the stage that it concerns.
pub(crate) type PathFailure = (usize, Failure);

/// Works out an item's way into `stage` from the form of its files. May call GDAL, so it belongs on a blocking thread.
///
/// # Errors
/// What a header already shows to be impossible, with the stage that would fail.
pub(crate) fn trace(
    plan: &Plan,
    stage: usize,
    item: &Item,
    files: &Shape,
) -> Result<Arc<PathNode>, PathFailure> {
    let draft = Draft::of(&plan.stages, stage, item, files)?;
    draft.settle(plan, item, Arc::new(files.clone()))
}

/// What is known of a parent before it is cut into windows.
#[derive(Default)]
pub(crate) struct Survey {
    /// The rasters that its branches end with, whole, each of another grid a member, as the stages are declared; empty
    /// where no stage makes one.
    pub(crate) raster: Shape,
    /// Bytes of scratch that the stages which join its windows need, estimated.
    pub(crate) spool: u64,
}

/// Follows a parent from where it is cut into the stages behind, to where its raster ends, whole.
///
/// # Errors
/// What a header already shows to be impossible.
pub(crate) fn survey(
    stages: &[StagePlan],
    into: &[usize],
    item: &Item,
    files: &Shape,
) -> Result<Survey, PathFailure> {
    let mut survey = Survey::default();
    follow(stages, into, item, files, &mut survey)?;
    Ok(survey)
}

fn follow(
    stages: &[StagePlan],
    into: &[usize],
    item: &Item,
    shape: &Shape,
    survey: &mut Survey,
) -> Result<(), PathFailure> {
    for to in into.iter().copied() {
        let op = &stages[to].op;
        if !survey.raster.members.is_empty() && late::opens_unknown(op.as_ref(), shape) {
            // What a program makes of a window is an image of its own.
            continue;
        }
        let output = op.shape(shape, item).map_err(|failure| (to, failure))?;
        survey.spool += op.spool(shape, &output);
        let ends_here = !shape.members.is_empty() && output.members.is_empty();
        if ends_here {
            survey.end_with(shape);
        }
        if !matches!(op.clone().kind(), Kind::Assemble(_) | Kind::Gather(_)) {
            follow(stages, &stages[to].to, item, &output, survey)?;
        }
    }
    Ok(())
}

impl Survey {
    fn end_with(&mut self, raster: &Shape) {
        let known = &mut self.raster.members;
        for member in &raster.members {
            if known.iter().all(|known| known.grid != member.grid) {
                known.push(member.clone());
            }
        }
    }
}

/// A stage's whole input and output, and what of its input is wanted.
struct Draft {
    stage: usize,
    input: Shape,
    wanted_in: Vec<Window>,
    wanted_out: Vec<Window>,
    needs: Option<Vec<AssetNeed>>,
    next: Vec<Draft>,
    is_open: bool,
}

impl Draft {
    fn of(stages: &[StagePlan], index: usize, item: &Item, input: &Shape) -> Result<Self, PathFailure> {
        let at = |failure| (index, failure);
        let op = &stages[index].op;
        let output = op.shape(input, item).map_err(at)?;
        let (late, known): (Vec<_>, Vec<_>) = consumers(stages, index)
            .partition(|consumer| late::opens_unknown(stages[*consumer].op.as_ref(), &output));
        let next = known
            .into_iter()
            .map(|consumer| Draft::of(stages, consumer, item, &output))
            .collect::<Result<Vec<_>, _>>()?;
        let wanted_out = if output.members.is_empty() {
            let windows = whole_or_window(input, item).map_err(at)?;
            if op.sees_overlap() { overlapping(windows, input, item) } else { windows }
        } else {
            wanted_of(&output, &next, item).map_err(at)?
        };
        let wanted_in = if input.members.is_empty() {
            Vec::new()
        } else {
            op.region(&wanted_out, input, &output).map_err(at)?
        };
        let needs = if late.is_empty() {
            needs_of(op.as_ref(), input, &output, &wanted_out, &next).map_err(at)?
        } else {
            None
        };
        let is_open = !late.is_empty();
        Ok(Self { stage: index, input: input.clone(), wanted_in, wanted_out, needs, next, is_open })
    }

    /// The final forms, given what really comes in.
    fn settle(self, plan: &Plan, item: &Item, input: Arc<Shape>) -> Result<Arc<PathNode>, PathFailure> {
        let stage = &plan.stages[self.stage];
        let needs: Option<Arc<[AssetNeed]>> = self.needs.map(Into::into);
        let informed = Shape { needs: needs.clone(), ..self.input };
        let whole = stage.op.shape(&informed, item).map_err(|failure| (self.stage, failure))?;
        let output = Arc::new(whole.windowed(&self.wanted_out));
        let next = self
            .next
            .into_iter()
            .map(|draft| draft.settle(plan, item, output.clone()))
            .collect::<Result<Vec<_>, _>>()?;
        let own = match stage.memory {
            MemoryDemand::Declared(bytes) => bytes,
            MemoryDemand::Measured => measured(plan, stage, &input, &output),
        };
        let demand = own.max(next.iter().map(|node| node.demand).sum());
        Ok(Arc::new(PathNode {
            stage: self.stage,
            input,
            output,
            wanted: self.wanted_out.into(),
            needs,
            demand,
            next,
            is_open: self.is_open,
        }))
    }
}

/// Bytes of memory of a stage's work for these forms: what comes in and goes out, and what it needs beside that on its own
/// core and on those that may help.
fn measured(plan: &Plan, stage: &StagePlan, input: &Shape, output: &Shape) -> u64 {
    let scratch = stage.op.scratch(input, output);
    if stage.is_isolated() {
        // Both the run and a worker process hold what passes between them, and no core helps there.
        return 2 * (input.held + output.held) + scratch;
    }
    let (most, each) = stage.op.helpers(input, output);
    let helpers = most.min(plan.idle_cores(stage)) * each;
    (input.held + output.held + scratch + helpers).saturating_sub(stage.op.shared(input, output))
}

/// The consumers of a stage that work on the item itself; an assembled or gathered output is no part of its way.
fn consumers(stages: &[StagePlan], index: usize) -> impl Iterator<Item = usize> {
    let ends_here = matches!(stages[index].op.clone().kind(), Kind::Assemble(_) | Kind::Gather(_));
    stages[index].to.iter().copied().filter(move |_| !ends_here)
}

/// The window of each output member: what covers the wishes of all consumers.
fn wanted_of(output: &Shape, next: &[Draft], item: &Item) -> Result<Vec<Window>, Failure> {
    let mut wishes =
        next.iter().map(|draft| &draft.wanted_in).filter(|wanted| wanted.len() == output.members.len());
    let Some(first) = wishes.next() else { return whole_or_window(output, item) };
    let cover = |all: Vec<Window>, wish: &Vec<Window>| {
        all.iter().zip(wish).map(|(one, other)| one.covering(other)).collect()
    };
    Ok(wishes.fold(first.clone(), cover))
}

/// The item's window of every member, or all of it.
fn whole_or_window(shape: &Shape, item: &Item) -> Result<Vec<Window>, Failure> {
    let part = |member: &MemberShape| match item.lineage.window {
        Some(window) => part_of(&member.grid, window, item.lineage.counted_in),
        None => Ok(member.grid.whole()),
    };
    shape.members.iter().map(part).collect()
}

/// Windows with the pixels around them that a program is given.
fn overlapping(windows: Vec<Window>, shape: &Shape, item: &Item) -> Vec<Window> {
    let overlap = item.lineage.overlap;
    let grown = |(window, member): (Window, &MemberShape)| {
        window.grown(overlap, member.grid.width, member.grid.height)
    };
    windows.into_iter().zip(&shape.members).map(grown).collect()
}

/// A window's part of a grid: of one of another size than the window was counted in, the same part of its width and
/// height. Windows that have every pixel once there have every pixel once here.
fn part_of(grid: &Grid, window: Window, counted_in: Option<(u64, u64)>) -> Result<Window, Failure> {
    let Some((width, height)) = counted_in.filter(|size| *size != (grid.width, grid.height)) else {
        return Ok(window);
    };
    let span = |start: u64, length: u64, of: u64, size: u64| {
        let edge = |edge: u64| (u128::from(edge) * u128::from(size) / u128::from(of.max(1))) as u64;
        (edge(start), edge(start + length) - edge(start))
    };
    let (col, width) = span(window.col, window.width, width, grid.width);
    let (row, height) = span(window.row, window.height, height, grid.height);
    if width == 0 || height == 0 {
        return Err(Failure::item(format!(
            "the window {window} is less than a pixel of {}×{} pixels that another branch ends with: make windows larger",
            grid.width, grid.height
        )));
    }
    Ok(Window { col, row, width, height })
}

/// What is needed of files: by this op if it reads them, else by those that follow. `None` for whole files.
fn needs_of(
    op: &dyn Op,
    input: &Shape,
    output: &Shape,
    wanted: &[Window],
    next: &[Draft],
) -> Result<Option<Vec<AssetNeed>>, Failure> {
    if op.reads_headers() {
        return op.asset_needs(wanted, input, output).map(Some);
    }
    let passes_files = matches!(op.gives(Some(Port::Asset)), Port::Asset | Port::Blob) && !next.is_empty();
    if !passes_files {
        return Ok(None);
    }
    let mut all = Vec::new();
    for draft in next {
        match &draft.needs {
            None => return Ok(None),
            Some(needs) => all.extend(needs.iter().cloned()),
        }
    }
    Ok(Some(all))
}
