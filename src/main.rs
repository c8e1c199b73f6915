//! The `gisrun` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    gisrun::cli::main(std::env::args_os())
}
