//! The program's own log: warnings about leftovers on standard error, more where `GISRUN_LOG` asks for it.

use std::io;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::cli::output;

/// The variable that asks for more: `debug`, or `gisrun::remote=trace`.
const VARIABLE: &str = "GISRUN_LOG";

/// The variable that asks for lines of JSON, with their time: `json`.
const FORM: &str = "GISRUN_LOG_FORMAT";

/// Begins to log. Called once, before anything else is done.
pub(super) fn begin() {
    let filter = EnvFilter::builder()
        .with_env_var(VARIABLE)
        .with_default_directive(LevelFilter::WARN.into())
        .from_env_lossy();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    if is_json() {
        log.json().flatten_event(true).init();
    } else {
        log.with_ansi(output::error_takes_colour()).with_target(false).without_time().compact().init();
    }
}

/// Whether lines are for programs.
#[allow(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
fn is_json() -> bool {
    std::env::var_os(FORM).is_some_and(|form| form == "json")
}
