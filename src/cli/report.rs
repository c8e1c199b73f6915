//! `gisrun report RUN…`: what runs came to, from their records: finished ones and ones that still go on.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::cli::planned::Named;
use crate::cli::{Exit, ReportFormat, ReportRequest, output};
use crate::events::{Record, read_records};
use crate::report::{Digest, Report, Timeline, Trace, page};

/// Reports on runs.
pub fn report(request: &ReportRequest) -> Exit {
    made(request).unwrap_or_else(|message| {
        output::complain(&format!("error: {message}"));
        Exit::BadInput
    })
}

fn made(request: &ReportRequest) -> Result<Exit, String> {
    if request.trace.is_some() && request.runs.len() > 1 {
        return Err("`--trace` shows one run, found several".into());
    }
    let records = request.runs.iter().map(|run| record_of(run, request)).collect::<Result<Vec<_>, _>>()?;
    let digests = records.iter().map(PathBuf::as_path).map(digest).collect::<Result<Vec<_>, _>>()?;
    let report = Report::of(&digests);
    if let Some(path) = &request.html {
        let timeline = timeline(&records, &digests)?;
        write(path, page(&report, &timeline).as_bytes())?;
    }
    if let Some(path) = &request.trace {
        trace(&records[0], path)?;
    }
    Ok(output::print(&match request.format {
        ReportFormat::Text => report.to_text(),
        ReportFormat::Json => {
            let json = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
            json + "\n"
        }
    }))
}

/// The record of a run: the file itself, or that of the last run of a pipeline.
fn record_of(run: &Path, request: &ReportRequest) -> Result<PathBuf, String> {
    if run.extension().is_none_or(|extension| extension != "toml") {
        return Ok(run.to_owned());
    }
    let named = Named { path: run, sets: &request.sets, machine: None };
    let shown = run.display();
    let planned =
        named.plan().ok_or_else(|| format!("`{shown}` has errors; name the record of its run instead"))?;
    let record = planned.plan.run.ledger.with_extension("run.jsonl");
    if record.exists() {
        return Ok(record);
    }
    Err(format!(
        "no run of `{shown}` has left a record at `{}`; with `--events` it is where that said",
        record.display()
    ))
}

/// Gives every event of a record to `take`.
fn each(path: &Path, mut take: impl FnMut(&Record) -> Result<(), String>) -> Result<(), String> {
    let fail = |error: &dyn std::fmt::Display| format!("cannot read `{}`: {error}", path.display());
    let file = File::open(path).map_err(|error| fail(&error))?;
    for record in read_records(file) {
        take(&record.map_err(|error| fail(&error))?)?;
    }
    Ok(())
}

fn digest(path: &Path) -> Result<Digest, String> {
    let mut digest = Digest::default();
    each(path, |record| {
        digest.add(record);
        Ok(())
    })?;
    if digest.span().is_none() {
        return Err(format!("`{}` holds no event", path.display()));
    }
    Ok(digest)
}

fn timeline(records: &[PathBuf], digests: &[Digest]) -> Result<Timeline, String> {
    let spans = || digests.iter().filter_map(Digest::span);
    let begin = spans().map(|(begin, _)| begin).fold(f64::INFINITY, f64::min);
    let end = spans().map(|(_, end)| end).fold(f64::NEG_INFINITY, f64::max);
    let mut timeline = Timeline::new(begin, end);
    for record in records {
        each(record, |record| {
            timeline.add(record);
            Ok(())
        })?;
    }
    Ok(timeline)
}

fn trace(record: &Path, path: &Path) -> Result<(), String> {
    let fail = |error: std::io::Error| unwritable(path, &error);
    let file = File::create(path).map_err(fail)?;
    let mut trace = Trace::new(BufWriter::new(file)).map_err(fail)?;
    each(record, |record| trace.add(record).map_err(fail))?;
    trace.finish().map(drop).map_err(fail)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let written = File::create(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write `{}`: {error}", path.display())
}
