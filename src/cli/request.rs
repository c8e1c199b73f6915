//! What is asked for, checked: the arguments as they are used.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ValueEnum;
use clap_complete::Shell;

use crate::cli::render::Format;
use crate::machine::Overrides;

/// One command with all that it needs.
#[derive(Clone, Debug)]
pub enum Request {
    /// Run a pipeline.
    Run(RunRequest),
    /// Show what a run would do.
    Plan(PlanRequest),
    /// Look for errors.
    Check(CheckRequest),
    /// Say what runs came to.
    Report(ReportRequest),
    /// Run a pipeline at several sizes of one resource.
    Sweep(SweepRequest),
    /// Print a JSON schema.
    Schema {
        /// Of what.
        of: SchemaOf,
    },
    /// List the ops, or print the manual of one.
    Ops {
        /// The op.
        name: Option<String>,
    },
    /// Write a starter pipeline.
    Init {
        /// Where.
        path: PathBuf,
    },
    /// Print shell completions.
    Completions {
        /// For which shell.
        shell: Shell,
    },
    /// Print the man page.
    Man,
    /// Be a worker process of a run.
    Worker,
}

/// `gisrun PIPELINE`
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The pipeline's file.
    pub pipeline: PathBuf,
    /// `--set name=value`, in order.
    pub sets: Vec<(String, String)>,
    /// `--machine`: sizes for another machine.
    pub machine: Option<Overrides>,
    /// `--fresh`: forget what earlier runs did.
    pub fresh: bool,
    /// `--retry-failed`: run only what failed before.
    pub retry_failed: bool,
    /// `--only`: run these items alone; empty for all.
    pub only: Vec<String>,
    /// `--revalidate`: ask servers whether inputs have changed.
    pub revalidate: bool,
    /// `--quiet`, `--verbose`
    pub verbosity: Verbosity,
    /// `--events`: where the events are written, one JSON line each.
    pub events: Option<PathBuf>,
    /// `--metrics`: where Prometheus is answered.
    pub metrics: Option<SocketAddr>,
    /// `--limit name=size`, in order: other sizes of resources.
    pub limits: Vec<(String, String)>,
}

/// How much a run tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Errors and the summary.
    Quiet,
    /// Progress and failures.
    #[default]
    Normal,
    /// Every item.
    Verbose,
}

/// `gisrun plan`
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The pipeline's file.
    pub pipeline: PathBuf,
    /// `--set name=value`, in order.
    pub sets: Vec<(String, String)>,
    /// `--machine`: sizes for another machine.
    pub machine: Option<Overrides>,
}

/// `gisrun check`
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// Files, or patterns of files.
    pub files: Vec<String>,
    /// `--set name=value`, in order.
    pub sets: Vec<(String, String)>,
    /// `--machine`: sizes for another machine.
    pub machine: Option<Overrides>,
    /// `--format`
    pub format: Format,
    /// `--deny-warnings`: a warning counts as an error.
    pub deny_warnings: bool,
}

/// `gisrun report`
#[derive(Clone, Debug)]
pub struct ReportRequest {
    /// Records of runs, or pipelines whose last run is meant.
    pub runs: Vec<PathBuf>,
    /// `--set name=value`, in order, for pipelines.
    pub sets: Vec<(String, String)>,
    /// `--format`
    pub format: ReportFormat,
    /// `--html`: where the page is written.
    pub html: Option<PathBuf>,
    /// `--trace`: where the trace is written.
    pub trace: Option<PathBuf>,
}

/// `gisrun sweep`
#[derive(Clone, Debug)]
pub struct SweepRequest {
    /// The pipeline's file.
    pub pipeline: PathBuf,
    /// `--set name=value`, in order.
    pub sets: Vec<(String, String)>,
    /// `--resource`
    pub resource: String,
    /// `--values`: `1,2,4`, or `2..32`.
    pub values: String,
    /// `--repeats`: runs that count at each size, at least 1.
    pub repeats: u64,
    /// `--warm-up`: runs before the first that counts.
    pub warm_up: u64,
    /// `--format`
    pub format: ReportFormat,
    /// `--chart`: where a chart is written, as SVG.
    pub chart: Option<PathBuf>,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// What a schema is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// A pipeline.
    #[default]
    Pipeline,
    /// A line of `run.jsonl`.
    Run,
}
