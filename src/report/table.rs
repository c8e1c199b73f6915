//! A table of text, its columns as wide as what is in them.

use std::fmt;

/// Rows under a head; the first column is aligned left, the others right.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        (0..columns).map(|column| width(column).unwrap_or(0)).collect()
    }
}

impl fmt::Display for Table {
    /// Nothing where there are no rows below the head.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.len() < 2 {
            return Ok(());
        }
        let widths = self.widths();
        for (number, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| match column {
                    0 => format!("{cell:width$}"),
                    _ => format!("{cell:>width$}"),
                })
                .collect();
            let end = if number == 0 { "" } else { "\n" };
            write!(f, "{end}{}", cells.join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_an_empty_table_is_nothing() {
        let mut table = Table::new(&["stage", "done"]);
        assert_eq!(table.to_string(), "");
        table.row(vec!["ndvi".into(), "1,204".into()]);
        table.row(vec!["a".into(), "7".into()]);
        assert_eq!(table.to_string(), "stage   done\nndvi   1,204\na          7");
    }
}
