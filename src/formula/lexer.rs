//! Text → words with their places.

use std::ops::Range;

use super::error::{FormulaError, Problem};

/// One word of a formula.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A number, never negative.
    Number(f64),
    /// A name that needs no quotes; may be a function, a constant or a band.
    Word(String),
    /// A name in backquotes; always a band.
    Quoted(String),
    /// An operator or a separator.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// Operators and separators; longer ones before those that they begin with.
const SYMBOLS: &[&str] =
    &["**", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "!", "(", ")", ","];

impl Token {
    /// The token as a message names it.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Number(value) => format!("`{value}`"),
            Token::Word(name) | Token::Quoted(name) => format!("`{name}`"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::End => "the end".into(),
        }
    }
}

/// The words of a formula, an [`Token::End`] last.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, FormulaError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let Some(first) = text[at..].chars().next() else { break };
        let (token, length) =
            token(&text[at..], first).map_err(|(problem, length)| problem.at(at..at + length))?;
        tokens.push((token, at..at + length));
        at += length;
    }
    tokens.push((Token::End, text.len()..text.len()));
    Ok(tokens)
}

/// The token that `text` begins with and its bytes, or what is wrong and its bytes.
fn token(text: &str, first: char) -> Result<(Token, usize), (Problem, usize)> {
    match first {
        '0'..='9' | '.' => number(text),
        '`' => quoted(text),
        _ if first.is_alphabetic() || first == '_' => {
            let length = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
            Ok((Token::Word(text[..length].into()), length))
        }
        _ => SYMBOLS
            .iter()
            .find(|symbol| text.starts_with(**symbol))
            .map(|symbol| (Token::Symbol(symbol), symbol.len()))
            .ok_or((Problem::UnknownCharacter(first), first.len_utf8())),
    }
}

/// Decimal digits with an optional point and exponent.
fn number(text: &str) -> Result<(Token, usize), (Problem, usize)> {
    let mut length = 0;
    let mut previous = ' ';
    for c in text.chars() {
        let is_exponent_sign = matches!(c, '+' | '-') && matches!(previous, 'e' | 'E');
        if !(c.is_alphanumeric() || c == '.' || c == '_' || is_exponent_sign) {
            break;
        }
        length += c.len_utf8();
        previous = c;
    }
    match text[..length].parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Token::Number(value), length)),
        _ => Err((Problem::BadNumber(text[..length].into()), length)),
    }
}

/// A name between backquotes.
fn quoted(text: &str) -> Result<(Token, usize), (Problem, usize)> {
    match text[1..].find('`') {
        Some(length) => Ok((Token::Quoted(text[1..=length].into()), length + 2)),
        None => Err((Problem::OpenName, text.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Token> {
        tokens(text).unwrap().into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn exponents_belong_to_numbers_and_signs_do_not() {
        let expected = [Token::Number(1.5e-3), Token::Symbol("-"), Token::Number(2.0), Token::End];
        assert_eq!(words("1.5e-3-2"), expected);
    }

    #[test]
    fn longer_symbols_win() {
        let expected = [Token::Symbol("**"), Token::Symbol("<="), Token::Symbol("<"), Token::End];
        assert_eq!(words("** <= <"), expected);
    }

    #[test]
    fn places_count_bytes() {
        let places: Vec<_> = tokens("é + `b 1`").unwrap().into_iter().map(|(_, place)| place).collect();
        assert_eq!(places, [0..2, 3..4, 5..10, 10..10]);
    }

    #[test]
    fn unknown_characters_open_names_and_bad_numbers_are_refused_at_their_place() {
        for (text, span) in
            [("a ^ b", 2..3), ("a + `b", 4..6), ("1.2.3", 0..5), ("3a", 0..2), ("1e999", 0..5)]
        {
            assert_eq!(tokens(text).unwrap_err().span, span, "{text}");
        }
    }
}
