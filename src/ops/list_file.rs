//! Files of items: one place a line, CSV, GeoJSON, Parquet.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;
use serde_json::Value as Json;

use super::list_values::{cell_value, field_value, scalar_text};
use super::listed::{Listed, ONLY_ASSET};
use crate::config::suggestion;
use crate::contract::{Failure, Location, Properties};

/// Columns that hold the place of an item's only file, where none is named.
const PLACES: [&str; 5] = ["uri", "url", "href", "path", "location"];

/// What the columns of a file are.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// The id.
    pub(super) id: Option<String>,
    /// The places of files.
    pub(super) assets: Option<Vec<String>>,
}

/// A file of items whose format is known.
#[derive(Clone, Debug)]
pub(super) struct ListFile {
    path: PathBuf,
    format: Format,
    columns: Columns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Csv,
    GeoJson,
    Parquet,
}

/// One row: its id where the format has a place for it, and its values by column.
struct Record {
    id: Option<String>,
    values: Properties,
    /// Where it stands, for messages: `line 3`.
    place: String,
}

impl ListFile {
    /// Takes a file by its suffix.
    pub(super) fn new(path: &Path, columns: Columns) -> Result<Self, String> {
        let suffix = path.extension().map(|suffix| suffix.to_string_lossy().to_ascii_lowercase());
        let format = match suffix.as_deref() {
            Some("txt") => Format::Text,
            Some("csv") => Format::Csv,
            Some("geojson" | "json") => Format::GeoJson,
            Some("parquet") => Format::Parquet,
            _ => {
                let known = "`.txt`, `.csv`, `.geojson`, `.json`, `.parquet`";
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                return Err(format!("`{name}` is no list that can be read; known suffixes are {known}"));
            }
        };
        if format == Format::Text && (columns.id.is_some() || columns.assets.is_some()) {
            return Err(format!("`{}` is plain text and has no columns", path.display()));
        }
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self { path, format, columns })
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all items, which blocks.
    pub(super) fn read(&self) -> Result<Vec<Listed>, Failure> {
        let read = match self.format {
            Format::Text => return self.read_text(),
            Format::Csv => self.read_csv(),
            Format::GeoJson => self.read_geojson(),
            Format::Parquet => self.read_parquet(),
        };
        let records = read.map_err(|error| self.failure(&error))?;
        records.into_iter().map(|record| self.listed(record).map_err(|error| self.failure(&error))).collect()
    }

