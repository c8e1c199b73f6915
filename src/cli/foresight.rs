//! What a run would find to do: the items of a plan, judged by its ledger. Nothing is run and nothing is written.

use crate::cli::client;
use crate::config::AsWritten;
use crate::engine::{self, Foreseen};
use crate::ledger::Snapshot;
use crate::plan::Plan;
use crate::raster;
use crate::remote::{Client, StageSettings};

/// Whether servers are asked for what a pipeline is to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requests {
    /// As a run would ask them.
    Made,
    /// Not at all; a source that needs them lists nothing.
    None,
}

/// Lists the items of a plan, and judges them by what earlier runs left.
///
/// # Errors
/// No thread can be started.
pub(super) fn foresee(
    written: &AsWritten,
    plan: &Plan,
    requests: Requests,
    earlier: Snapshot,
) -> Result<Foreseen, String> {
    let client = match requests {
        Requests::Made => client::of(written)?,
        Requests::None => Client::offline(),
    };
    raster::initialise(plan.gdal_share());
    // Listing is short and mostly waits, so that handing it from thread to thread would cost more than it does.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the runtime: {error}"))?;
    let foreseen = runtime.block_on(async {
        let objects = match requests {
            Requests::Made => engine::of_objects(&client.for_stage(StageSettings::default()), &earlier).await,
            Requests::None => engine::unasked_objects(&earlier),
        };
        engine::foresee(plan, client, earlier, objects).await
    });
    runtime.shutdown_background();
    Ok(foreseen)
}
