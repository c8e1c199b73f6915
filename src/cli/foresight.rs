//! What a run would find to do: the items of a plan, judged by its ledger. Nothing is run and nothing is written.

use crate::config::AsWritten;
use crate::engine::{self, Foreseen};
use crate::ledger::Snapshot;
use crate::plan::Plan;
use crate::raster;
use crate::remote::{AccessRules, Client, ClientOptions, parse_raster_header};

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
    let access = AccessRules::compile(&written.access).map_err(|_| "the access rules do not hold")?;
    let client = match requests {
        Requests::Made => Client::new(ClientOptions::default(), access, Some(parse_raster_header())),
        Requests::None => Client::offline(),
    };
    raster::initialise(plan.gdal_share());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start threads: {error}"))?;
    let foreseen = runtime.block_on(engine::foresee(plan, client, earlier));
    runtime.shutdown_background();
    Ok(foreseen)
}
