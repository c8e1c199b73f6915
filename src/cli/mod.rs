//! Arguments, commands, exit codes.
//!
//! Each command is one file with one entry function that takes its request and returns an [`Exit`].

mod arguments;
pub mod check;
mod exit;
mod init;
mod ops;
mod output;
mod pipeline_file;
pub mod plan;
mod planned;
pub mod render;
mod request;
pub mod run;
pub mod schema;
mod shell;
mod worker;

use std::ffi::OsString;
use std::process::ExitCode;

pub use exit::Exit;
pub use pipeline_file::PipelineFile;
pub use request::{CheckRequest, PlanRequest, Request, RunRequest, Verbosity};

/// Reads the arguments, does what they ask, and says how it went.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match arguments::parse(arguments) {
        Ok(request) => execute(request).into(),
        Err(exit) => exit.into(),
    }
}

fn execute(request: Request) -> Exit {
    match request {
        Request::Run(request) => run::run(&request),
        Request::Plan(request) => plan::plan(&request),
        Request::Check(request) => check::check(&request),
        Request::Schema => schema::print(),
        Request::Ops { name } => ops::print(name.as_deref()),
        Request::Init { path } => init::init(&path),
        Request::Completions { shell } => shell::print_completions(shell),
        Request::Man => shell::print_manual(),
        Request::Worker => worker::work(),
    }
}
