//! The arguments as they are typed.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::cli::render::Format;
use crate::cli::run::metrics;
use crate::cli::{
    CheckRequest, DiffFormat, DiffRequest, Exit, GraphFormat, GraphRequest, Inputs, Makes, PlanFormat,
    PlanRequest, ReportFormat, ReportRequest, Request, RunRequest, SchemaOf, SweepRequest, Verbosity, output,
};
use crate::config::nearest;
use crate::machine::Overrides;

/// Runs a raster job that one TOML file declares, bounded by what the machine grants.
#[derive(Debug, Parser)]
#[command(name = "gisrun", version, arg_required_else_help = true, args_conflicts_with_subcommands = true)]
#[command(after_help = "A pipeline whose name is that of a command is run as `./check`.")]
pub(super) struct Typed {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArguments,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
struct RunArguments {
    /// The pipeline to run
    #[arg(value_name = "PIPELINE")]
    pipeline: Option<PathBuf>,
    #[command(flatten)]
    sets: Sets,
    #[command(flatten)]
    machine: MachineArgument,
    /// Forget what earlier runs did, and run everything
    #[arg(long, conflicts_with = "retry_failed")]
    fresh: bool,
    /// Run only the items that failed before
    #[arg(long)]
    retry_failed: bool,
    /// Run only this item; may be given several times
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Ask servers whether inputs have changed since they were read
    #[arg(long)]
    revalidate: bool,
    /// Tell nothing where all went well, else the failures and the summary
    #[arg(long, short, conflicts_with = "verbose")]
    quiet: bool,
    /// Tell of every item
    #[arg(long, short)]
    verbose: bool,
    /// Write the events to this file, one JSON line each
    #[arg(long, value_name = "PATH")]
    events: Option<PathBuf>,
    /// Answer Prometheus at this address while the run goes on; a port alone is on this machine alone
    #[arg(long, value_name = "ADDRESS", value_parser = metrics::address)]
    metrics: Option<SocketAddr>,
    /// Give a resource another size for this run; may be given several times
    #[arg(long = "limit", value_name = "NAME=SIZE", value_parser = assignment)]
    limits: Vec<(String, String)>,
}

#[derive(Debug, Args)]
struct Sets {
    /// Give a parameter a value; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    sets: Vec<(String, String)>,
}

#[derive(Debug, Args)]
struct MachineArgument {
    /// Size for another machine: `cores=64,memory=256GiB`
    #[arg(long, value_name = "SIZES")]
    machine: Option<Overrides>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find every error of pipelines at once
    Check {
        /// Files, or patterns of files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<String>,
        #[command(flatten)]
        sets: Sets,
        #[command(flatten)]
        machine: MachineArgument,
        /// How faults are written
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        /// Fail on warnings too
        #[arg(long)]
        deny_warnings: bool,
    },
    /// Show what a run would do and may use; writes nothing
    Plan {
        /// The pipeline
        #[arg(value_name = "FILE")]
        pipeline: PathBuf,
        #[command(flatten)]
        sets: Sets,
        #[command(flatten)]
        machine: MachineArgument,
        /// Ask no server: items of remote sources are left out, and no secret is needed
        #[arg(long)]
        offline: bool,
        /// How the plan is written
        #[arg(long, value_enum, default_value_t)]
        format: PlanFormat,
    },
    /// Tell what a change to a pipeline changes: sizes, stages, options, which outputs become stale
    Diff {
        /// The old pipeline, or a git revision of the new one: `main`, `HEAD~1`
        old: String,
        /// The new pipeline
        new: PathBuf,
        #[command(flatten)]
        sets: Sets,
        #[command(flatten)]
        machine: MachineArgument,
        /// How the difference is written
        #[arg(long, value_enum, default_value_t)]
        format: DiffFormat,
    },
    /// Draw the stages of a pipeline
    Graph {
        /// The pipeline
        #[arg(value_name = "FILE")]
        pipeline: PathBuf,
        #[command(flatten)]
        sets: Sets,
        /// How the stages are drawn
        #[arg(long, value_enum, default_value_t)]
        format: GraphFormat,
    },
    /// Say what runs came to, and why they were not faster
    Report {
        /// Records (`run.jsonl`), or pipelines whose last run is meant; several are taken together
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<PathBuf>,
        #[command(flatten)]
        sets: Sets,
        /// How the report is printed
        #[arg(long, value_enum, default_value_t)]
        format: ReportFormat,
        /// Also write it as a page with charts, one file that needs nothing else
        #[arg(long, value_name = "PATH")]
        html: Option<PathBuf>,
        /// Also write a trace that Perfetto opens
        #[arg(long, value_name = "PATH")]
        trace: Option<PathBuf>,
    },
    /// Run a pipeline at several sizes of one resource, and say where more brings nothing
    Sweep {
        /// The pipeline; what it writes goes to folders of the trials, and what is there stays as it is
        #[arg(value_name = "FILE")]
        pipeline: PathBuf,
        #[command(flatten)]
        sets: Sets,
        /// The resource
        #[arg(long, value_name = "NAME")]
        resource: String,
        /// The sizes: `1,2,4`, or `2..32` to double until it brings nothing more or a service throttles
        #[arg(long, value_name = "SIZES")]
        values: String,
        /// Runs at each size; the one in the middle counts
        #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        repeats: u64,
        /// Runs before the first that counts
        #[arg(long, value_name = "COUNT", default_value_t = 1)]
        warm_up: u64,
        /// How the table is printed
        #[arg(long, value_enum, default_value_t)]
        format: ReportFormat,
        /// Also draw it, as SVG
        #[arg(long, value_name = "PATH")]
        chart: Option<PathBuf>,
    },
    /// Print a JSON schema: of pipelines, or of the lines of `run.jsonl`
    Schema {
        /// Of what
        #[arg(value_enum, default_value_t)]
        of: SchemaOf,
    },
    /// List the ops, or print the manual of one
    Ops {
        /// The op
        name: Option<String>,
    },
    /// Write a starter pipeline, and the schema that editors complete it from
    Init {
        /// The file to write; an existing one is left alone
        #[arg(default_value = "pipeline.toml", value_name = "FILE")]
        path: PathBuf,
        /// Where the scenes come from
        #[arg(long, value_enum, default_value_t)]
        inputs: Inputs,
        /// What is made of them
        #[arg(long, value_enum, default_value_t)]
        makes: Makes,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the man page
    #[command(hide = true)]
    Man,
    /// Work for a run, which starts this itself
    #[command(hide = true)]
    Worker,
}

/// Reads arguments; help, version and mistakes are printed here.
pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Request, Exit> {
    let arguments: Vec<_> = arguments.into_iter().collect();
    if let Some(mistake) = arguments.get(1).and_then(|first| not_a_command(Path::new(first))) {
        output::complain(&format!("error: {mistake}"));
        return Err(Exit::BadInput);
    }
    Typed::try_parse_from(arguments).map_err(|error| told(&error))?.into_request()
}

/// The declaration of all arguments, for completions and the man page.
pub(super) fn declaration() -> clap::Command {
    Typed::command()
}

fn told(error: &clap::Error) -> Exit {
    let is_wish = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    match error.print() {
        Ok(()) if is_wish => Exit::Done,
        _ => Exit::BadInput,
    }
}

impl Typed {
    fn into_request(self) -> Result<Request, Exit> {
        match self.command {
            Some(command) => Ok(command.into_request()),
            None => self.run.into_request(),
        }
    }
}

impl Command {
    fn into_request(self) -> Request {
        match self {
            Self::Check { files, sets, machine, format, deny_warnings } => Request::Check(CheckRequest {
                files,
                sets: sets.sets,
                machine: machine.machine,
                format,
                deny_warnings,
            }),
            Self::Plan { pipeline, sets, machine, offline, format } => Request::Plan(PlanRequest {
                pipeline,
                sets: sets.sets,
                machine: machine.machine,
                is_offline: offline,
                format,
            }),
            Self::Diff { old, new, sets, machine, format } => {
                Request::Diff(DiffRequest { old, new, sets: sets.sets, machine: machine.machine, format })
            }
            Self::Graph { pipeline, sets, format } => {
                Request::Graph(GraphRequest { pipeline, sets: sets.sets, format })
            }
            Self::Report { runs, sets, format, html, trace } => {
                Request::Report(ReportRequest { runs, sets: sets.sets, format, html, trace })
            }
            Self::Sweep { pipeline, sets, resource, values, repeats, warm_up, format, chart } => {
                let sets = sets.sets;
                Request::Sweep(SweepRequest {
                    pipeline,
                    sets,
                    resource,
                    values,
                    repeats,
                    warm_up,
                    format,
                    chart,
                })
            }
            Self::Schema { of } => Request::Schema { of },
            Self::Ops { name } => Request::Ops { name },
            Self::Init { path, inputs, makes } => Request::Init { path, inputs, makes },
            Self::Completions { shell } => Request::Completions { shell },
            Self::Man => Request::Man,
            Self::Worker => Request::Worker,
        }
    }
}

impl RunArguments {
    fn into_request(self) -> Result<Request, Exit> {
        let Some(pipeline) = self.pipeline else {
            output::complain("error: which pipeline? `gisrun PIPELINE`, or `gisrun --help`");
            return Err(Exit::BadInput);
        };
        let verbosity = match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Ok(Request::Run(RunRequest {
            pipeline,
            sets: self.sets.sets,
            machine: self.machine.machine,
            fresh: self.fresh,
            retry_failed: self.retry_failed,
            only: self.only,
            revalidate: self.revalidate,
            verbosity,
            events: self.events,
            metrics: self.metrics,
            limits: self.limits,
        }))
    }
}

/// What is wrong with a first word that is neither a command nor a file, nor looks like one.
fn not_a_command(first: &Path) -> Option<String> {
    let word = first.to_str().filter(|word| word.chars().all(char::is_alphabetic) && !first.exists())?;
    let declaration = declaration();
    let mut names = declaration.get_subcommands().map(clap::Command::get_name);
    if word == "help" || names.any(|name| name == word) {
        return None;
    }
    let help = match (word, nearest(word, declaration.get_subcommands().map(clap::Command::get_name))) {
        ("run", _) => "a pipeline is run by its file alone: `gisrun PIPELINE`".to_owned(),
        (_, Some(command)) => format!("did you mean `{command}`?"),
        (_, None) => "`gisrun --help` lists the commands".to_owned(),
    };
    Some(format!("`{word}` is neither a file nor a command; {help}"))
}

/// `name=value`
fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("expected `name=value`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(words: &[&str]) -> Result<Request, Exit> {
        parse(std::iter::once("gisrun").chain(words.iter().copied()).map(OsString::from))
    }

