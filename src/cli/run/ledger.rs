//! The ledger and the scratch folder at both ends of a run.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::cli::RunRequest;
use crate::contract::Kind;
use crate::engine::{self, Ask, Memory};
use crate::ledger::{Ledger, LedgerError, Snapshot};
use crate::plan::Plan;
use crate::remote::{Client, StageSettings};

/// Opens the ledger, removes what dead runs left half-written, and reads what is done.
///
/// # Errors
/// Another run holds it, or it cannot be read or written.
pub(super) async fn open(request: &RunRequest, plan: &Plan, client: &Client) -> Result<Memory, String> {
    let (ledger, earlier) = recall(request, plan).await.map_err(|error| error.to_string())?;
    clear_scratch(plan);
    let scratch = &plan.run.scratch;
    std::fs::create_dir_all(scratch)
        .map_err(|error| format!("cannot make the scratch folder `{}`: {error}", scratch.display()))?;
    let (ask, outputs) = (ask(request), outputs(plan));
    let objects = engine::of_objects(&client.for_stage(StageSettings::default()), &earlier).await;
    let recollect = move || Memory::recollect(ledger, earlier, objects, ask, outputs);
    crate::contract::blocking::run(&tokio_util::sync::CancellationToken::new(), (), move || Ok(recollect()))
        .await
        .map_err(|failure| failure.to_string())
}

async fn recall(request: &RunRequest, plan: &Plan) -> Result<(Ledger, Snapshot), LedgerError> {
    let ledger = Ledger::open(&plan.run.ledger)?;
    if request.fresh {
        ledger.forget_all().await?;
    }
    for temporary in ledger.temporaries().await? {
        match remove(&temporary) {
            Ok(()) => ledger.forget_temporary(&temporary).await?,
            Err(error) if error.kind() == ErrorKind::NotFound => ledger.miss_temporary(&temporary).await?,
            Err(error) => warn(&temporary, &error),
        }
    }
    let earlier = ledger.snapshot().await?;
    Ok((ledger, earlier))
}

fn ask(request: &RunRequest) -> Ask {
    if !request.only.is_empty() {
        return Ask::Only(request.only.iter().map(|id| id.as_str().into()).collect());
    }
    if request.retry_failed { Ask::Failed } else { Ask::Missing }
}

/// How many files each item makes: known where every item comes to every writing stage, as itself.
fn outputs(plan: &Plan) -> Option<u32> {
    let kinds = || plan.stages.iter().map(|stage| stage.op.clone().kind());
    let sources = kinds().filter(|kind| matches!(kind, Kind::Source(_))).count();
    let is_plain = !kinds().any(|kind| matches!(kind, Kind::Expand(_) | Kind::Gather(_)));
    let files = plan.stages.iter().map(|stage| stage.op.files_made()).sum::<u32>();
    (sources == 1 && is_plain && files > 0).then_some(files)
}

/// Removes what is left on scratch. The folder itself stays.
pub(super) fn clear_scratch(plan: &Plan) {
    let Ok(entries) = std::fs::read_dir(&plan.run.scratch) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        remove(&path).unwrap_or_else(|error| warn(&path, &error));
    }
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
}

fn warn(path: &Path, error: &io::Error) {
    tracing::warn!(path = %path.display(), %error, "a temporary file stays");
}
