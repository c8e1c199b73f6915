//! `gisrun worker`: a worker process of a run that isolates a stage; the run starts it and speaks to it through pipes.

use std::fs::File;
use std::io;
use std::sync::Arc;

use rustix::stdio::{dup2_stdout, stderr};

use crate::cli::pipeline_file::environment;
use crate::cli::{Exit, output, schema};
use crate::config::{AsWritten, Inputs, load};
use crate::contract::{Environment, Op};
use crate::engine::{Greeting, WorkerCommand, serve};
use crate::{ops, raster};

/// The command's name.
const NAME: &str = "worker";

/// How a run starts its workers; `None` where the system does not say which program this is.
pub(super) fn command(written: &AsWritten, sets: &[(String, String)]) -> Option<WorkerCommand> {
    let program = std::env::current_exe();
    let program = program.inspect_err(|error| tracing::warn!(%error, "no worker can be started")).ok()?;
    let (text, sets) = (Arc::clone(&written.text), sets.to_vec());
    Some(WorkerCommand { program, arguments: vec![NAME.into()], text, sets })
}

/// Works until the run is gone.
pub(super) fn work() -> Exit {
    let served = answers().and_then(|answers| serve(io::stdin(), answers, build));
    match served {
        Ok(()) => Exit::Done,
        Err(error) => {
            output::complain(&format!("error: `gisrun {NAME}` is started by a run alone: {error}"));
            Exit::BadInput
        }
    }
}

/// Standard output for answers alone: what a library prints goes to standard error.
fn answers() -> io::Result<File> {
    let answers = rustix::io::dup(rustix::stdio::stdout())?;
    dup2_stdout(stderr())?;
    Ok(answers.into())
}

/// The op that the run has compiled from the same text.
fn build(greeting: &Greeting) -> Result<Arc<dyn Op>, String> {
    raster::initialise(greeting.gdal_cache);
    let registry = ops::registry();
    let inputs = Inputs { sets: &greeting.sets, environment: &environment };
    let loaded = load(&greeting.pipeline, &greeting.text, &inputs, &schema::compile(&registry));
    let written = loaded.pipeline.ok_or("the pipeline does not load in a worker process")?;
    let stage = written.stages.iter().find(|stage| stage.name.value == greeting.stage);
    let stage = stage.ok_or_else(|| format!("the pipeline has no stage `{}`", greeting.stage))?;
    let entry = registry.get(&stage.op).ok_or_else(|| format!("there is no op `{}`", stage.op.value))?;
    let environment = Environment { folder: greeting.folder.clone(), grids: written.grids.clone() };
    (entry.compile)(&stage.options, &environment)
        .map_err(|faults| faults.into_iter().map(|fault| fault.message).collect::<Vec<_>>().join("; "))
}
