//! Exit codes: partial failure is never 0.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All done.
    Done,
    /// Some items failed.
    ItemsFailed,
    /// Bad usage, or a pipeline with errors.
    BadInput,
    /// The run was given up: a fatal error, or too many failures.
    Aborted,
    /// Ended by SIGINT.
    Interrupted,
    /// Ended by SIGTERM.
    Terminated,
}

impl Exit {
    /// The code that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::ItemsFailed => 1,
            Exit::BadInput => 2,
            Exit::Aborted => 3,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
