//! As a good compiler writes it: the line with the fault marked, what was expected, the edit that helps.

use std::path::Path;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::config::{Fault, Severity, Span};

pub(super) fn render(path: &Path, text: &str, fault: &Fault, is_coloured: bool) -> String {
    let path = path.display().to_string();
    let renderer = if is_coloured { Renderer::styled() } else { Renderer::plain() };
    format!("{}\n\n", renderer.render(&[report(&path, text, fault)]))
}

fn report<'a>(path: &'a str, text: &'a str, fault: &'a Fault) -> Group<'a> {
    let level = match fault.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(fault.message.as_str()).id(fault.code);
    let group = if text.is_empty() {
        title.element(Origin::path(path))
    } else {
        title.element(snippet(path, text, fault))
    };
    if fault.help.is_empty() { group } else { group.element(Level::HELP.message(fault.help.as_str())) }
}

fn snippet<'a>(path: &'a str, text: &'a str, fault: &'a Fault) -> Snippet<'a, Annotation<'a>> {
    let mark = |kind: AnnotationKind, span: &Span, words: &'a str| {
        let annotation = kind.span(first_line(text, span));
        if words.is_empty() { annotation } else { annotation.label(words) }
    };
    let related =
        fault.related.iter().map(|(span, words)| mark(AnnotationKind::Context, span, words.as_str()));
    Snippet::source(text)
        .path(path)
        .annotation(mark(AnnotationKind::Primary, &fault.span, &fault.label))
        .annotations(related)
}

/// The part of a span on its first line: a long table is marked where it begins.
fn first_line(text: &str, span: &Span) -> Span {
    let line = text.get(span.clone()).and_then(|marked| marked.find(['\n', '\r']));
    span.start..line.map_or(span.end, |length| span.start + length)
}
