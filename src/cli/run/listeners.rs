//! Who listens to a run: the record, the progress, the summary.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::metrics::{self, Exporter};
use crate::cli::{RunRequest, Verbosity, output};
use crate::engine::Outcome;
use crate::events::{Emitter, Record, RunLog, Subscriber};
use crate::plan::Plan;
use crate::progress::{Mode, Progress, Style};
use crate::report::{Places, Summary};

/// How often a line tells how far the run is, where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Everybody who listens.
pub(super) struct Listeners {
    log: Arc<RunLog>,
    progress: Arc<Progress>,
    summary: Arc<Summing>,
    ledger: PathBuf,
    exporter: Option<Arc<Exporter>>,
}

#[derive(Default)]
struct Summing(Mutex<Summary>);

impl Subscriber for Summing {
    fn on_record(&self, record: &Record) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(record);
    }
}

impl Listeners {
    /// Begins the record and the progress.
    ///
    /// # Errors
    /// The record cannot be written.
    pub(super) async fn new(request: &RunRequest, plan: &Plan) -> Result<Self, String> {
        let path = request.events.clone().unwrap_or_else(|| plan.run.ledger.with_extension("run.jsonl"));
        let log =
            RunLog::create(&path).map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        let style = Style {
            is_coloured: output::error_takes_colour(),
            is_verbose: request.verbosity == Verbosity::Verbose,
        };
        let progress = Progress::new(mode(request.verbosity), style)
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self {
            log: Arc::new(log),
            progress: Arc::new(progress),
            summary: Arc::default(),
            ledger: plan.run.ledger.clone(),
            exporter: exporter(request).await?,
        })
    }

    /// Tells all of them.
    pub(super) fn emitter(&self) -> Emitter {
        let exporter = self.exporter.iter().map(|exporter| exporter.clone() as Arc<dyn Subscriber>);
        let others: [Arc<dyn Subscriber>; 3] =
            [self.log.clone(), self.progress.clone(), self.summary.clone()];
        Emitter::new(others.into_iter().chain(exporter).collect())
    }

    /// Takes the progress away, ends the record and says what came of the run.
    pub(super) fn conclude(&self, request: &RunRequest, outcome: &Outcome) {
        self.progress.finish();
        if let Err(error) = self.log.finish() {
            output::complain(&format!("warning: `{}` is cut: {error}", self.log.path().display()));
        }
        if request.verbosity == Verbosity::Quiet && outcome.failed == 0 && outcome.stopped.is_none() {
            return;
        }
        let places = Places { run_log: Some(self.log.path().to_owned()), ledger: Some(self.ledger.clone()) };
        let summary = self.summary.0.lock().unwrap_or_else(PoisonError::into_inner).render(&places);
        output::complain(summary.trim_end());
    }
}

/// Answers Prometheus, where that is asked for, and says where.
async fn exporter(request: &RunRequest) -> Result<Option<Arc<Exporter>>, String> {
    let Some(address) = request.metrics else { return Ok(None) };
    let exporter = Arc::<Exporter>::default();
    let served = metrics::serve(address, exporter.clone()).await;
    let address = served.map_err(|error| format!("cannot answer at `{address}`: {error}"))?;
    if request.verbosity != Verbosity::Quiet {
        output::complain(&format!("metrics at http://{address}/metrics"));
    }
    Ok(Some(exporter))
}

fn mode(verbosity: Verbosity) -> Mode {
    if verbosity == Verbosity::Quiet {
        Mode::Quiet
    } else if io::stderr().is_terminal() {
        Mode::Bars
    } else {
        Mode::Lines { out: Box::new(io::stderr()), every: LINE_EVERY }
    }
}
