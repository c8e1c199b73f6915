//! Workflow commands of GitHub Actions:
//! <https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions>.

use std::path::Path;

use super::position::Position;
use crate::config::{Fault, Severity};

pub(super) fn render(path: &Path, text: &str, fault: &Fault) -> String {
    let (start, end) = (Position::of(text, fault.span.start), Position::of(text, fault.span.end));
    let command = match fault.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let file = property(&path.display().to_string());
    let place =
        format!("line={},endLine={},col={},endColumn={}", start.line, end.line, start.column, end.column);
    format!("::{command} file={file},{place},title={}::{}\n", fault.code, message(&sentence(fault)))
}

/// All that is said of a fault.
fn sentence(fault: &Fault) -> String {
    let parts = [fault.message.as_str(), fault.label.as_str(), fault.help.as_str()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        let fault = Fault::error("wrong-type", 2..3, "50% of\nthis").help("a, b: c");
        let line = render(Path::new("a,b:c.toml"), "x\ny\n", &fault);
        let expected = "::error file=a%2Cb%3Ac.toml,line=2,endLine=2,col=1,endColumn=2,title=wrong-type\
                        ::50%25 of%0Athis; a, b: c\n";
        assert_eq!(line, expected);
    }
}
