//! `gisrun plan FILE`

mod items;
mod json;
mod text;

pub use json::to_json;
pub use text::render;

use crate::cli::foresight::{Requests, foresee};
use crate::cli::planned::{Named, Planned};
use crate::cli::{Exit, PlanFormat, PlanRequest, output};
use crate::engine::Foreseen;
use crate::ledger::Snapshot;

/// Shows what a run would do; the items too, unless a source cannot be listed.
pub fn plan(request: &PlanRequest) -> Exit {
    let named = Named { path: &request.pipeline, sets: &request.sets, machine: request.machine };
    let requests = if request.is_offline { Requests::None } else { Requests::Made };
    let planned = if request.is_offline { named.plan_without_secrets() } else { named.plan() };
    let Some(planned) = planned else { return Exit::BadInput };
    let foreseen = match items_of(&planned, requests) {
        Ok(foreseen) => foreseen,
        Err(message) => {
            output::complain(&format!("error: {message}"));
            return Exit::Aborted;
        }
    };
    match request.format {
        PlanFormat::Human => {
            let mut text = render(&planned.plan);
            text::section(&mut text, "items", &items::rows(&foreseen, planned.plan.moves_parts()));
            output::print(&text)
        }
        PlanFormat::Json => {
            let mut json = to_json(&planned.plan);
            json["items"] = items::to_json(&foreseen);
            output::print(&format!("{json:#}\n"))
        }
    }
}

/// The items, judged by the ledger.
fn items_of(planned: &Planned, requests: Requests) -> Result<Foreseen, String> {
    let earlier = Snapshot::read(&planned.plan.run.ledger).map_err(|error| error.to_string())?;
    foresee(&planned.written, &planned.plan, requests, earlier)
}

#[cfg(test)]
mod tests;
