//! Tables as Apache Parquet, and as GeoParquet 1.0 (<https://geoparquet.org/releases/v1.0.0/>).

use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::json;

use super::Sink;
use super::columns::{Cell, Columns, Type};
use super::footprint::{FOOTPRINT, to_wkb};
use crate::contract::Row;

/// Rows that are compressed together.
const ROW_GROUP: usize = 65_536;

/// A plain file.
pub(super) fn plain(file: File, columns: &Columns) -> Result<Box<dyn Sink>, String> {
    begin(file, columns, false)
}

/// A file with geometries.
pub(super) fn geo(file: File, columns: &Columns) -> Result<Box<dyn Sink>, String> {
    if !columns.iter().any(|column| column.name == FOOTPRINT) {
        return Err("GeoParquet needs footprints, and the rows are of no windows; write `.parquet`".into());
    }
    begin(file, columns, true)
}

fn begin(file: File, columns: &Columns, is_geo: bool) -> Result<Box<dyn Sink>, String> {
    let field = |column: &super::columns::Column| {
        let is_geometry = is_geo && column.name == FOOTPRINT;
        Field::new(&column.name, if is_geometry { DataType::Binary } else { data_type(column.kind) }, true)
    };
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_created_by("gisrun".into())
        .build();
    let mut writer =
        ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(|error| error.to_string())?;
    if is_geo {
        writer.append_key_value_metadata(KeyValue::new("geo".into(), geo_metadata()));
    }
    Ok(Box::new(Parquet { writer, schema, columns: columns.clone() }))
}

fn data_type(kind: Type) -> DataType {
    match kind {
        Type::Bool => DataType::Boolean,
        Type::Int => DataType::Int64,
        Type::Float => DataType::Float64,
        Type::Text | Type::Nothing => DataType::Utf8,
    }
}

/// Without `crs` the coordinates are longitude and latitude in WGS 84 (OGC:CRS84).
fn geo_metadata() -> String {
    let column = json!({ "encoding": "WKB", "geometry_types": ["MultiPolygon", "Polygon"] });
    json!({ "version": "1.0.0", "primary_column": FOOTPRINT, "columns": { FOOTPRINT: column } }).to_string()
}

struct Parquet {
    writer: ArrowWriter<File>,
    schema: Arc<Schema>,
    columns: Columns,
}

impl Sink for Parquet {
    fn add(&mut self, rows: &[Row]) -> Result<(), String> {
        for rows in rows.chunks(ROW_GROUP) {
            let values: Vec<Vec<Option<Cell<'_>>>> =
                rows.iter().map(|row| self.columns.values(row)).collect();
            let array = |(place, field): (usize, &Arc<Field>)| array(field.data_type(), place, &values);
            let arrays = self.schema.fields().iter().enumerate().map(array).collect();
            let batch =
                RecordBatch::try_new(self.schema.clone(), arrays).map_err(|error| error.to_string())?;
            self.writer.write(&batch).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<File, String> {
        self.writer.into_inner().map_err(|error| error.to_string())
    }
}

/// One column of some rows.
fn array(kind: &DataType, place: usize, rows: &[Vec<Option<Cell<'_>>>]) -> ArrayRef {
    let cells = rows.iter().map(|row| row[place].as_ref());
    match kind {
        DataType::Boolean => Arc::new(cells.map(|cell| cell.and_then(as_bool)).collect::<BooleanArray>()),
        DataType::Int64 => Arc::new(cells.map(|cell| cell.and_then(as_int)).collect::<Int64Array>()),
        DataType::Float64 => Arc::new(cells.map(|cell| cell.and_then(as_float)).collect::<Float64Array>()),
        DataType::Binary => {
            Arc::new(cells.map(|cell| cell.and_then(as_text).and_then(to_wkb)).collect::<BinaryArray>())
        }
        _ => Arc::new(cells.map(|cell| cell.and_then(as_text)).collect::<StringArray>()),
    }
}

fn as_bool(cell: &Cell<'_>) -> Option<bool> {
    if let Cell::Bool(value) = cell { Some(*value) } else { None }
}

fn as_int(cell: &Cell<'_>) -> Option<i64> {
    if let Cell::Int(value) = cell { Some(*value) } else { None }
}

fn as_float(cell: &Cell<'_>) -> Option<f64> {
    if let Cell::Float(value) = cell { Some(*value) } else { None }
}

fn as_text<'a>(cell: &'a Cell<'_>) -> Option<&'a str> {
    if let Cell::Text(value) = cell { Some(value.as_ref()) } else { None }
}
