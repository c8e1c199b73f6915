//! Arguments, commands, exit codes.
//!
//! Each command is one file with one entry function that takes its request and returns an [`Exit`].

mod arguments;
pub mod check;
mod exit;
mod init;
mod limits;
mod log;
mod ops;
mod output;
mod pipeline_file;
pub mod plan;
mod planned;
pub mod render;
pub mod report;
mod request;
pub mod run;
pub mod schema;
mod shell;
pub mod sweep;
mod worker;

use std::ffi::OsString;
use std::process::ExitCode;

pub use exit::Exit;
pub use pipeline_file::PipelineFile;
pub use request::{
    CheckRequest, PlanRequest, ReportFormat, ReportRequest, Request, RunRequest, SchemaOf, SweepRequest,
    Verbosity,
};

/// Reads the arguments, does what they ask, and says how it went.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    log::begin();
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
        Request::Report(request) => report::report(&request),
        Request::Sweep(request) => sweep::sweep(&request),
        Request::Schema { of } => schema::print(of),
        Request::Ops { name } => ops::print(name.as_deref()),
        Request::Init { path } => init::init(&path),
        Request::Completions { shell } => shell::print_completions(shell),
        Request::Man => shell::print_manual(),
        Request::Worker => worker::work(),
    }
}
