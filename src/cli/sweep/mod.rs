//! `gisrun sweep FILE`: the same pipeline at several sizes of one resource, each in a fresh state of its own.

mod interrupts;
mod ladder;
mod mirror;
mod trial;

use std::fs;

use crate::cli::planned::{Named, Planned};
use crate::cli::{Exit, ReportFormat, SweepRequest, limits, output};
use crate::report::{Point, Sweep};

use interrupts::Interrupts;
use ladder::Ladder;
use trial::Trials;

/// Runs the pipeline at each size and prints what came of it.
pub fn sweep(request: &SweepRequest) -> Exit {
    let named = Named { path: &request.pipeline, sets: &request.sets, machine: None };
    let Some(planned) = named.plan() else { return Exit::BadInput };
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => {
            output::complain(&format!("error: cannot start threads: {error}"));
            return Exit::Aborted;
        }
    };
    let exit = swept(request, &planned, &interrupts);
    if let Some(exit) = interrupts.exit() {
        output::complain("interrupted: the trial was ended, and what it made is gone");
        return exit;
    }
    exit.unwrap_or_else(|message| {
        output::complain(&format!("error: {message}"));
        Exit::BadInput
    })
}

fn swept(request: &SweepRequest, planned: &Planned, interrupts: &Interrupts) -> Result<Exit, String> {
    let ladder = Ladder::parse(&request.values)?;
    for value in ladder.sizes() {
        limits::apply(&mut planned.written.clone(), &[(request.resource.clone(), value.clone())])?;
    }
    let trials = Trials::new(request, planned, interrupts)?;
    let kind = limits::measure(&ladder.sizes()[0]).map_or("slots", |(kind, _)| kind);
    let mut sweep = Sweep { resource: request.resource.clone(), kind: kind.into(), points: Vec::new() };
    for (number, value) in ladder.sizes().iter().enumerate() {
        let warm_up = if number == 0 { request.warm_up } else { 0 };
        sweep.points.push(point(request, &trials, value, warm_up)?);
        if ladder.is_search() && sweep.has_flattened() {
            break;
        }
    }
    if let Some(path) = &request.chart {
        fs::write(path, sweep.to_svg())
            .map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
    }
    Ok(output::print(&shown(&sweep, request.format)?))
}

/// One size: runs that are thrown away, and runs that count.
fn point(request: &SweepRequest, trials: &Trials, value: &str, warm_up: u64) -> Result<Point, String> {
    for _ in 0..warm_up {
        trials.run(value)?;
    }
    let mut runs = Vec::new();
    for number in 1..=request.repeats {
        let run = trials.run(value)?;
        output::complain(&format!(
            "{} = {value}, run {number} of {}: {:.2} items/s",
            request.resource, request.repeats, run.items_per_second
        ));
        runs.push(run);
    }
    let size = limits::measure(value).map_or(0.0, |(_, size)| size);
    Ok(Point { value: value.to_owned(), size, runs })
}

fn shown(sweep: &Sweep, format: ReportFormat) -> Result<String, String> {
    if format == ReportFormat::Text {
        return Ok(sweep.to_text());
    }
    let mut json = serde_json::to_value(sweep).map_err(|error| error.to_string())?;
    json["knee"] = sweep.knee().map(|point| point.value.clone()).into();
    json["edit"] = sweep.edit().into();
    Ok(format!("{json:#}\n"))
}
