//! `gisrun plan FILE`

mod json;
mod text;

pub use json::to_json;
pub use text::render;

use crate::cli::{Exit, PlanRequest, output};

/// Shows what a run would do.
pub fn plan(request: PlanRequest) -> Exit {
    let name = request.pipeline.display();
    output::complain(&format!(
        "error: this build checks `{name}` (`gisrun check {name}`) and has no planner"
    ));
    Exit::BadInput
}

#[cfg(test)]
mod tests;
