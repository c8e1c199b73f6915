//! Text to the typed pipeline: parse → parameters → schema → types, every fault kept.

use std::path::Path;

use super::codes::{
    DUPLICATE_KEY, MISSING_KEY, MISSING_OP, OUT_OF_RANGE, RESOURCE_KIND, SEVERAL_OPS, SYNTAX, UNKNOWN_KEY,
    UNKNOWN_PARAMETER, UNSET_PARAMETER, WRONG_FORM, WRONG_TYPE, WRONG_VALUE,
};
use super::params::{Inputs, declare, fill, variable};
use super::pipeline::op_entry;
use super::typed::type_pipeline;
use super::{AsWritten, Fault, Parameter, Schema, Secrets, Severity, Span, Value, parse, validate};

/// What came of a file.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The pipeline, as much of it as could be typed. With faults it is good for looking for more of them, not for running.
    pub pipeline: Option<AsWritten>,
    /// Every fault, sorted by place; secrets are masked.
    pub faults: Vec<Fault>,
    /// What must not be shown.
    pub secrets: Secrets,
    /// Parameters that have no value: no fault to a reviewer, one to a run.
    pub unset: Vec<Fault>,
    /// Texts that keep a parameter without a value; faults at these places say nothing.
    placeholders: Vec<Span>,
    /// Options of ops in which the schema found a fault.
    wounded: Vec<Span>,
    /// The names of stages, resources and grids that could not be typed.
    unread: Vec<String>,
}

/// What the schema tells of options; an op that reads the same options tells it again.
const OF_FORM: &[&str] = &[UNKNOWN_KEY, MISSING_KEY, WRONG_TYPE, WRONG_VALUE, WRONG_FORM, OUT_OF_RANGE];

/// Loads the text of the file at `path`.
pub fn load(path: &Path, text: &str, inputs: &Inputs<'_>, schema: &Schema) -> Loaded {
    let (mut tree, mut faults) = parse(text);
    let broken = Broken::of(text, &faults);
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
    found.retain(|fault| !broken.explains(fault));
    loaded.add(found);
    let wounded = wounded(&tree, schema.ops(), &loaded.faults);
    let mut found = Vec::new();
    let typed = type_pipeline(path, text, &tree, parameters, schema, &loaded.faults, &mut found);
    let (pipeline, unread) = typed.filter(|_| !broken.is_broken()).unzip();
    found.retain(|_| !broken.is_broken());
    loaded.add(found);
    (loaded.pipeline, loaded.unread) = (pipeline, unread.unwrap_or_default());
    loaded.wounded = wounded;
    loaded
}

impl Loaded {
    /// Adds what a later look found, without what is told already and what a missing value causes.
    pub fn add(&mut self, faults: Vec<Fault>) {
        for mut fault in faults {
            let is_known =
                self.is_placeholder(&fault) || self.is_told(&fault) || self.is_of_wounded_form(&fault);
            if !is_known && !self.is_of_unread(&fault) {
                self.secrets.redact_fault(&mut fault);
                self.faults.push(fault);
            }
        }
        self.faults
            .sort_by(|a, b| (a.span.start, a.span.end, a.code).cmp(&(b.span.start, b.span.end, b.code)));
    }

    /// Makes faults of the parameters without a value: a run needs them all.
    pub fn require_values(&mut self) {
        let unset = std::mem::take(&mut self.unset);
        self.placeholders.clear();
        self.add(unset);
    }

    /// How many faults keep the pipeline from running.
    pub fn errors(&self) -> usize {
        self.faults.iter().filter(|fault| fault.severity == Severity::Error).count()
    }

    fn is_placeholder(&self, fault: &Fault) -> bool {
        !matches!(fault.code, UNKNOWN_PARAMETER) && self.placeholders.contains(&fault.span)
    }

    /// Whether a fault says of something that it is not there, or idle, because it could not be typed.
    fn is_of_unread(&self, fault: &Fault) -> bool {
        let names_unread = || {
            let text = self.pipeline.as_ref().and_then(|pipeline| pipeline.text.get(fault.span.clone()));
            text.is_some_and(|text| self.unread.iter().any(|name| name == text.trim_matches(['"', '\''])))
        };
        !self.unread.is_empty() && (fault.severity == Severity::Warning || names_unread())
    }

    fn is_of_wounded_form(&self, fault: &Fault) -> bool {
        OF_FORM.contains(&fault.code) && self.wounded.iter().any(|options| holds(options, fault))
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

/// The parts of a text that could not be read as they were meant.
struct Broken {
    /// The lines with a fault, counted from 0.
    lines: Vec<usize>,
    newlines: Vec<usize>,
    /// Where a syntax fault may have swallowed what follows.
    first: Option<usize>,
}

impl Broken {
    fn of(text: &str, faults: &[Fault]) -> Self {
        let newlines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let broken = faults.iter().filter(|fault| matches!(fault.code, SYNTAX | DUPLICATE_KEY));
        let lines = broken.map(|fault| line_of(&newlines, fault.span.start)).collect();
        let first = faults.iter().find(|fault| fault.code == SYNTAX).map(|fault| fault.span.start);
        Self { lines, newlines, first }
    }

    fn is_broken(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Whether a fault may come from what was not read: it stands on such a line, or something is absent or doubled.
    fn explains(&self, fault: &Fault) -> bool {
        let is_on_line = self.lines.contains(&line_of(&self.newlines, fault.span.start));
        let is_absence = matches!(fault.code, MISSING_KEY | MISSING_OP | SEVERAL_OPS | RESOURCE_KIND);
        let is_swallowed =
            fault.code == WRONG_TYPE && self.first.is_some_and(|first| first < fault.span.start);
        is_on_line || (self.is_broken() && is_absence) || is_swallowed
    }
}

/// The line of a byte, counted from 0.
fn line_of(newlines: &[usize], byte: usize) -> usize {
    newlines.partition_point(|newline| *newline < byte)
}

/// From the op's key to the end of its options, for every op among whose options a fault stands.
fn wounded(tree: &Value, ops: &[String], faults: &[Fault]) -> Vec<Span> {
    let stages = tree.get("stages").and_then(Value::as_table);
    let options = stages.into_iter().flat_map(|stages| &stages.entries).filter_map(|(_, stage)| {
        let (key, options) = op_entry(stage.as_table()?, ops)?;
        let extent = options.extent();
        Some(extent.start.min(key.span.start)..extent.end)
    });
    options.filter(|options| faults.iter().any(|fault| holds(options, fault))).collect()
}

fn holds(options: &Span, fault: &Fault) -> bool {
    options.start <= fault.span.start && fault.span.end <= options.end
}

fn unset(parameters: &[Parameter]) -> Vec<Fault> {
    parameters.iter().filter(|parameter| parameter.value.is_none()).map(unset_fault).collect()
}

fn unset_fault(parameter: &Parameter) -> Fault {
    let name = &parameter.name.value;
    let help = if parameter.is_secret {
        format!("set the environment variable `{}`, or give `--set {name}=…`", variable(name))
    } else {
        format!("give `--set {name}=…`, or a `default`")
    };
    let message = format!("parameter `{name}` has no value");
    Fault::error(UNSET_PARAMETER, parameter.name.span.clone(), message).help(help)
}
