//! `gisrun PIPELINE`: load → plan → ledger → subscribers → engine → report → exit code.

mod ledger;
mod listeners;
pub(in crate::cli) mod metrics;
mod signals;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cli::planned::{Named, Planned};
use crate::cli::{Exit, RunRequest, client, output, worker};
use crate::engine::{self, Memory, Outcome, Services, Stop, StopReason};
use crate::events::{self, Event};
use crate::machine::{FamilyReading, Granted, ProcessReading};
use crate::plan::{self, Plan};
use crate::raster;

use listeners::Listeners;

/// How often the use of everything is told.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// How long nothing may move before that is told.
const STALL_AFTER: Duration = Duration::from_mins(1);

/// With fewer open files than this a run of one item at a time fails: the ledger, its log and lock, the record, GDAL and
/// PROJ's tables, and the files of the item.
const FEWEST_DESCRIPTORS: u64 = 40;

/// The most threads that wait for sockets and clocks; the work on pixels has its own, under `cores`.
const WAITING_THREADS: usize = 2;

/// Runs a pipeline.
pub fn run(request: &RunRequest) -> Exit {
    let named = Named { path: &request.pipeline, sets: &request.sets, machine: request.machine };
    let planned = match named.plan_with(&request.limits) {
        Ok(Some(planned)) => planned,
        Ok(None) => return Exit::BadInput,
        Err(message) => {
            output::complain(&format!("error: {message}"));
            return Exit::BadInput;
        }
    };
    raster::initialise(planned.plan.gdal_share());
    let threads = WAITING_THREADS.min(planned.plan.machine.cores.value as usize);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let exit = match runtime {
        Ok(runtime) => {
            let exit = runtime.block_on(execute(request, planned));
            // A thread that did not notice its cancellation is not waited for.
            runtime.shutdown_background();
            exit
        }
        Err(error) => Err(format!("cannot start threads: {error}")),
    };
    exit.unwrap_or_else(|message| {
        output::complain(&format!("error: {message}"));
        Exit::Aborted
    })
}

async fn execute(request: &RunRequest, planned: Planned) -> Result<Exit, String> {
    let Planned { written, plan } = planned;
    require_descriptors(&plan.machine.descriptors)?;
    let client = client::of(&written)?;
    let memory = Arc::new(ledger::open(request, &plan, &client).await?);
    let listeners = Listeners::new(request, &plan).await?;
    let stop = Stop::default();
    signals::listen(stop.clone(), plan.run.grace);
    let plan = Arc::new(plan);
    let services = Services {
        emitter: listeners.emitter(),
        client,
        memory: memory.clone(),
        stop,
        workers: worker::command(&written, &request.sets),
        sample_every: SAMPLE_EVERY,
        stall_after: STALL_AFTER,
    };
    let begun = Instant::now();
    listeners.emitter().emit(|| started(&plan));
    let outcome = engine::run(plan.clone(), services).await;
    let exit = exit_of(&outcome, &memory);
    listeners.emitter().emit(|| finished(&outcome, &plan, begun.elapsed(), exit));
    let closed = memory.close(&outcome.limits).await;
    ledger::clear_scratch(&plan);
    listeners.conclude(request, &outcome);
    if outcome.stopped.is_none() {
        for item in memory.never_came() {
            output::complain(&format!("error: `--only {item}`: no item has this id"));
        }
    }
    closed.map_err(|error| error.to_string())?;
    Ok(exit)
}

/// Refuses a limit of open files that would fail every item later.
fn require_descriptors(granted: &Granted) -> Result<(), String> {
    let Granted { value, source } = granted;
    if *value >= FEWEST_DESCRIPTORS {
        return Ok(());
    }
    Err(format!(
        "{value} open files are allowed [{source}] and a run needs at least {FEWEST_DESCRIPTORS} file descriptors; raise the \
         limit with `ulimit -n {FEWEST_DESCRIPTORS}`"
    ))
}

fn started(plan: &Plan) -> Event {
    let run = chrono::Utc::now().format("%Y%m%dT%H%M%SZ").to_string();
    Event::RunStarted {
        version: events::VERSION,
        program: concat!("gisrun ", env!("CARGO_PKG_VERSION")).into(),
        pipeline: plan.pipeline.display().to_string(),
        run,
        outline: plan.outline(),
    }
}

fn finished(outcome: &Outcome, plan: &Plan, took: Duration, exit: Exit) -> Event {
    Event::RunFinished {
        seconds: took.as_secs_f64(),
        done: outcome.done,
        failed: outcome.failed,
        skipped: outcome.skipped,
        cancelled: outcome.cancelled,
        exit: exit.code(),
        peak_resident: ProcessReading::now().peak_resident,
        peak_reserved: outcome.peak_reserved,
        memory_budget: plan.resource(plan::MEMORY).and_then(|memory| memory.limit.capacity()).unwrap_or(0),
        cpu: FamilyReading::now().cpu_seconds,
    }
}

fn exit_of(outcome: &Outcome, memory: &Memory) -> Exit {
    match &outcome.stopped {
        Some(StopReason::Signal(15)) => Exit::Terminated,
        Some(StopReason::Signal(_)) => Exit::Interrupted,
        Some(StopReason::BadInput(_)) => Exit::BadInput,
        Some(StopReason::Aborted(_)) => Exit::Aborted,
        None if outcome.failed > 0 => Exit::ItemsFailed,
        None if !memory.never_came().is_empty() => Exit::BadInput,
        None => Exit::Done,
    }
}
