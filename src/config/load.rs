//! Text to the typed pipeline: parse → parameters → schema → types, every fault kept.

use std::path::Path;

use super::codes::{MISSING_KEY, MISSING_OP, RESOURCE_KIND, UNKNOWN_PARAMETER, UNSET_PARAMETER};
use super::params::{Inputs, declare, fill, variable};
use super::typed::type_pipeline;
use super::{AsWritten, Fault, Parameter, Schema, Secrets, Severity, Span, parse, validate};

/// What came of a file.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The pipeline, if all of it could be typed. With faults it is good for looking for more of them, not for running.
    pub pipeline: Option<AsWritten>,
    /// Every fault, sorted by place; secrets are masked.
    pub faults: Vec<Fault>,
    /// What must not be shown.
    pub secrets: Secrets,
    /// Parameters that have no value: no fault to a reviewer, one to a run.
    pub unset: Vec<Fault>,
    /// Texts that keep a parameter without a value; faults at these places say nothing.
    placeholders: Vec<Span>,
}

/// Loads the text of the file at `path`.
pub fn load(path: &Path, text: &str, inputs: &Inputs<'_>, schema: &Schema) -> Loaded {
    let (mut tree, mut faults) = parse(text);
    let is_broken = !faults.is_empty();
    let parameters = declare(&tree, inputs, &mut faults);
    let placeholders = fill(&mut tree, text, &parameters, &mut faults);
    let mut loaded = Loaded {
        secrets: Secrets::of(&parameters),
        unset: unset(&parameters),
        placeholders,
        ..Loaded::default()
    };
    loaded.add(faults);
    let mut found = validate(text, &tree, schema);
    found.retain(|fault| !is_broken || !is_absence(fault));
    loaded.add(found);
    let mut found = Vec::new();
    loaded.pipeline = type_pipeline(path, text, &tree, parameters, schema, &mut found).filter(|_| !is_broken);
    found.retain(|_| !is_broken);
    loaded.add(found);
    loaded
}

impl Loaded {
    /// Adds what a later look found, without what is told already and what a missing value causes.
    pub fn add(&mut self, faults: Vec<Fault>) {
        for mut fault in faults {
            if !self.is_placeholder(&fault) && !self.is_told(&fault) {
                self.secrets.redact_fault(&mut fault);
                self.faults.push(fault);
            }
        }
        self.faults
            .sort_by(|a, b| (a.span.start, a.span.end, a.code).cmp(&(b.span.start, b.span.end, b.code)));
    }

    /// How many faults keep the pipeline from running.
    pub fn errors(&self) -> usize {
        self.faults.iter().filter(|fault| fault.severity == Severity::Error).count()
    }

    fn is_placeholder(&self, fault: &Fault) -> bool {
        !matches!(fault.code, UNKNOWN_PARAMETER) && self.placeholders.contains(&fault.span)
    }

    /// Whether the same fault, or another error at the very same place, is told already.
    fn is_told(&self, fault: &Fault) -> bool {
        let is_error_here = |told: &Fault| {
            told.severity == Severity::Error && told.span == fault.span && !fault.span.is_empty()
        };
        self.faults
            .iter()
            .any(|told| is_error_here(told) || (told.span == fault.span && told.message == fault.message))
    }
}

/// What a line that could not be read may have held.
fn is_absence(fault: &Fault) -> bool {
    matches!(fault.code, MISSING_KEY | MISSING_OP | RESOURCE_KIND)
}

fn unset(parameters: &[Parameter]) -> Vec<Fault> {
    parameters.iter().filter(|parameter| parameter.value.is_none()).map(unset_fault).collect()
}

fn unset_fault(parameter: &Parameter) -> Fault {
    let name = &parameter.name.value;
    let help = match parameter.is_secret {
        true => format!("set the environment variable `{}`, or give `--set {name}=…`", variable(name)),
        false => format!("give `--set {name}=…`, or a `default`"),
    };
    let message = format!("parameter `{name}` has no value");
    Fault::error(UNSET_PARAMETER, parameter.name.span.clone(), message).help(help)
}
