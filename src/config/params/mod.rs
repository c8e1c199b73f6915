//! Parameters: declared in `[params]`, given by `--set` or the environment, filled into texts at load, never twice.

mod declare;
mod fill;

pub(super) use declare::{declare, variable};
pub(super) use fill::fill;

/// Where values come from beside the file.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// `--set name=value`, in order; the last of a name holds.
    pub sets: &'a [(String, String)],
    /// Reads an environment variable.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
}

impl Inputs<'_> {
    /// Nothing is given.
    pub const NONE: Inputs<'static> = Inputs { sets: &[], environment: &|_| None };
}
