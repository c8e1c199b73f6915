//! What is wrong with a pipeline file: where, what was expected, and the edit that helps.

use std::ops::Range;

/// A range of bytes of the pipeline's text.
pub type Span = Range<usize>;

/// Whether a fault keeps the pipeline from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It does not run.
    Error,
    /// It runs, and a reviewer should know.
    Warning,
}

/// One fault of a pipeline file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Whether it keeps the pipeline from running.
    pub severity: Severity,
    /// A stable name: `unknown-key`, `unknown-stage`, …
    pub code: &'static str,
    /// What was expected and found, a lowercase fragment with values in backticks.
    pub message: String,
    /// The place, and a few words that stand beside it.
    pub span: Span,
    /// The words beside the place; may be empty.
    pub label: String,
    /// Further places with their words: the definition, the other end.
    pub related: Vec<(Span, String)>,
    /// The edit that helps; may be empty.
    pub help: String,
}

impl Fault {
    /// An error with a message at a place.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            help: String::new(),
        }
    }

    /// A warning with a message at a place.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    /// With words beside the place.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With the edit that helps.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// With a further place.
    #[must_use]
    pub fn related(mut self, span: Span, words: impl Into<String>) -> Self {
        self.related.push((span, words.into()));
        self
    }
}
