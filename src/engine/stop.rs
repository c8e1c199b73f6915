//! The three steps in which a run ends early: no new items, no more work, no more waiting.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// Why a run ends before its source does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// A signal, by number: 2 or 15.
    Signal(i32),
    /// A list or a pattern names nothing, or two items with one id.
    BadInput(String),
    /// Nothing that follows can succeed, or too many items failed.
    Aborted(String),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::Signal(2) => f.write_str("interrupted"),
            StopReason::Signal(15) => f.write_str("terminated"),
            StopReason::Signal(number) => write!(f, "signal {number}"),
            StopReason::BadInput(reason) | StopReason::Aborted(reason) => f.write_str(reason),
        }
    }
}

/// Tells every part of a run to end. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    admission: CancellationToken,
    work: CancellationToken,
    reason: Arc<Mutex<Option<StopReason>>>,
}

impl Stop {
    /// Stops admission; what runs goes on. The first reason stands.
    pub fn stop_admission(&self, reason: StopReason) {
        let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(reason);
        drop(first);
        self.admission.cancel();
    }

    /// Stops admission and ends all work.
    pub fn abort_work(&self, reason: StopReason) {
        self.stop_admission(reason);
        self.work.cancel();
    }

    /// Why the run ends early, if it does.
    pub fn reason(&self) -> Option<StopReason> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Cancelled when no further item is admitted.
    pub fn admission(&self) -> &CancellationToken {
        &self.admission
    }

    /// Cancelled when all work is to end.
    pub fn work(&self) -> &CancellationToken {
        &self.work
    }
}
