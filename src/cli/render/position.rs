//! Lines and columns, both counted from 1, columns in characters.

/// A place as editors count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Position {
    /// The place of a byte of the text.
    pub(super) fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "a\nüx\n";
        for (byte, line, column) in [(0, 1, 1), (1, 1, 2), (2, 2, 1), (4, 2, 2), (5, 2, 3), (6, 3, 1)] {
            assert_eq!(Position::of(text, byte), Position { line, column }, "{byte}");
        }
    }
}
