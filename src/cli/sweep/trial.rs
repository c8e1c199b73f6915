//! One run of the pipeline at one size: a process of its own, so that its memory and GDAL's cache are its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::interrupts::Interrupts;
use super::mirror::{Mirror, resolved};
use crate::cli::SweepRequest;
use crate::cli::planned::Planned;
use crate::events::read_records;
use crate::plan::Plan;
use crate::report::{Digest, Measured};

/// Exit codes with which a run has worked on its items.
const WORKED: &[i32] = &[0, 1];

/// All that trials have in common.
pub(super) struct Trials<'a> {
    request: &'a SweepRequest,
    interrupts: &'a Interrupts,
    program: PathBuf,
    pipeline: PathBuf,
    root: PathBuf,
    fresh: Vec<PathBuf>,
}

impl<'a> Trials<'a> {
    /// # Errors
    /// A pipeline that writes to places that trials cannot have for themselves.
    pub(super) fn new(
        request: &'a SweepRequest,
        planned: &Planned,
        interrupts: &'a Interrupts,
    ) -> Result<Self, String> {
        let plan = &planned.plan;
        let program =
            std::env::current_exe().map_err(|error| format!("cannot start this program again: {error}"))?;
        let pipeline = fs::canonicalize(&request.pipeline)
            .map_err(|error| format!("cannot read `{}`: {error}", request.pipeline.display()))?;
        let folder = pipeline.parent().unwrap_or(Path::new("/")).to_owned();
        let mut fresh = output_folders(plan, &folder)?;
        fresh.extend(state(planned, &pipeline, &folder)?);
        let root = plan.run.ledger.with_extension("sweep");
        Ok(Self { request, interrupts, program, pipeline, root, fresh })
    }

    /// Runs it once.
    ///
    /// # Errors
    /// It did not come to work on its items, in its own words.
    pub(super) fn run(&self, value: &str) -> Result<Measured, String> {
        let fail = |error: std::io::Error| {
            format!("cannot make the folder of a trial `{}`: {error}", self.root.display())
        };
        let mirror = Mirror::new(&self.root, &self.pipeline, &self.fresh).map_err(fail)?;
        let record = self.root.join("trial.run.jsonl");
        let output = self
            .command(&mirror, value, &record)
            .spawn()
            .and_then(|trial| self.interrupts.during(trial, Child::wait_with_output))
            .map_err(|error| format!("cannot start `{}`: {error}", self.program.display()))?;
        if !output.status.code().is_some_and(|code| WORKED.contains(&code)) {
            let said = String::from_utf8_lossy(&output.stderr);
            let limit = format!("{} = {value}", self.request.resource);
            return Err(format!("the run with `{limit}` ended with {}:\n{}", output.status, said.trim_end()));
        }
        measured(&record)
    }

    fn command(&self, mirror: &Mirror, value: &str, record: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(mirror.pipeline()).arg("--quiet").arg("--events").arg(record);
        command.arg("--limit").arg(format!("{}={value}", self.request.resource));
        for (name, value) in &self.request.sets {
            command.arg("--set").arg(format!("{name}={value}"));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }
}

fn measured(record: &Path) -> Result<Measured, String> {
    let fail = |error: &dyn std::fmt::Display| format!("cannot read the record of a trial: {error}");
    let mut digest = Digest::default();
    for record in read_records(File::open(record).map_err(|error| fail(&error))?) {
        digest.add(&record.map_err(|error| fail(&error))?);
    }
    Ok(Measured::of(&digest))
}

/// The ledger, the record and the scratch folder of the pipeline's own runs, which no trial may see.
fn state(planned: &Planned, pipeline: &Path, folder: &Path) -> Result<Vec<PathBuf>, String> {
    let (plan, run) = (&planned.plan, &planned.written.run);
    for (key, place) in [("ledger", &run.ledger), ("scratch", &run.scratch)] {
        if place.as_ref().is_some_and(|place| place.value.is_absolute()) {
            return Err(format!(
                "`[run] {key}` is absolute, so that trials would share it with each other and with real runs; make it \
                 relative to the pipeline's folder"
            ));
        }
    }
    // The folder as it really is, where links lead to it.
    let real =
        |path: &Path| path.strip_prefix(&plan.folder).map_or(path.to_owned(), |rest| folder.join(rest));
    let (ledger, scratch) = (real(&plan.run.ledger), real(&plan.run.scratch));
    let beside = ledger.parent().unwrap_or(folder).to_owned();
    let mut state = vec![scratch];
    if resolved(&beside) != folder {
        state.push(beside);
        return Ok(state);
    }
    // Files that are named after the ledger; in a folder of its own that is all.
    let own = ledger.file_stem().map(|stem| format!("{}.", stem.to_string_lossy())).unwrap_or_default();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_own = |path: &PathBuf| {
        path != pipeline && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&own))
    };
    state.extend(entries.filter(is_own));
    Ok(state)
}

/// The folders that outputs go to: of each template, what stands before its first name.
fn output_folders(plan: &Plan, folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut folders = Vec::new();
    for stage in &plan.stages {
        for place in stage.op.places() {
            let fixed = place.split('{').next().unwrap_or_default();
            if place.contains("://")
                || Path::new(fixed).is_absolute() && !Path::new(fixed).starts_with(folder)
            {
                return Err(format!(
                    "`{}` writes to `{place}`, which every trial would write to; make it relative to the pipeline's \
                     folder",
                    stage.name
                ));
            }
            let fixed = folder.join(fixed.rsplit_once('/').map_or("", |(before, _)| before));
            if fixed != folder {
                folders.push(fixed);
            }
        }
    }
    Ok(folders)
}
