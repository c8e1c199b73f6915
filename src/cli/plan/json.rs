//! The plan for programs.

use serde_json::{Value as Json, json};

use crate::config::{Isolation, MaxFailures, OnError};
use crate::machine::Granted;
use crate::plan::{Limit, MemoryDemand, Oversize, Plan, ResourcePlan, StagePlan};

/// The plan without its items, for which the caller adds `items`. Sizes are bytes, times seconds.
pub fn to_json(plan: &Plan) -> Json {
    let machine = &plan.machine;
    json!({
        "name": plan.name,
        "pipeline": plan.pipeline,
        "machine": {
            "cores": granted(&machine.cores),
            "memory": granted(&machine.memory),
            "descriptors": granted(&machine.descriptors),
            "shards": granted(&machine.shards),
        },
        "resources": plan.resources.iter().map(resource).collect::<Json>(),
        "stages": plan.stages.iter().map(|it| stage(it, plan)).collect::<Json>(),
        "memory": memory(plan),
        "too-large": plan.entrances().filter_map(|entrance| oversize(plan, entrance)).collect::<Json>(),
        "run": run(plan),
    })
}

fn granted(figure: &Granted) -> Json {
    json!({ "value": figure.value, "source": figure.source })
}

fn resource(resource: &ResourcePlan) -> Json {
    json!({
        "name": resource.name,
        "kind": resource.limit.kind(),
        "limit": limit(&resource.limit),
        "derivation": resource.derivation,
        "default": !resource.is_declared,
    })
}

fn limit(limit: &Limit) -> Json {
    match *limit {
        Limit::Slots(count) | Limit::Bytes(count) => json!(count),
        Limit::Adaptive { from, to } => json!({ "from": from, "to": to }),
        Limit::Rate { per_second, burst, counts_bytes, per_host } => json!({
            "per-second": per_second,
            "burst": burst,
            "counts": if counts_bytes { "bytes" } else { "requests" },
            "per-host": per_host,
        }),
    }
}

fn stage(stage: &StagePlan, plan: &Plan) -> Json {
    let names =
        |indices: &[usize]| indices.iter().map(|&other| json!(plan.stages[other].name)).collect::<Json>();
    json!({
        "name": stage.name,
        "op": stage.op_name,
        "accepts": stage.accepts,
        "gives": stage.gives,
        "from": names(&stage.from),
        "to": names(&stage.to),
        "takes": {
            "slots": stage.slots.iter().map(|(name, amount)| (name.to_string(), json!(amount))).collect::<Json>(),
            "rates": stage.rates,
            "memory": match stage.memory {
                MemoryDemand::Measured => json!("measured"),
                MemoryDemand::Declared(bytes) => json!(bytes),
            },
            "per-request": stage.is_per_request,
        },
        "queue": (stage.queue > 0).then(|| json!({ "places": stage.queue, "derivation": stage.queue_derivation })),
        "moves": plan.moves(stage).map(|moves| moves.words),
        "parallelism": stage.parallelism,
        "bound-by": stage.bound_by,
        "timeout": stage.timeout.map(|time| time.as_secs_f64()),
        "retry": {
            "tries": stage.retry.tries,
            "first-delay": stage.retry.first_delay.as_secs_f64(),
            "max-delay": stage.retry.max_delay.as_secs_f64(),
            "total": stage.retry.total.as_secs_f64(),
        },
        "on-error": match stage.on_error {
            OnError::Fail => "fail",
            OnError::Stop => "stop",
        },
        "isolation": match stage.isolation {
            Isolation::Thread => "thread",
            Isolation::Process => "process",
        },
    })
}

fn memory(plan: &Plan) -> Json {
    let part = |it: &crate::plan::MemoryPart| json!({ "name": it.name, "bytes": it.bytes, "derivation": it.derivation });
    json!({
        "parts": plan.memory.parts.iter().map(part).collect::<Json>(),
        "total": plan.memory.total,
        "granted": granted(&plan.memory.granted),
    })
}

/// What becomes of items too large for memory that enter at a stage; `None` where no raster follows.
fn oversize(plan: &Plan, entrance: usize) -> Option<Json> {
    let name = |stage: usize| &plan.stages[stage].name;
    let what = match plan.oversize(entrance) {
        _ if !plan.makes_rasters(entrance) => return None,
        Oversize::Cut(joins) => json!({ "joined-by": joins.into_iter().map(name).collect::<Vec<_>>() }),
        Oversize::NeedsWhole(stage) => json!({ "needed-whole-by": name(stage) }),
        Oversize::IsWindow(cutter) => json!({ "windows-of": name(cutter) }),
    };
    Some(json!({ "stage": name(entrance), "what": what }))
}

fn run(plan: &Plan) -> Json {
    let run = &plan.run;
    json!({
        "unit": run.unit.iter().map(|(name, amount)| (name.to_string(), json!(amount))).collect::<Json>(),
        "items-in-flight": plan.items_in_flight(),
        "max-failures": run.max_failures.map(|limit| match limit {
            MaxFailures::Count(count) => json!(count),
            MaxFailures::Share(share) => json!(share),
        }),
        "grace": run.grace.map(|time| time.as_secs_f64()),
        "gdal-cache": { "bytes": run.gdal_cache.0, "derivation": run.gdal_cache.1 },
        "scratch": plan.shown(&run.scratch),
        "ledger": plan.shown(&run.ledger),
    })
}
