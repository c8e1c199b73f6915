//! `gisrun completions SHELL` and `gisrun man`, from the declaration of the arguments.

use clap_complete::Shell;

use crate::cli::{Exit, arguments, output};

pub(super) fn print_completions(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut arguments::declaration(), "gisrun", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

pub(super) fn print_manual() -> Exit {
    let mut page = Vec::new();
    match clap_mangen::Man::new(arguments::declaration()).render(&mut page) {
        Ok(()) => output::print(&String::from_utf8_lossy(&page)),
        Err(_) => Exit::Aborted,
    }
}