    #[test]
    fn the_declaration_is_sound() {
        declaration().debug_assert();
    }

    #[test]
    fn a_pipeline_alone_is_run() {
        let request = request(&["job.toml", "--set", "a=b=c", "--only", "x", "--only", "y", "-q"]);
        let Ok(Request::Run(run)) = request else { panic!("{request:?}") };
        assert_eq!(run.pipeline, PathBuf::from("job.toml"));
        assert_eq!(run.sets, [("a".to_owned(), "b=c".to_owned())]);
        assert_eq!(run.only, ["x", "y"]);
        assert_eq!(run.verbosity, Verbosity::Quiet);
    }

    #[test]
    fn a_pipeline_named_like_a_command_is_run_by_its_path() {
        assert!(
            matches!(request(&["./check"]), Ok(Request::Run(run)) if run.pipeline == Path::new("./check"))
        );
        assert_eq!(request(&["check"]).err(), Some(Exit::BadInput));
    }

    #[test]
    fn contradictions_and_misspelt_commands_are_bad_usage() {
        for words in
            [&["job.toml", "--fresh", "--retry-failed"][..], &["chek"], &["job.toml", "--set", "x"], &[]]
        {
            assert_eq!(request(words).err(), Some(Exit::BadInput), "{words:?}");
        }
    }

    #[test]
    fn a_word_that_is_no_command_is_answered_with_the_nearest_one() {
        let answer = |word: &str| not_a_command(Path::new(word));
        let said = answer("plna").expect("no command");
        assert_eq!(said, "`plna` is neither a file nor a command; did you mean `plan`?");
        assert!(answer("run").is_some_and(|said| said.ends_with("by its file alone: `gisrun PIPELINE`")));
        for known in ["plan", "help", "job.toml", "./run", "--version"] {
            assert_eq!(answer(known), None, "{known}");
        }
    }
}
