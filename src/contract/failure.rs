//! How work fails: one type, whose class tells the engine what to do.

use std::fmt;
use std::time::Duration;

use crate::events::FailureClass;
use crate::remote::RequestError;

/// Why a stage could not do its work on an item. The engine adds the stage and the item.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What the engine does about it.
    pub class: FailureClass,
    /// A lowercase fragment that names the file or address, what was expected and what was found.
    pub message: String,
    /// How long the service asked to be left alone, for transient failures.
    pub retry_after: Option<Duration>,
    /// Whether what the pipeline asks for is at fault, so that no run of it could succeed: an empty list, two items with
    /// one id.
    pub is_bad_input: bool,
}

impl Failure {
    /// May succeed when tried again.
    pub fn transient(message: impl Into<String>) -> Self {
        Self {
            class: FailureClass::Transient,
            message: message.into(),
            retry_after: None,
            is_bad_input: false,
        }
    }

    /// Concerns this item alone; the run goes on.
    pub fn item(message: impl Into<String>) -> Self {
        Self { class: FailureClass::Item, message: message.into(), retry_after: None, is_bad_input: false }
    }

    /// Nothing that follows can succeed; the run stops.
    pub fn fatal(message: impl Into<String>) -> Self {
        Self { class: FailureClass::Fatal, message: message.into(), retry_after: None, is_bad_input: false }
    }

    /// The list that a source was told to read is empty or contradicts itself; the run stops before any work.
    pub fn bad_input(message: impl Into<String>) -> Self {
        Self { is_bad_input: true, ..Self::fatal(message) }
    }

    /// The work was cancelled from outside.
    pub fn cancelled() -> Self {
        Self {
            class: FailureClass::Cancelled,
            message: "cancelled".into(),
            retry_after: None,
            is_bad_input: false,
        }
    }

    /// The same failure with `what: ` before its message.
    #[must_use]
    pub fn within(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<RequestError> for Failure {
    /// The request was tried as often as its stage allows already; the class says why it failed.
    fn from(error: RequestError) -> Self {
        Self {
            class: error.class(),
            message: error.to_string(),
            retry_after: error.retry_after(),
            is_bad_input: false,
        }
    }
}
