//! `list`: items from addresses in the pipeline, or from a file of them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::stream::BoxStream;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Value as Json, json};

use super::list_file::{Columns, ListFile};
use super::listed::{Listed, Listing, ONLY_ASSET, OnDuplicate, deduplicated, first_duplicate};
use crate::config::{Fault, Spanned, Value, from_value};
use crate::contract::{
    Environment, Failure, Item, Kind, Location, Op, OpEntry, Port, Properties, Shape, Source, SourceContext,
    Take,
};
use crate::ops::codes::{BAD_LIST_FILE, BAD_LOCATION, CONFLICT, DUPLICATE_ID};
use crate::remote::off_loop;

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "list",
    summary: "Lists items by addresses that stand in the pipeline, or in a text, CSV, GeoJSON or Parquet file.",
    accepts: &[],
    example: r#"{ uris = ["https://data.example/a.tif", { id = "b", red = "b/B04.tif", nir = "b/B08.tif" }] }"#,
    schema: |generator| generator.subschema_for::<ListOptions>(),
    compile,
};

/// Lists items in the order in which they stand: either `uris` in the pipeline itself, or the rows of a `file`.
///
/// A place is a path, relative to the pipeline or to the `file`, or an address: `https://`, `http://`, `s3://`, `gs://`,
/// `az://`, `file://`. The id of an item is the name of its first file without suffix, unless it is given.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ListOptions {
    /// The places of the items' files: a text for an item with one file, whose asset is called `data`, or a table for an
    /// item with several, each by the name of its asset; the key `id` of such a table is the item's id.
    #[serde(default)]
    uris: Option<Vec<Spanned<Entry>>>,
    /// A file with one item a line or row, relative to the pipeline. `.txt`: one place a line, where empty lines and
    /// those that begin with `#` are left out. `.csv`: a header line and one item a line. `.geojson` and `.json`: one item
    /// a feature. `.parquet`: one item a row.
    #[serde(default)]
    file: Option<Spanned<PathBuf>>,
    /// The column (or property) of the `file` that is the item's id. The default is `id` where there is such a column,
    /// and the id of the feature in GeoJSON.
    #[serde(default)]
    id: Option<Spanned<String>>,
    /// The columns (or properties) of the `file` that are places of files; each is an asset of its name. All other
    /// columns are properties of the item. The default is one asset `data` from the first column there is of `uri`, `url`,
    /// `href`, `path`, `location`.
    #[serde(default)]
    assets: Option<Vec<Spanned<String>>>,
    /// What is done about two items with one id: `"error"` (the default) refuses the pipeline before any work and names
    /// both, `"first"` takes the first.
    #[serde(default)]
    on_duplicate: OnDuplicate,
}

/// One of `uris`.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    id: Option<String>,
    assets: Vec<(String, String)>,
}

/// Where the items are.
#[derive(Clone)]
enum List {
    Inline(Arc<[Listed]>),
    File(ListFile),
}

struct ListOp {
    list: List,
    on_duplicate: OnDuplicate,
    listing: Arc<Listing>,
}

fn compile(value: &Value, environment: &Environment) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: ListOptions = from_value(value)?;
    let on_duplicate = options.on_duplicate;
    let list = match (&options.uris, &options.file) {
        (Some(uris), None) => List::Inline(inline(uris, &options, &environment.folder)?.into()),
        (None, Some(file)) => List::File(list_file(file, &options, &environment.folder)?),
        _ => {
            let message = "a list has either `uris` or `file`";
            return Err(vec![Fault::error(CONFLICT, value.span.clone(), message)]);
        }
    };
    Ok(Arc::new(ListOp { list, on_duplicate, listing: Arc::default() }))
}

