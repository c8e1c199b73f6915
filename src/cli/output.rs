//! Text to the terminal. A reader that has gone away (`gisrun ops | head`) is no error.

use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};

use crate::cli::Exit;

/// Writes to standard output.
pub(super) fn print(text: &str) -> Exit {
    written(stdout().lock().write_all(text.as_bytes()))
}

/// Writes a line to standard error.
pub(super) fn complain(text: &str) -> Exit {
    written(writeln!(stderr().lock(), "{text}"))
}

fn written(result: std::io::Result<()>) -> Exit {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Exit::Aborted,
        _ => Exit::Done,
    }
}

/// Whether standard output takes colours: a terminal, and `NO_COLOR` is not set.
pub(super) fn takes_colour() -> bool {
    stdout().is_terminal() && colour_is_wanted()
}

/// Whether standard error takes colours.
pub(super) fn error_takes_colour() -> bool {
    stderr().is_terminal() && colour_is_wanted()
}

#[allow(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
fn colour_is_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
