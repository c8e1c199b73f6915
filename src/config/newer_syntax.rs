//! What only TOML 1.1 allows. The parser takes it, editors refuse it, so it is a fault here.

use toml_parser::decoder::Encoding;
use toml_parser::parser::{Event, EventKind, RecursionGuard, parse_document};
use toml_parser::{Source, Span as TokenSpan};

use super::codes::NEWER_SYNTAX;
use super::tree::whole;
use super::{Fault, Span};

/// Tables and lists nested deeper than this are not looked into; the parser refuses them.
const DEEPEST: u32 = 80;

/// Every place that only TOML 1.1 allows: line ends, comments and a last comma in inline tables, the escapes
/// `\e` and `\x`, times without seconds.
pub(super) fn newer_syntax(text: &str) -> Vec<Fault> {
    let mut scan = Scan { text, open: Vec::new(), faults: Vec::new() };
    let tokens = Source::new(text).lex().into_vec();
    let mut take = |event: Event| scan.take(&event);
    parse_document(&tokens, &mut RecursionGuard::new(&mut take, DEEPEST), &mut ());
    scan.faults
}

/// A table or array that is still open.
struct Open {
    is_table: bool,
    /// The comma that nothing has followed yet.
    last_comma: Option<TokenSpan>,
    /// Whether a line end in it was told already.
    is_told: bool,
}

struct Scan<'a> {
    text: &'a str,
    open: Vec<Open>,
    faults: Vec<Fault>,
}

impl Scan<'_> {
    fn take(&mut self, event: &Event) {
        match event.kind() {
            EventKind::InlineTableOpen => self.enter(true),
            EventKind::ArrayOpen => self.enter(false),
            EventKind::InlineTableClose => self.leave_table(),
            EventKind::ArrayClose => drop(self.open.pop()),
            EventKind::Newline | EventKind::Comment => self.line_end(event.span()),
            EventKind::ValueSep => self.set_comma(Some(event.span())),
            EventKind::SimpleKey => {
                self.set_comma(None);
                self.escapes(event);
            }
            EventKind::Scalar => {
                self.escapes(event);
                self.time(event);
            }
            EventKind::StdTableOpen | EventKind::ArrayTableOpen => self.open.clear(),
            _ => {}
        }
    }

    fn enter(&mut self, is_table: bool) {
        self.open.push(Open { is_table, last_comma: None, is_told: false });
    }

    fn set_comma(&mut self, comma: Option<TokenSpan>) {
        if let Some(open) = self.open.last_mut() {
            open.last_comma = comma;
        }
    }

    fn leave_table(&mut self) {
        if let Some(comma) = self.open.pop().and_then(|open| open.last_comma) {
            self.tell(range(comma), "an inline table cannot end in a comma", "remove the comma");
        }
    }

    fn line_end(&mut self, span: TokenSpan) {
        let Some(open) = self.open.last_mut().filter(|open| open.is_table && !open.is_told) else { return };
        open.is_told = true;
        self.tell(
            range(span),
            "an inline table stands on one line",
            "write it on one line, or as a table of its own: `[stages.name]`",
        );
    }

    /// `\e` and `\x` in basic strings.
    fn escapes(&mut self, event: &Event) {
        if !matches!(event.encoding(), Some(Encoding::BasicString | Encoding::MlBasicString)) {
            return;
        }
        let start = event.span().start();
        let mut characters = self.text.get(range(event.span())).unwrap_or_default().char_indices();
        let mut found = Vec::new();
        while let Some((at, character)) = characters.next() {
            if character == '\\'
                && let Some((_, escaped @ ('e' | 'x'))) = characters.next()
            {
                found.push((start + at, escaped));
            }
        }
        for (at, escaped) in found {
            let message = format!("the escape `\\{escaped}` does not exist in TOML 1.0");
            self.tell(at..at + 2, &message, "write the character as `\\u00XX`");
        }
    }

    /// `07:32` and `2024-06-01T07:32`.
    fn time(&mut self, event: &Event) {
        let text = self.text.get(range(event.span())).unwrap_or_default();
        let is_plain = event.encoding().is_none();
        if is_plain && lacks_seconds(text) {
            self.tell(range(event.span()), &format!("the time `{text}` has no seconds"), "add `:00`");
        }
    }

    fn tell(&mut self, span: Span, message: &str, help: &str) {
        let fault = Fault::error(NEWER_SYNTAX, whole(self.text, span), message)
            .labelled("only TOML 1.1 allows this, and editors refuse it")
            .help(help);
        self.faults.push(fault);
    }
}

/// Whether a bare scalar is a time of hours and minutes alone.
fn lacks_seconds(text: &str) -> bool {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let Some(colon) = text.find(':').filter(|colon| *colon >= 2) else { return false };
    let is_minutes = [colon - 2, colon - 1, colon + 1, colon + 2].into_iter().all(is_digit);
    let after = text.as_bytes().get(colon + 3);
    is_minutes && !matches!(after, Some(b':'))
}

fn range(span: TokenSpan) -> Span {
    span.start()..span.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_the_newer_version_allows_is_told() {
        let cases = [
            "a = {\n x = 1 }",
            "a = { x = 1, }",
            "a = { x = 1 # why\n }",
            r#"a = "\e[0m""#,
            r#"a = "\x41""#,
            "a = 07:32",
            "a = 2024-06-01T07:32",
            "a = 2024-06-01T07:32Z",
        ];
        for text in cases {
            let faults = newer_syntax(text);
            assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        }
    }

    #[test]
    fn what_both_versions_allow_is_not() {
        let cases = [
            "a = { x = [\n1,\n2, # why\n] }",
            "a = [{ x = 1 },\n{ x = 2 },\n]",
            r#"a = "\\e \\x \n""#,
            r"a = '\e \x'",
            "a = 07:32:00",
            "a = 2024-06-01T07:32:00+01:00",
            "a = 2024-06-01",
            "a = {}",
        ];
        for text in cases {
            assert_eq!(newer_syntax(text), [], "{text}");
        }
    }
}
