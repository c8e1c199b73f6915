//! `${name}` in texts.

use crate::config::codes::{PARAMETER_IN_TEXT, UNCLOSED_PARAMETER, UNKNOWN_PARAMETER};
use crate::config::nearest::suggestion;
use crate::config::secrets::plain_text;
use crate::config::{Fault, Parameter, Span, Value, ValueKind};

/// Fills parameters into every text of the tree but `[params]`. A text that is exactly `"${name}"` takes the
/// parameter's value with its type. Returns the places of texts that keep a parameter without a value.
pub(in crate::config) fn fill(
    tree: &mut Value,
    text: &str,
    parameters: &[Parameter],
    faults: &mut Vec<Fault>,
) -> Vec<Span> {
    let mut filler = Filler { text, parameters, faults, placeholders: Vec::new() };
    if let ValueKind::Table(table) = &mut tree.kind {
        let filled = table.entries.iter_mut().filter(|(key, _)| key.value != "params");
        filled.for_each(|(_, value)| filler.fill(value));
    }
    filler.placeholders
}

struct Filler<'a> {
    text: &'a str,
    parameters: &'a [Parameter],
    faults: &'a mut Vec<Fault>,
    placeholders: Vec<Span>,
}

/// A part of a text.
#[derive(Debug, PartialEq)]
enum Piece<'t> {
    /// Stands for itself.
    Literal(&'t str),
    /// `${name}`
    Parameter(&'t str),
    /// `${` without its end.
    Unclosed,
}

impl Filler<'_> {
    fn fill(&mut self, value: &mut Value) {
        match &mut value.kind {
            ValueKind::String(content) => {
                if let Some(filled) = self.filled(&content.clone(), &value.span) {
                    *value = filled;
                }
            }
            ValueKind::Array(values) => values.iter_mut().for_each(|value| self.fill(value)),
            ValueKind::Table(table) => table.entries.iter_mut().for_each(|(_, value)| self.fill(value)),
            _ => {}
        }
    }

    /// The value that takes the text's place; `None` to leave it.
    fn filled(&mut self, content: &str, span: &Span) -> Option<Value> {
        if !content.contains("${") {
            return None;
        }
        match pieces(content).as_slice() {
            [Piece::Parameter(name)] => self.value_of(name, span).map(|value| value.moved_to(span)),
            pieces => self
                .joined(pieces, span)
                .map(|text| Value { kind: ValueKind::String(text), span: span.clone() }),
        }
    }

    fn joined(&mut self, pieces: &[Piece<'_>], span: &Span) -> Option<String> {
        let parts: Vec<Option<String>> = pieces.iter().map(|piece| self.part(piece, span)).collect();
        parts.into_iter().collect()
    }

    fn part(&mut self, piece: &Piece<'_>, span: &Span) -> Option<String> {
        match piece {
            Piece::Literal(literal) => Some((*literal).to_owned()),
            Piece::Parameter(name) => {
                let value = self.value_of(name, span)?;
                let text = plain_text(&value);
                if text.is_none() {
                    let message =
                        format!("`{name}` is {}, which has no place inside a text", value.described());
                    let fault =
                        Fault::error(PARAMETER_IN_TEXT, self.place(&format!("${{{name}}}"), span), message);
                    self.faults.push(
                        fault.help(format!("write `\"${{{name}}}\"` alone to take the value as it is")),
                    );
                }
                text
            }
            Piece::Unclosed => {
                let fault = Fault::error(UNCLOSED_PARAMETER, span.clone(), "`${` without its `}`");
                self.faults.push(fault.help("close it, or write `$${` for the characters themselves"));
                None
            }
        }
    }

    fn value_of(&mut self, name: &str, span: &Span) -> Option<Value> {
        let Some(parameter) = self.parameters.iter().find(|parameter| parameter.name.value == name) else {
            self.faults.push(self.unknown(name, span));
            self.placeholders.push(span.clone());
            return None;
        };
        if parameter.value.is_none() {
            self.placeholders.push(span.clone());
        }
        parameter.value.clone()
    }

    fn unknown(&self, name: &str, span: &Span) -> Fault {
        let place = self.place(&format!("${{{name}}}"), span);
        let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let help = if names.is_empty() {
            format!("declare it: `[params]` with `{name} = …`")
        } else {
            suggestion(name, names)
        };
        Fault::error(UNKNOWN_PARAMETER, place, format!("there is no parameter `{name}`")).help(help)
    }

    /// Where `part` stands inside the text at `span`; the whole text where escapes hide it.
    fn place(&self, part: &str, span: &Span) -> Span {
        let found = self.text.get(span.clone()).and_then(|source| source.find(part));
        found.map_or_else(|| span.clone(), |at| span.start + at..span.start + at + part.len())
    }
}

/// Takes a text apart; `$${` is the literal `${`.
fn pieces(content: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = content;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            pieces.push(Piece::Literal(&rest[..at - 1]));
            pieces.push(Piece::Literal("${"));
            rest = &rest[at + 2..];
            continue;
        }
        pieces.push(Piece::Literal(&rest[..at]));
        let Some(end) = rest[at..].find('}') else {
            rest = "";
            pieces.push(Piece::Unclosed);
            break;
        };
        pieces.push(Piece::Parameter(&rest[at + 2..at + end]));
        rest = &rest[at + end + 1..];
    }
    pieces.push(Piece::Literal(rest));
    pieces.retain(|piece| *piece != Piece::Literal(""));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart() {
        use Piece::{Literal, Parameter, Unclosed};
        let cases: &[(&str, &[Piece<'_>])] = &[
            ("${a}", &[Parameter("a")]),
            ("x${a}y${b}", &[Literal("x"), Parameter("a"), Literal("y"), Parameter("b")]),
            ("$${a}", &[Literal("${"), Literal("a}")]),
            ("$$${a}", &[Literal("$"), Literal("${"), Literal("a}")]),
            ("${a", &[Unclosed]),
            ("{id} $5", &[Literal("{id} $5")]),
        ];
        for (text, expected) in cases {
            assert_eq!(pieces(text), *expected, "{text}");
        }
    }
}
