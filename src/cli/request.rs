//! What is asked for, checked: the arguments as they are used.

use std::path::PathBuf;
use std::str::FromStr;

use clap_complete::Shell;

use crate::cli::render::Format;
use crate::config::suggestion;
use crate::units::ByteSize;

/// One command with all that it needs.
#[derive(Clone, Debug)]
pub enum Request {
    /// Run a pipeline.
    Run(RunRequest),
    /// Show what a run would do.
    Plan(PlanRequest),
    /// Look for errors.
    Check(CheckRequest),
    /// Print the JSON schema.
    Schema,
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
}

/// `gisrun PIPELINE`
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The pipeline's file.
    pub pipeline: PathBuf,
    /// `--set name=value`, in order.
    pub sets: Vec<(String, String)>,
    /// `--machine`: sizes for another machine.
    pub machine: Option<MachineOverride>,
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
    pub machine: Option<MachineOverride>,
}

/// `gisrun check`
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// Files, or patterns of files.
    pub files: Vec<String>,
    /// `--set name=value`, in order.
    pub sets: Vec<(String, String)>,
    /// `--machine`: sizes for another machine.
    pub machine: Option<MachineOverride>,
    /// `--format`
    pub format: Format,
    /// `--deny-warnings`: a warning counts as an error.
    pub deny_warnings: bool,
}

/// `--machine cores=64,memory=256GiB`: what takes the place of what this machine grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineOverride {
    /// Cores, at least 1.
    pub cores: Option<u64>,
    /// Memory.
    pub memory: Option<ByteSize>,
    /// Open files.
    pub descriptors: Option<u64>,
}

impl FromStr for MachineOverride {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').try_fold(Self::default(), |machine, part| machine.with(part.trim()))
    }
}

impl MachineOverride {
    fn with(mut self, part: &str) -> Result<Self, String> {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("expected `name=value` like `cores=64,memory=256GiB`, found `{part}`"))?;
        match name {
            "cores" => self.cores = Some(positive(value)?),
            "descriptors" => self.descriptors = Some(positive(value)?),
            "memory" => self.memory = Some(value.parse().map_err(|error| format!("`memory`: {error}"))?),
            _ => {
                let meant = suggestion(name, ["cores", "memory", "descriptors"]);
                return Err(format!("a machine has no `{name}`; {meant}"));
            }
        }
        Ok(self)
    }
}

fn positive(text: &str) -> Result<u64, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| format!("expected a whole number of at least 1, found `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_is_named_in_parts() {
        let machine =
            MachineOverride { cores: Some(64), memory: Some(ByteSize(256 << 30)), descriptors: None };
        assert_eq!("cores=64,memory=256GiB".parse(), Ok(machine));
        assert_eq!("memory=256 GiB, cores=64".parse(), Ok(machine));
    }

    #[test]
    fn a_wrong_part_says_what_was_expected() {
        let cases = [
            ("cores", "expected `name=value` like `cores=64,memory=256GiB`, found `cores`"),
            ("cores=0", "expected a whole number of at least 1, found `0`"),
            ("core=4", "a machine has no `core`; did you mean `cores`?"),
            ("memory=lots", "`memory`: expected a size like `\"512 MiB\"`, found `lots`"),
        ];
        for (text, message) in cases {
            assert_eq!(text.parse::<MachineOverride>(), Err(message.to_owned()));
        }
    }
}