    fn failure(&self, error: &str) -> Failure {
        Failure::bad_input(format!("list `{}`: {error}", self.path.display()))
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    fn text(&self) -> Result<String, String> {
        std::fs::read_to_string(&self.path).map_err(|error| error.to_string())
    }

    fn read_text(&self) -> Result<Vec<Listed>, Failure> {
        let text = self.text().map_err(|error| self.failure(&error))?;
        let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        let places = lines.map(|(at, line)| (at + 1, line.trim()));
        let entries = places.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let one = |(line, text): (usize, &str)| {
            let location = Location::parse(text, self.folder());
            let listed = location.and_then(|location| {
                Listed::new(None, vec![(ONLY_ASSET.to_owned(), location)], Properties::new())
            });
            listed.map_err(|error| self.failure(&format!("line {line}: {error}")))
        };
        entries.map(one).collect()
    }

    fn read_csv(&self) -> Result<Vec<Record>, String> {
        let file = File::open(&self.path).map_err(|error| error.to_string())?;
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(file);
        let headers = reader.headers().map_err(|error| error.to_string())?.clone();
        let name = |header: &str| header.trim_start_matches('\u{feff}').to_owned();
        let mut records = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| error.to_string())?;
            let place =
                record.position().map_or_else(String::new, |position| format!("line {}", position.line()));
            let cells = headers.iter().zip(record.iter());
            let values = cells.filter_map(|(header, cell)| Some((name(header), cell_value(cell)?))).collect();
            records.push(Record { id: None, values, place });
        }
        let known: Vec<_> = headers.iter().map(name).collect();
        self.check_columns(&known).map(|()| records)
    }

    fn read_geojson(&self) -> Result<Vec<Record>, String> {
        let json: Json = serde_json::from_str(&self.text()?).map_err(|error| error.to_string())?;
        let features = json.get("features").and_then(Json::as_array);
        let features = features.ok_or("it is no GeoJSON feature collection: it has no `features`")?;
        Ok(features.iter().enumerate().map(|(at, feature)| feature_record(at, feature)).collect())
    }

    fn read_parquet(&self) -> Result<Vec<Record>, String> {
        let file = File::open(&self.path).map_err(|error| error.to_string())?;
        let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
        let schema = reader.metadata().file_metadata().schema().get_fields();
        let known: Vec<_> = schema.iter().map(|field| field.name().to_owned()).collect();
        self.check_columns(&known)?;
        let rows = reader.get_row_iter(None).map_err(|error| error.to_string())?;
        let record = |(at, row): (usize, Result<Row, parquet::errors::ParquetError>)| {
            let row = row.map_err(|error| error.to_string())?;
            let values =
                row.get_column_iter().filter_map(|(name, field)| Some((name.clone(), field_value(field)?)));
            Ok(Record { id: None, values: values.collect(), place: format!("row {}", at + 1) })
        };
        rows.enumerate().map(record).collect()
    }

    /// Every column that is named has to be there.
    fn check_columns(&self, known: &[String]) -> Result<(), String> {
        let named = self.columns.id.iter().chain(self.columns.assets.iter().flatten());
        match named.into_iter().find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let help = suggestion(name, known.iter().map(String::as_str));
                Err(format!("it has no column `{name}`; {help}"))
            }
        }
    }

    fn listed(&self, mut record: Record) -> Result<Listed, String> {
        let place = std::mem::take(&mut record.place);
        let id = self.take_id(&mut record);
        let assets = match &self.columns.assets {
            Some(names) => self.take_assets(names, &mut record.values),
            None => self.take_only_asset(&mut record.values),
        };
        let listed = assets.and_then(|assets| Listed::new(id, assets, record.values));
        listed.map_err(|error| format!("{place}: {error}"))
    }

    fn take_id(&self, record: &mut Record) -> Option<String> {
        let id = record.values.shift_remove(self.columns.id.as_deref().unwrap_or("id"));
        id.as_ref().and_then(scalar_text).or_else(|| record.id.take())
    }

    /// The assets of a row; empty cells are assets that this item does not have.
    fn take_assets(
        &self,
        names: &[String],
        values: &mut Properties,
    ) -> Result<Vec<(String, Location)>, String> {
        let mut assets = Vec::new();
        for name in names {
            if let Some(text) = values.shift_remove(name).as_ref().and_then(scalar_text) {
                assets.push((name.clone(), Location::parse(&text, self.folder())?));
            }
        }
        Ok(assets)
    }

    fn take_only_asset(&self, values: &mut Properties) -> Result<Vec<(String, Location)>, String> {
        let column = PLACES.into_iter().find(|name| values.contains_key(*name));
        let column = column.ok_or_else(|| {
            let known = PLACES.map(|name| format!("`{name}`")).join(", ");
            format!("there is none of the columns {known}; name the columns of files with `assets`")
        })?;
        let text = values.shift_remove(column).as_ref().and_then(scalar_text).unwrap_or_default();
        Ok(vec![(ONLY_ASSET.to_owned(), Location::parse(&text, self.folder())?)])
    }
}