fn inline(uris: &[Spanned<Entry>], options: &ListOptions, folder: &Path) -> Result<Vec<Listed>, Vec<Fault>> {
    let mut faults: Vec<_> = [options.id.as_ref(), options.assets.as_ref().and_then(|assets| assets.first())]
        .into_iter()
        .flatten()
        .map(|column| Fault::error(CONFLICT, column.span.clone(), "columns are those of a `file`"))
        .collect();
    let mut items = Vec::new();
    for entry in uris {
        match entry.listed(folder) {
            Ok(item) => items.push(item),
            Err(message) => faults.push(Fault::error(BAD_LOCATION, entry.span.clone(), message)),
        }
    }
    if options.on_duplicate == OnDuplicate::Error && faults.is_empty() {
        faults.extend(duplicate(&items, uris));
    }
    if faults.is_empty() { Ok(items) } else { Err(faults) }
}

fn duplicate(items: &[Listed], uris: &[Spanned<Entry>]) -> Option<Fault> {
    let (first, second) = first_duplicate(items.iter().map(|item| item.id.as_str()))?;
    let message = format!("two items have the id `{}`", items[first].id);
    let fault = Fault::error(DUPLICATE_ID, uris[second].span.clone(), message)
        .labelled("the second")
        .related(uris[first].span.clone(), "the first");
    Some(fault.help(
        "give them ids: `{ id = \"…\", data = \"…\" }`; or take the first with `on-duplicate = \"first\"`",
    ))
}

fn list_file(file: &Spanned<PathBuf>, options: &ListOptions, folder: &Path) -> Result<ListFile, Vec<Fault>> {
    let columns = Columns {
        id: options.id.as_ref().map(|column| column.value.clone()),
        assets: options
            .assets
            .as_ref()
            .map(|columns| columns.iter().map(|column| column.value.clone()).collect()),
    };
    ListFile::new(&folder.join(&file.value), columns)
        .map_err(|message| vec![Fault::error(BAD_LIST_FILE, file.span.clone(), message)])
}

impl Entry {
    fn listed(&self, folder: &Path) -> Result<Listed, String> {
        let place = |(name, text): &(String, String)| Ok((name.clone(), Location::parse(text, folder)?));
        let assets = self.assets.iter().map(place).collect::<Result<Vec<_>, String>>()?;
        Listed::new(self.id.clone(), assets, Properties::new())
    }
}

impl Op for ListOp {
    fn gives(&self, _: Option<Port>) -> Port {
        Port::Asset
    }

    fn takes(&self) -> &'static [Take] {
        &[]
    }

    fn shape(&self, _: &Shape, item: &Item) -> Result<Shape, Failure> {
        Ok(Shape::of_assets(item))
    }

    fn manifest(&self) -> Json {
        json!({})
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Source(self)
    }
}

impl Source for ListOp {
    fn list(&self, _: SourceContext) -> BoxStream<'static, Result<Item, Failure>> {
        let (list, on_duplicate) = (self.list.clone(), self.on_duplicate);
        self.listing.clone().items(off_loop(move || list.items(on_duplicate)))
    }
}

impl List {
    /// All items, each id once.
    fn items(&self, on_duplicate: OnDuplicate) -> Result<Vec<Listed>, Failure> {
        let items = match self {
            List::Inline(items) => items.to_vec(),
            List::File(file) => file.read()?,
        };
        if items.is_empty() {
            return Err(Failure::bad_input(match self {
                List::Inline(_) => "the list is empty: `uris` has no entry".to_owned(),
                List::File(file) => format!("the list is empty: `{}` has no entry", file.path().display()),
            }));
        }
        deduplicated(items, on_duplicate)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct EntryVisitor;

        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path, an address, or a table of them by asset")
            }

            fn visit_str<E>(self, text: &str) -> Result<Entry, E> {
                Ok(Entry { id: None, assets: vec![(ONLY_ASSET.to_owned(), text.to_owned())] })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
                let mut entry = Entry { id: None, assets: Vec::new() };
                while let Some((name, text)) = map.next_entry::<String, String>()? {
                    if name == "id" {
                        entry.id = Some(text);
                    } else {
                        entry.assets.push((name, text));
                    }
                }
                Ok(entry)
            }
        }

        from.deserialize_any(EntryVisitor)
    }
}

