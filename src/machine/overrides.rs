//! `--machine cores=64,memory=256GiB,descriptors=4096`: plans for another machine.

use std::str::FromStr;

use super::{Granted, Machine};
use crate::units::ByteSize;

/// Figures that replace what was detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Cores.
    pub cores: Option<u64>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Descriptors.
    pub descriptors: Option<u64>,
    /// Processes that share the whole job.
    pub shards: Option<u64>,
}

/// Why a text names no machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// An entry without `=`, or with an unknown name.
    #[error("expected `cores=`, `memory=`, `descriptors=` or `shards=`, found `{0}`")]
    UnknownFigure(String),
    /// A count that is no whole number of at least 1.
    #[error("`{name}` expects a whole number of at least 1, found `{found}`")]
    NotACount {
        /// The figure.
        name: String,
        /// Its text.
        found: String,
    },
    /// A size without or with an unknown unit.
    #[error("`memory` expects a size such as `256GiB`, found `{0}`")]
    NotASize(String),
    /// A figure that is named twice.
    #[error("`{0}` is named twice")]
    Twice(String),
}

impl FromStr for Overrides {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut overrides = Self::default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            overrides.take(entry)?;
        }
        Ok(overrides)
    }
}

impl Overrides {
    /// The machine with these figures in place of its own.
    #[must_use]
    pub fn over(&self, machine: &Machine) -> Machine {
        let pick = |figure: Option<u64>, detected: &Granted| {
            figure.map_or_else(|| detected.clone(), |value| Granted::new(value, "--machine"))
        };
        Machine {
            cores: pick(self.cores, &machine.cores),
            memory: pick(self.memory, &machine.memory),
            descriptors: pick(self.descriptors, &machine.descriptors),
            shards: pick(self.shards, &machine.shards),
        }
    }

    fn take(&mut self, entry: &str) -> Result<(), OverrideError> {
        let unknown = || OverrideError::UnknownFigure(entry.to_owned());
        let (name, figure) = entry.split_once('=').ok_or_else(unknown)?;
        let (name, figure) = (name.trim(), figure.trim());
        let (slot, value) = match name {
            "cores" => (&mut self.cores, count(name, figure)?),
            "memory" => (&mut self.memory, size(figure)?),
            "descriptors" => (&mut self.descriptors, count(name, figure)?),
            "shards" => (&mut self.shards, count(name, figure)?),
            _ => return Err(unknown()),
        };
        match slot.replace(value) {
            Some(_) => Err(OverrideError::Twice(name.to_owned())),
            None => Ok(()),
        }
    }
}

fn count(name: &str, text: &str) -> Result<u64, OverrideError> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| OverrideError::NotACount { name: name.to_owned(), found: text.to_owned() })
}

fn size(text: &str) -> Result<u64, OverrideError> {
    let size = text.parse::<ByteSize>().ok().filter(|size| size.0 > 0);
    size.map(|size| size.0).ok_or_else(|| OverrideError::NotASize(text.to_owned()))
}