fn feature_record(at: usize, feature: &Json) -> Record {
    let id = feature.get("id").and_then(scalar_text);
    let mut values = feature.get("properties").and_then(Json::as_object).cloned().unwrap_or_default();
    if let Some(geometry) = feature.get("geometry").filter(|geometry| !geometry.is_null()) {
        values.entry("geometry").or_insert_with(|| geometry.clone());
    }
    Record { id, values, place: format!("feature {}", at + 1) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
    };
    use parquet::arrow::ArrowWriter;
    use serde_json::json;

    use super::*;

    fn read(
        name: &str,
        text: impl AsRef<[u8]>,
        id: Option<&str>,
        assets: Option<&[&str]>,
    ) -> Result<Vec<Listed>, Failure> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        let assets = assets.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        ListFile::new(&path, Columns { id: id.map(str::to_owned), assets }).expect("known").read()
    }

    /// (id, file names of its assets, properties)
    fn summary(items: &[Listed]) -> Vec<(&str, Vec<String>, Json)> {
        let assets = |item: &Listed| {
            item.assets.iter().map(|asset| format!("{}={}", asset.name, asset.location.stem())).collect()
        };
        items
            .iter()
            .map(|item| (item.id.as_str(), assets(item), Json::Object(item.properties.clone())))
            .collect()
    }

    #[test]
    fn csv_columns_are_ids_assets_and_properties() {
        let text =
            "\u{feff}name,red,nir,cloud,tile,fine\ns1,r1.tif,n1.tif,12.5,007,true\ns2,r2.tif,,,32UQD,false\n";
        let items = read("a.csv", text, Some("name"), Some(&["red", "nir"])).expect("right");
        let first = json!({"cloud": 12.5, "tile": "007", "fine": true});
        let second = json!({"tile": "32UQD", "fine": false});
        let expected =
            [("s1", vec!["red=r1".into(), "nir=n1".into()], first), ("s2", vec!["red=r2".into()], second)];
        assert_eq!(summary(&items), expected);
    }

    #[test]
    fn csv_has_defaults() {
        let items = read("a.csv", "id,url\n7,https://h.example/a.tif\n,b.tif\n", None, None).expect("right");
        assert_eq!(
            summary(&items),
            [("7", vec!["data=a".into()], json!({})), ("b", vec!["data=b".into()], json!({}))]
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (name, text, assets, expected) in [
            ("a.csv", "id,url\n1,ftp://h/a.tif\n", None, "line 2: `ftp://h/a.tif` cannot be fetched"),
            ("a.csv", "id,uri\n1\n", None, "found record with 1 fields"),
            ("a.csv", "id,rad\n1,a.tif\n", Some(&["red"][..]), "it has no column `red`; did you mean `rad`?"),
            ("a.csv", "id,x\n1,a.tif\n", None, "line 2: there is none of the columns `uri`"),
            ("a.csv", "id,red\n1,\n", Some(&["red"][..]), "line 2: it has no file"),
            ("a.txt", "a.tif\nftp://h/b.tif", None, "line 2: `ftp://h/b.tif` cannot be fetched"),
            ("a.json", "{}", None, "it is no GeoJSON feature collection"),
            ("a.parquet", "no", None, "list `"),
        ] {
            let failure = read(name, text, None, assets).expect_err(expected);
            assert!(failure.message.contains(expected), "{failure} does not say: {expected}");
        }
    }

    #[test]
    fn features_are_items() {
        let text = json!({"type": "FeatureCollection", "features": [
            {"type": "Feature", "id": "f1", "geometry": null, "properties": {"href": "a.tif", "n": 1}},
            {"type": "Feature", "id": 2, "geometry": null, "properties": {"href": "b.tif", "tags": ["x"]}},
        ]});
        let items = read("a.geojson", text.to_string(), None, None).expect("right");
        let expected = [
            ("f1", vec!["data=a".into()], json!({"n": 1})),
            ("2", vec!["data=b".into()], json!({"tags": ["x"]})),
        ];
        assert_eq!(summary(&items), expected);
    }

    #[test]
    fn parquet_rows_are_items() {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("id", Arc::new(StringArray::from(vec!["a", "b"]))),
            ("red", Arc::new(StringArray::from(vec![Some("r.tif"), Some("s.tif")]))),
            ("cloud", Arc::new(Float64Array::from(vec![Some(0.5), None]))),
            ("orbit", Arc::new(Int64Array::from(vec![3, 4]))),
            ("datetime", Arc::new(TimestampMillisecondArray::from(vec![86_400_000, 0]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).expect("equal lengths");
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).expect("a writer");
        writer.write(&batch).expect("written");
        writer.close().expect("closed");
        let items = read("a.parquet", bytes, None, Some(&["red"])).expect("right");
        let first = json!({"cloud": 0.5, "orbit": 3, "datetime": "1970-01-02T00:00:00Z"});
        let second = json!({"orbit": 4, "datetime": "1970-01-01T00:00:00Z"});
        assert_eq!(
            summary(&items),
            [("a", vec!["red=r".into()], first), ("b", vec!["red=s".into()], second)]
        );
    }
}