impl JsonSchema for Entry {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ListEntry".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "minLength": 1, "description": "The path or address of an item's only file." },
                {
                    "type": "object",
                    "description": "Paths or addresses by the names of the item's assets; `id` is the item's id.",
                    "additionalProperties": { "type": "string", "minLength": 1 },
                    "minProperties": 1,
                },
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Payload;
    use crate::ops::testing::{compile_in, listed};

    fn op(options: &str, folder: &Path) -> Result<Arc<dyn Op>, Vec<Fault>> {
        compile_in(&ENTRY, options, folder)
    }

    async fn list(options: &str, folder: &Path) -> Result<Vec<Item>, Failure> {
        listed(&ENTRY, options, folder).await
    }

    /// `id: name=place, …; properties`
    async fn summary(options: &str, folder: &Path) -> Vec<String> {
        let items = list(options, folder).await.expect("some items");
        items
            .iter()
            .map(|item| {
                let Payload::Assets(sets) = &item.payload else { panic!("assets") };
                let assets: Vec<_> =
                    sets[0].assets.iter().map(|asset| format!("{}={}", asset.name, asset.location)).collect();
                format!("{}: {}; {}", item.id, assets.join(", "), Json::Object((*item.properties).clone()))
            })
            .collect()
    }

    #[tokio::test]
    async fn places_in_the_pipeline_are_items() {
        let options = "uris = ['a.tif', 'https://h.example/x/b%20c.tif?sig=1', { id = 'c', red = 'r.tif', nir = 's3://b/n.tif' }]";
        let expected = [
            "a: data=/jobs/a.tif; {}",
            "b c: data=https://h.example/x/b%20c.tif; {}",
            "c: red=/jobs/r.tif, nir=s3://b/n.tif; {}",
        ];
        assert_eq!(summary(options, Path::new("/jobs")).await, expected);
    }

    #[test]
    fn two_ids_are_refused_with_both_places() {
        let options = "uris = ['1/a.tif', 'b.tif', '2/a.tif']";
        let faults = op(options, Path::new("/")).err().expect("one id");
        let place = |span: &std::ops::Range<usize>| options[span.clone()].to_owned();
        assert_eq!(
            (faults[0].code, place(&faults[0].span), place(&faults[0].related[0].0)),
            ("duplicate-id", "'2/a.tif'".into(), "'1/a.tif'".into())
        );
        assert!(op(&format!("{options}\non-duplicate = 'first'"), Path::new("/")).is_ok());
    }

    #[test]
    fn wrong_options_are_faults() {
        for (options, code) in [
            ("uris = []\nfile = 'a.txt'", CONFLICT),
            ("on-duplicate = 'first'", CONFLICT),
            ("uris = ['a.tif']\nid = 'x'", CONFLICT),
            ("uris = ['ftp://h/a.tif']", "bad-location"),
            ("uris = [{ id = 'a' }]", "bad-location"),
            ("file = 'a.xlsx'", "bad-list-file"),
            ("file = 'a.txt'\nid = 'x'", "bad-list-file"),
        ] {
            let faults = op(options, Path::new("/")).err().expect(options);
            assert_eq!((faults.len(), faults[0].code), (1, code), "{options}");
        }
    }

    #[tokio::test]
    async fn an_empty_list_is_fatal() {
        let failure = list("uris = []", Path::new("/")).await.expect_err("empty");
        assert_eq!(failure.class, crate::events::FailureClass::Fatal);
    }

    #[tokio::test]
    async fn a_file_of_places_is_relative_to_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("lists")).expect("made");
        std::fs::write(folder.path().join("lists/a.txt"), "# scenes\n\n b.tif \nhttps://h.example/c.tif\n")
            .expect("written");
        let expected = [
            format!("b: data={}/lists/b.tif; {{}}", folder.path().display()),
            "c: data=https://h.example/c.tif; {}".to_owned(),
        ];
        assert_eq!(summary("file = 'lists/a.txt'", folder.path()).await, expected);
    }

    #[test]
    fn the_example_is_right() {
        let example = ENTRY.example.trim_start_matches("{ ").trim_end_matches(" }");
        assert!(op(example, Path::new("/")).is_ok());
    }
}
