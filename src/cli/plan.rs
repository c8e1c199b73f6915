//! `gisrun plan FILE`

mod json;
mod text;

pub use json::to_json;
pub use text::render;

use crate::cli::planned::Named;
use crate::cli::{Exit, PlanRequest, output};

/// Shows what a run would do.
pub fn plan(request: &PlanRequest) -> Exit {
    let named = Named { path: &request.pipeline, sets: &request.sets, machine: request.machine };
    match named.plan() {
        Some(planned) => output::print(&render(&planned.plan)),
        None => Exit::BadInput,
    }
}

#[cfg(test)]
mod tests;
