//! The plan for people: sizes with their arithmetic, stages with what binds them, memory against what is granted.

use std::fmt::Write as _;

use crate::config::{Isolation, MaxFailures, OnError};
use crate::contract::Take;
use crate::plan::{MemoryDemand, Oversize, Plan, ResourcePlan, StagePlan};
use crate::units::{ByteSize, TimeSpan};

/// The plan without its items, for which the caller adds a section.
pub fn render(plan: &Plan) -> String {
    let mut text = format!("plan of {} ({})\n", plan.name, plan.pipeline.display());
    section(&mut text, "machine", &machine(plan));
    section(&mut text, "resources", &plan.resources.iter().map(resource).collect::<Vec<_>>());
    section(&mut text, "stages", &plan.stages.iter().map(stage).collect::<Vec<_>>());
    section(&mut text, "queues", &plan.stages.iter().filter_map(queue).collect::<Vec<_>>());
    section(
        &mut text,
        "takes",
        &plan
            .stages
            .iter()
            .map(|stage| row([stage.name.as_str(), &takes(stage), &tries(stage)]))
            .collect::<Vec<_>>(),
    );
    let files: Vec<_> = plan.stages.iter().filter_map(|stage| files(plan, stage)).collect();
    if !files.is_empty() {
        section(&mut text, "files", &files);
    }
    section(&mut text, "memory", &memory(plan));
    let oversize: Vec<_> = plan.entrances().filter_map(|entrance| oversize(plan, entrance)).collect();
    if !oversize.is_empty() {
        section(&mut text, "items too large for memory", &oversize);
    }
    section(&mut text, "run", &run(plan));
    text
}

/// A title and its rows in columns; a row of one cell is a sentence and makes no column wider.
pub(super) fn section(text: &mut String, title: &str, rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter(|row| row.len() > 1).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    _ = write!(text, "\n{title}\n");
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

fn row<const CELLS: usize>(cells: [&str; CELLS]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn machine(plan: &Plan) -> Vec<Vec<String>> {
    let machine = &plan.machine;
    let mut rows = vec![
        row(["cores", &machine.cores.value.to_string(), &machine.cores.source]),
        row(["memory", &ByteSize(machine.memory.value).to_string(), &machine.memory.source]),
        row(["descriptors", &machine.descriptors.value.to_string(), &machine.descriptors.source]),
    ];
    if machine.shards.value > 1 {
        rows.push(row(["shards", &machine.shards.value.to_string(), &machine.shards.source]));
    }
    rows
}

fn resource(resource: &ResourcePlan) -> Vec<String> {
    let mark = if resource.is_declared { "declared" } else { "default" };
    row([resource.name.as_str(), resource.limit.kind(), mark, &format!("= {}", resource.derivation)])
}

fn stage(stage: &StagePlan) -> Vec<String> {
    let accepts = stage.accepts.map_or_else(String::new, |port| format!("{port} "));
    let ports = format!("{accepts}→ {}", stage.gives);
    let bound = stage.bound_by.as_ref().map_or_else(String::new, |name| format!(", bound by {name}"));
    row([stage.name.as_str(), &stage.op_name, &ports, &format!("{} at once{bound}", stage.parallelism)])
}

fn queue(stage: &StagePlan) -> Option<Vec<String>> {
    (stage.queue > 0).then(|| row([stage.name.as_str(), &stage.queue_derivation]))
}

fn takes(stage: &StagePlan) -> String {
    let slots = stage.slots.iter().map(|(name, amount)| match amount {
        1 => name.to_string(),
        _ => format!("{amount} of {name}"),
    });
    let rates = stage.rates.iter().map(|name| format!("a token of {name}"));
    let memory = match stage.memory {
        MemoryDemand::Measured if !stage.op.takes().contains(&Take::Memory) => None,
        MemoryDemand::Measured => Some("memory as measured".to_owned()),
        MemoryDemand::Declared(bytes) => Some(format!("memory {}", ByteSize(bytes))),
    };
    let taken = slots.chain(rates).collect::<Vec<_>>().join(", ");
    let each = if stage.is_per_request { " for each request" } else { "" };
    let taken = (!taken.is_empty()).then(|| format!("{taken}{each}"));
    let taken: Vec<String> = taken.into_iter().chain(memory).collect();
    if taken.is_empty() { "nothing".to_owned() } else { taken.join("; ") }
}

fn tries(stage: &StagePlan) -> String {
    let tries = (stage.retry.tries > 1).then(|| format!("up to {} tries", stage.retry.tries));
    let timeout = stage.timeout.map(|time| format!("each at most {}", TimeSpan(time)));
    let stop = (stage.on_error == OnError::Stop).then(|| "a failure stops the run".to_owned());
    let process = (stage.isolation == Isolation::Process).then(|| "in processes of its own".to_owned());
    [tries, timeout, stop, process].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How much of each file a stage moves.
fn files(plan: &Plan, stage: &StagePlan) -> Option<Vec<String>> {
    plan.moves(stage).map(|moves| row([stage.name.as_str(), &moves.words]))
}

fn memory(plan: &Plan) -> Vec<Vec<String>> {
    let total = &plan.memory;
    let parts =
        total.parts.iter().map(|part| row([&part.name, &ByteSize(part.bytes).to_string(), &part.derivation]));
    let share = total.total as f64 / total.granted.value.max(1) as f64 * 100.0;
    let granted = format!("{} [{}]", ByteSize(total.granted.value), total.granted.source);
    let sum = row(["total", &ByteSize(total.total).to_string(), &format!("{share:.0}% of {granted}")]);
    parts.chain([sum]).collect()
}

/// What becomes of items too large for memory that enter here; `None` where no raster follows.
fn oversize(plan: &Plan, entrance: usize) -> Option<Vec<String>> {
    let name = |stage: usize| plan.stages[stage].name.as_str();
    let what = match plan.oversize(entrance) {
        _ if !plan.makes_rasters(entrance) => return None,
        Oversize::Cut(joins) => {
            let joins: Vec<&str> = joins.into_iter().map(name).collect();
            format!("are cut into windows, which are joined by {}", joins.join(" and "))
        }
        Oversize::NeedsWhole(stage) => format!("are refused: {} needs them whole", name(stage)),
        Oversize::IsWindow(cutter) => format!("are refused: {} makes the windows", name(cutter)),
    };
    Some(row([name(entrance), &what]))
}

fn run(plan: &Plan) -> Vec<Vec<String>> {
    let run = &plan.run;
    let limit = run.max_failures.map_or_else(|| "never".to_owned(), shown_limit);
    let grace =
        run.grace.map_or_else(|| "as long as they take".to_owned(), |time| TimeSpan(time).to_string());
    vec![
        row(["unit", &unit(plan)]),
        row(["gives up", &limit]),
        row(["grace", &format!("{grace} for running items after the first signal")]),
        row(["scratch", &plan.shown(&run.scratch).display().to_string()]),
        row(["ledger", &plan.shown(&run.ledger).display().to_string()]),
    ]
}

fn shown_limit(limit: MaxFailures) -> String {
    match limit {
        MaxFailures::Count(count) => format!("after {count} failed items"),
        MaxFailures::Share(share) => {
            format!("when {share} of the finished items failed, judged from 100 on and at the end")
        }
    }
}

fn unit(plan: &Plan) -> String {
    let held: Vec<String> =
        plan.run.unit.iter().map(|(name, amount)| format!("{amount} of {name}")).collect();
    match plan.items_in_flight() {
        Some(items) => format!("{}: at most {items} items in flight", held.join(", ")),
        None => "none: memory and queues alone bound the items in flight".to_owned(),
    }
}
