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
    /// Compare two pipelines.
    Diff(DiffRequest),
    /// Draw a pipeline.
    Graph(GraphRequest),
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
        /// Where its scenes come from.
        inputs: Inputs,
        /// What it makes of them.
        makes: Makes,
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

/// Where the scenes of a starter pipeline come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Inputs {
    /// Files of a folder
    #[default]
    Folder,
    /// A text file with one address or path a line
    List,
    /// The search of a STAC catalogue
    Stac,
}

/// What a starter pipeline makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Makes {
    /// An image of each scene
    #[default]
    Images,
    /// A table with a row for each scene
    Statistics,
    /// What a program of your own makes of each scene
    Program,
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
    /// `--offline`: ask no server for items.
    pub is_offline: bool,
    /// `--format`
    pub format: PlanFormat,
}

/// How a plan is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum PlanFormat {
    /// Sections of columns, for people
    #[default]
    Human,
    /// One JSON object with every item, for programs
    Json,
}

/// `gisrun diff`
#[derive(Clone, Debug)]
pub struct DiffRequest {
    /// A file, or a git revision of the new one.
    pub old: String,
    /// The pipeline's file.
    pub new: PathBuf,
    /// `--set name=value`, in order; for both.
    pub sets: Vec<(String, String)>,
    /// `--machine`: sizes for another machine.
    pub machine: Option<Overrides>,
    /// `--format`
    pub format: DiffFormat,
}

/// How a difference is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DiffFormat {
    /// Sections of sentences, for people
    #[default]
    Human,
    /// A comment on a pull request
    Markdown,
    /// One JSON object, for programs
    Json,
}

/// `gisrun graph`
#[derive(Clone, Debug)]
pub struct GraphRequest {
    /// The pipeline's file.
    pub pipeline: PathBuf,
    /// `--set name=value`, in order.
    pub sets: Vec<(String, String)>,
    /// `--format`
    pub format: GraphFormat,
}

/// How a pipeline is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum GraphFormat {
    /// A tree, for a terminal
    #[default]
    Text,
    /// A flowchart that GitHub and GitLab draw in Markdown
    Mermaid,
    /// For Graphviz
    Dot,
    /// A picture
    Svg,
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
