//! The program's own log: warnings about inputs and leftovers on standard error, more where `GISRUN_LOG` asks for it.

use std::io;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::cli::output;

/// The variable that asks for more: `debug`, or `gisrun::remote=trace`.
const VARIABLE: &str = "GISRUN_LOG";

/// Begins to log. Called once, before anything else is done.
pub(super) fn begin() {
    let filter = EnvFilter::builder()
        .with_env_var(VARIABLE)
        .with_default_directive(LevelFilter::WARN.into())
        .from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(output::error_takes_colour())
        .with_target(false)
        .without_time()
        .compact()
        .init();
}
