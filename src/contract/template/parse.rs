//! Reads the text of a template.

use chrono::format::{Item as StrftimeItem, StrftimeItems};

use super::{NAMES, Part};
use crate::config::{Fault, Span, Spanned, suggestion};
use crate::contract::codes::{TEMPLATE_BRACE, TEMPLATE_DATETIME, UNKNOWN_PLACEHOLDER};

/// How `{datetime}` is written without a format: a valid, sortable part of a file name, in UTC.
const DEFAULT_DATETIME: &str = "%Y%m%dT%H%M%SZ";

pub(super) struct Parser<'a> {
    text: &'a Spanned<String>,
    own: &'a [&'a str],
    parts: Vec<Part>,
    faults: Vec<Fault>,
}

impl<'a> Parser<'a> {
    /// The parts of a text.
    pub(super) fn parts(text: &'a Spanned<String>, own: &'a [&'a str]) -> Result<Vec<Part>, Vec<Fault>> {
        let mut parser = Self { text, own, parts: Vec::new(), faults: Vec::new() };
        parser.run();
        if parser.faults.is_empty() { Ok(parser.parts) } else { Err(parser.faults) }
    }

    fn run(&mut self) {
        let text: &'a str = &self.text.value;
        let mut at = 0;
        while let Some(found) = text[at..].find(['{', '}']) {
            let brace = at + found;
            self.literal(&text[at..brace]);
            at = self.brace(text, brace);
        }
        self.literal(&text[at..]);
    }

    /// Reads what begins with the brace at `at`; returns where reading goes on.
    fn brace(&mut self, text: &str, at: usize) -> usize {
        let brace = &text[at..=at];
        if text[at + 1..].starts_with(brace) {
            self.literal(brace);
            return at + 2;
        }
        let Some(length) = text[at + 1..].find('}').filter(|_| brace == "{") else {
            let message = format!("`{brace}` has no partner");
            let fault = Fault::error(TEMPLATE_BRACE, self.span(at..at + 1), message);
            self.faults.push(fault.help(format!("write `{brace}{brace}` for a literal brace")));
            return at + 1;
        };
        let end = at + 1 + length;
        self.placeholder(&text[at + 1..end], at..end + 1);
        end + 1
    }

    fn placeholder(&mut self, inner: &str, range: Span) {
        if let Some(name) = inner.strip_prefix("properties.") {
            self.parts.push(Part::Property(name.to_owned()));
        } else if let Some(format) = inner.strip_prefix("datetime:") {
            self.datetime(format, range);
        } else if inner == "datetime" {
            self.parts.push(Part::Datetime(DEFAULT_DATETIME.to_owned()));
        } else if NAMES.contains(&inner) || self.own.contains(&inner) {
            self.parts.push(Part::Name(inner.to_owned()));
        } else {
            let fault = self.unknown(inner, range);
            self.faults.push(fault);
        }
    }

    fn datetime(&mut self, format: &str, range: Span) {
        if StrftimeItems::new(format).any(|item| item == StrftimeItem::Error) {
            let message = format!("`{format}` is not a time format");
            let fault = Fault::error(TEMPLATE_DATETIME, self.span(range), message);
            self.faults.push(fault.help("write for example `{datetime:%Y/%m/%d}`"));
        } else {
            self.parts.push(Part::Datetime(format.to_owned()));
        }
    }

    fn unknown(&self, name: &str, range: Span) -> Fault {
        let known = NAMES.iter().chain(self.own).copied();
        let help = suggestion(name, known) + &format!("; a property is written `{{properties.{name}}}`");
        let message = format!("unknown placeholder `{{{name}}}`");
        Fault::error(UNKNOWN_PLACEHOLDER, self.span(range), message).help(help)
    }

    fn literal(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Literal(before)) => before.push_str(text),
            _ => self.parts.push(Part::Literal(text.to_owned())),
        }
    }

    /// The place in the pipeline: exact where the text stands there as it is between two quotes, else all of it.
    fn span(&self, range: Span) -> Span {
        let whole = &self.text.span;
        if whole.len() == self.text.value.len() + 2 {
            whole.start + 1 + range.start..whole.start + 1 + range.end
        } else {
            whole.clone()
        }
    }
}
