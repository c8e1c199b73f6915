//! `stac`: items of a catalogue, by a search or from documents.

mod choice;
mod interval;
mod item;
mod pages;
mod search;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use url::Url;

use self::choice::{Choice, Selection};
use self::pages::Pages;
use self::search::Search;
use crate::config::{Entries, Fault, OneOrMany, Spanned, Value, from_value};
use crate::contract::{
    Environment, Failure, Item, Kind, Location, Op, OpEntry, Port, Shape, Source, SourceContext, Take,
};

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "stac",
    summary: "Lists items of a STAC catalogue: the results of an API search, or item and item-collection files.",
    accepts: &[],
    example: r#"{ url = "https://stac.example/v1", collections = ["sentinel-2-l2a"], bbox = [10.0, 47.0, 11.0, 48.0], datetime = "2024-06", filter = '"eo:cloud_cover" < 40' }"#,
    schema: |generator| generator.subschema_for::<StacOptions>(),
    compile,
};

/// Lists items of a STAC catalogue, page by page, while later stages work on those that are listed already: either the
/// results of a search at the `url` of an API, or the items in each `file`.
///
/// An item's assets and properties are those of the catalogue, with the name of its collection as the property
/// `collection`. An item that comes on two pages counts once. A search that finds nothing is no error.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct StacOptions {
    /// The address of an API: its landing page, or its search. Every page is a request that takes the stage's slots and
    /// rates.
    #[serde(default)]
    url: Option<Spanned<String>>,
    /// Paths, relative to the pipeline, or addresses of items and item collections. `next` links are followed.
    #[serde(default)]
    file: Option<OneOrMany<Spanned<String>>>,
    /// The collections that are searched. The default is all of them.
    #[serde(default)]
    collections: Option<Vec<String>>,
    /// The ids of the items that are wanted. The default is all of them.
    #[serde(default)]
    ids: Option<Vec<String>>,
    /// A box that items lie in or touch: west, south, east and north in degrees, or six numbers with heights. West is
    /// larger than east for a box across the antimeridian.
    #[serde(default)]
    #[schemars(with = "Option<Vec<f64>>", length(min = 4, max = 6))]
    bbox: Option<Spanned<Vec<f64>>>,
    /// A GeoJSON file, relative to the pipeline, with the area that items intersect: a geometry, a feature, or polygons.
    #[serde(default)]
    intersects: Option<Spanned<PathBuf>>,
    /// The time that items are of: a time, a day, month or year, or two of them with `/` between, of which one may be
    /// `..` for an open end. A day as an end counts whole.
    #[serde(default)]
    #[schemars(example = "2024-06-01/2024-06-30", example = "2024-06", example = "2024-06-01T10:00:00Z/..")]
    datetime: Option<Spanned<String>>,
    /// A condition in CQL2 text on the items' properties, which the API decides.
    #[serde(default)]
    #[schemars(example = "\"eo:cloud_cover\" < 40")]
    filter: Option<Spanned<String>>,
    /// The fields that the items are sorted by, each with `-` before it for descending order. The default is the API's
    /// own order.
    #[serde(default)]
    #[schemars(example = "-properties.datetime")]
    sortby: Option<OneOrMany<String>>,
    /// The assets that are taken, each under the name that later stages use: by the key of the catalogue, `red = "B04"`, by
    /// a role, `clouds = { role = "cloud" }`, or by the name or common name of a band, `nir = { band = "nir" }`; of several
    /// that fit, the first. The default is all of them under their keys.
    #[serde(default)]
    assets: Option<Entries<Choice>>,
    /// The name of an alternate place of assets, such as `"s3"`, that is taken where an asset has one. The default is the
    /// place that the item itself gives.
    #[serde(default)]
    #[schemars(example = &"s3")]
    alternate: Option<String>,
    /// The most items that are listed. The default is all of them.
    #[serde(default)]
    #[schemars(range(min = 1))]
    max_items: Option<u64>,
    /// How many items a page has, as far as the API allows. The default is 100.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10000))]
    page_size: Option<u64>,
}

