//! What an op is handed, made of the plan, the pools and the parcel.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::contract::{Commits, ComputeContext, TransferContext};
use crate::engine::journey::Parcel;
use crate::engine::run::Shared;
use crate::resources::ByteLease;

/// For CPU work.
pub(crate) fn compute(
    shared: &Shared,
    stage: usize,
    parcel: &Parcel,
    cancel: &CancellationToken,
) -> ComputeContext {
    let path = parcel.path.as_deref();
    ComputeContext {
        stage: shared.plan.stages[stage].name.clone(),
        item: parcel.item.id.clone(),
        cancel: cancel.clone(),
        wanted: path.map(|node| node.wanted.clone()).unwrap_or_default(),
        input: path.map(|node| node.input.clone()).unwrap_or_default(),
        output: path.map(|node| node.output.clone()).unwrap_or_default(),
        scratch: shared.plan.run.scratch.clone(),
        scratch_budget: shared.scratch.clone(),
        memory: memory(shared, parcel),
        idle_cores: shared.pools.slots("cores").cloned(),
    }
}

/// For work that waits for others.
pub(crate) fn transfer(
    shared: &Arc<Shared>,
    stage: usize,
    parcel: &Parcel,
    cancel: &CancellationToken,
) -> TransferContext {
    let path = parcel.path.as_deref();
    let plan = &shared.plan.stages[stage];
    let cores = plan.slots.iter().find(|(name, _)| name.as_str() == "cores").map_or(1, |(_, amount)| *amount);
    let commits: Arc<dyn Commits> = Arc::new(shared.remembers.of(parcel.journey.item(), &plan.name));
    TransferContext {
        stage: plan.name.clone(),
        item: parcel.item.id.clone(),
        client: shared.client_of(stage, &parcel.item.id),
        cancel: cancel.clone(),
        wanted: path.map(|node| node.wanted.clone()).unwrap_or_default(),
        needs: path.and_then(|node| node.needs.clone()),
        input: path.map(|node| node.input.clone()).unwrap_or_default(),
        output: path.map(|node| node.output.clone()).unwrap_or_default(),
        memory: memory(shared, parcel),
        scratch: shared.plan.run.scratch.clone(),
        scratch_budget: shared.scratch.clone(),
        commits,
        cores,
        gdal_cache: shared.plan.gdal_share(),
    }
}

/// The parcel's memory; items before the gate and outputs of a join have none and draw on the budget as they grow.
fn memory(shared: &Shared, parcel: &Parcel) -> ByteLease {
    parcel.memory.clone().unwrap_or_else(|| shared.memory.overdraw(0))
}
