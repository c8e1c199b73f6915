//! One JSON object a line.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::position::Position;
use crate::config::{Fault, Severity, Span};

pub(super) fn render(path: &Path, text: &str, fault: &Fault) -> String {
    let mut object = json!({
        "code": fault.code,
        "severity": severity(fault.severity),
        "message": fault.message,
        "file": path.display().to_string(),
    });
    place_into(&mut object, text, &fault.span);
    object["label"] = fault.label.as_str().into();
    object["help"] = fault.help.as_str().into();
    object["related"] = fault.related.iter().map(|(span, words)| related(text, span, words)).collect();
    format!("{object}\n")
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn related(text: &str, span: &Span, words: &str) -> Json {
    let mut object = json!({ "message": words });
    place_into(&mut object, text, span);
    object
}

fn place_into(object: &mut Json, text: &str, span: &Span) {
    let (start, end) = (Position::of(text, span.start), Position::of(text, span.end));
    object["line"] = start.line.into();
    object["column"] = start.column.into();
    object["end"] = json!({ "line": end.line, "column": end.column });
}
