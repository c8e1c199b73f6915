//! The commands that try failed items again.

use super::words::quoted;

/// All that failed.
pub(super) fn all(pipeline: &str) -> String {
    format!("gisrun {} --retry-failed", quoted(pipeline))
}

/// One item.
pub(super) fn one(pipeline: &str, item: &str) -> String {
    format!("gisrun {} --only {}", quoted(pipeline), quoted(item))
}
