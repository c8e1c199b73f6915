//! `gisrun PIPELINE`

use crate::cli::{Exit, RunRequest, output};

/// Runs a pipeline.
pub fn run(request: RunRequest) -> Exit {
    let name = request.pipeline.display();
    output::complain(&format!(
        "error: this build checks `{name}` (`gisrun check {name}`) and has no engine to run it"
    ));
    Exit::BadInput
}
