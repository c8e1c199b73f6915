//! Faults as text: for people, for programs, for code review.

mod github;
mod human;
mod json;
mod position;

use std::path::Path;

use crate::config::Fault;

/// How faults are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// The line with the fault marked, for people
    #[default]
    Human,
    /// One JSON object a fault and line, for programs
    Json,
    /// Annotations of GitHub Actions
    Github,
}

/// The faults of one file; `text` is what their spans are ranges of.
pub fn render(format: Format, path: &Path, text: &str, faults: &[Fault], is_coloured: bool) -> String {
    let render_one = |fault: &Fault| match format {
        Format::Human => human::render(path, text, fault, is_coloured),
        Format::Json => json::render(path, text, fault),
        Format::Github => github::render(path, text, fault),
    };
    faults.iter().map(render_one).collect()
}

/// `1 error`, `2 errors`
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
