//! Tables as text: CSV and JSON lines.

use std::fs::File;
use std::io::{BufWriter, Write};

use serde_json::{Map, Value as Json};

use super::Sink;
use super::columns::{Cell, Columns};
use crate::contract::Row;

/// A file of comma-separated values (RFC 4180), begun with its line of names.
pub(super) fn csv(file: File, columns: Columns) -> Result<Box<dyn Sink>, String> {
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record(columns.iter().map(|column| &column.name)).map_err(|error| error.to_string())?;
    Ok(Box::new(Csv { writer, columns }))
}

struct Csv {
    writer: csv::Writer<File>,
    columns: Columns,
}

impl Sink for Csv {
    fn add(&mut self, rows: &[Row]) -> Result<(), String> {
        for row in rows {
            let cells =
                self.columns.values(row).into_iter().map(|cell| cell.map(csv_text).unwrap_or_default());
            self.writer.write_record(cells).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<File, String> {
        self.writer.into_inner().map_err(|error| error.to_string())
    }
}

/// Texts as they are, the others as JSON writes them.
fn csv_text(cell: Cell<'_>) -> String {
    match cell {
        Cell::Text(text) => text.into_owned(),
        cell => cell.to_json().to_string(),
    }
}

/// A file of one JSON object a line, each with every column.
pub(super) fn jsonl(file: File, columns: Columns) -> Box<dyn Sink> {
    Box::new(Jsonl { writer: BufWriter::new(file), columns })
}

struct Jsonl {
    writer: BufWriter<File>,
    columns: Columns,
}

impl Sink for Jsonl {
    fn add(&mut self, rows: &[Row]) -> Result<(), String> {
        for row in rows {
            let values = self
                .columns
                .values(row)
                .into_iter()
                .map(|cell| cell.map_or(Json::Null, |cell| cell.to_json()));
            let names = self.columns.iter().map(|column| column.name.clone());
            let object: Map<_, _> = names.zip(values).collect();
            writeln!(self.writer, "{}", Json::Object(object)).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<File, String> {
        self.writer.into_inner().map_err(|error| error.to_string())
    }
}