/// Where the items come from.
#[derive(Clone)]
enum Catalogue {
    Search(Url, Arc<Search>),
    Documents(Arc<[Location]>),
}

struct Stac {
    catalogue: Catalogue,
    selection: Arc<Selection>,
    max_items: u64,
}

fn compile(value: &Value, environment: &Environment) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: StacOptions = from_value(value)?;
    let conflict = |message: &str| vec![Fault::error("conflicting-options", value.span.clone(), message)];
    let catalogue = match (&options.url, &options.file) {
        (Some(url), None) => search(url, &options, environment)?,
        (None, Some(files)) if options.asks_nothing() => documents(files, environment)?,
        (None, Some(_)) => {
            return Err(conflict(
                "a search needs the `url` of an API; items of a `file` are chosen by the op `filter`",
            ));
        }
        _ => return Err(conflict("a catalogue is either the `url` of an API or a `file`")),
    };
    let choices = options
        .assets
        .as_ref()
        .map(|assets| assets.iter().map(|(name, choice)| (name.value.clone(), choice.clone())).collect());
    let selection = Arc::new(Selection { alternate: options.alternate.clone(), choices });
    Ok(Arc::new(Stac { catalogue, selection, max_items: options.max_items.unwrap_or(u64::MAX) }))
}

fn search(
    url: &Spanned<String>,
    options: &StacOptions,
    environment: &Environment,
) -> Result<Catalogue, Vec<Fault>> {
    let address =
        Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let Some(address) = address else {
        let message = format!("`{}` is not the address of an API", url.value);
        return Err(vec![Fault::error("bad-location", url.span.clone(), message)]);
    };
    if let (Some(bbox), Some(intersects)) = (&options.bbox, &options.intersects) {
        let fault = Fault::error(
            "conflicting-options",
            intersects.span.clone(),
            "a search has `bbox` or `intersects`",
        );
        return Err(vec![fault.related(bbox.span.clone(), "the other")]);
    }
    Ok(Catalogue::Search(address, Arc::new(Search::new(options, &environment.folder)?)))
}

fn documents(files: &[Spanned<String>], environment: &Environment) -> Result<Catalogue, Vec<Fault>> {
    let (mut places, mut faults) = (Vec::new(), Vec::new());
    for file in files {
        match Location::parse(file, &environment.folder) {
            Ok(place) => places.push(place),
            Err(message) => faults.push(Fault::error("bad-location", file.span.clone(), message)),
        }
    }
    if faults.is_empty() { Ok(Catalogue::Documents(places.into())) } else { Err(faults) }
}

impl StacOptions {
    /// Whether there is no condition of a search.
    fn asks_nothing(&self) -> bool {
        self.collections.is_none()
            && self.ids.is_none()
            && self.bbox.is_none()
            && self.intersects.is_none()
            && self.datetime.is_none()
            && self.filter.is_none()
            && self.sortby.is_none()
            && self.page_size.is_none()
    }
}

impl Op for Stac {
    fn gives(&self, _: Option<Port>) -> Port {
        Port::Asset
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Connections]
    }

    fn shape(&self, _: &Shape, item: &Item) -> Result<Shape, Failure> {
        Ok(Shape::of_assets(item))
    }

    /// What was searched for changes which items there are, and nothing about an item.
    fn manifest(&self) -> Json {
        json!({})
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Source(self)
    }
}

impl Source for Stac {
    /// A page is asked for when the items of the one before it have found their places.
    fn list(&self, context: SourceContext) -> BoxStream<'static, Result<Item, Failure>> {
        let pages = match &self.catalogue {
            Catalogue::Search(url, search) => {
                Pages::of_search(context.client, url, Arc::clone(search), self.max_items)
            }
            Catalogue::Documents(places) => Pages::of_documents(context.client, places, self.max_items),
        };
        let selection = Arc::clone(&self.selection);
        stream::try_unfold(pages, Pages::next_with_rest)
            .map_ok(|items| stream::iter(items).map(Ok))
            .try_flatten()
            .map_ok(move |item| selection.of(item))
            .boxed()
    }
}
