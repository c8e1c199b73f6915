//! The options of `group`, and what is made of them: the keys of items and their order.

use std::cmp::Ordering;
use std::sync::Arc;

use chrono::Duration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::Group;
use super::membership::Home;
use super::place;
use crate::config::{Fault, OneOrMany, Spanned, Value, codes, from_value};
use crate::contract::{Environment, Failure, Item, Template, TransferContext};
use crate::ops::codes::CONFLICT;
use crate::ops::named_grid::named_grid;
use crate::raster::NamedGrid;

/// The word for groups by solar day.
const SOLAR_DAY: &str = "solar-day";
/// The word for groups by tile.
const GRID: &str = "grid";

/// Makes one item of many. What an item is grouped by is known before any pixel is fetched: its properties, its name, its
/// place. The place is what the catalogue says (`proj:` fields, `bbox`, `geometry`), else what the header of the item's first
/// file says.
///
/// A group's id is its name, which `{group}` stands for. Its properties are those that all members have alike, and the
/// earliest `datetime` among them. An item that lacks what it is grouped or ordered by fails alone.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct GroupOptions {
    /// What the members of a group have in common: a template like `"{datetime:%Y-%m}"`, `"solar-day"` (the date at the
    /// item's longitude: UTC plus 4 minutes a degree east), or `"grid"`. In a list the first makes the groups, and each further
    /// one makes levels inside the one before it, which `composite` reduces level by level.
    ///
    /// With `"grid"`, which comes first or alone, each tile of `grid` that an item touches is a group, named `row_column` as
    /// counted from the grid's origin. A `warp` onto the same grid must follow. An item that touches no tile is in no group.
    #[schemars(example = &"{datetime:%Y-%m}", example = &"solar-day", example = &"grid")]
    by: OneOrMany<Spanned<String>>,
    /// The name of a grid of `[grids]` with a `tile`, for `by = "grid"`.
    grid: Option<Spanned<String>>,
    /// The order of the members, on which `first` and `last` of `composite` depend: `"datetime"` or the name of a property,
    /// ascending, ties by id. By default they are in the order of their ids.
    #[schemars(example = &"datetime", example = &"eo:cloud_cover")]
    order: Option<String>,
}

/// What makes the groups.
#[derive(Clone, Debug)]
pub(super) enum By {
    /// Equal keys.
    Key(Key),
    /// The tiles that items touch.
    Tiles(Arc<NamedGrid>),
}

/// What is equal for the members of a group or level.
#[derive(Clone, Debug)]
pub(super) enum Key {
    /// A text.
    Template(Template),
    /// The date where the item lies.
    SolarDay,
}

/// What members are ordered by, before their ids.
#[derive(Clone, Debug)]
pub(super) enum Order {
    /// Nothing.
    Id,
    /// The acquisition time.
    Datetime,
    /// A property: numbers, then texts.
    Property(String),
}

/// A member's place in the order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rank {
    /// All are equal.
    Equal,
    /// A number, or milliseconds.
    Number(f64),
    /// A text.
    Text(String),
}

impl Rank {
    /// Numbers before texts.
    pub(super) fn compare(&self, other: &Rank) -> Ordering {
        match (self, other) {
            (Rank::Number(one), Rank::Number(other)) => one.total_cmp(other),
            (Rank::Text(one), Rank::Text(other)) => one.cmp(other),
            (Rank::Number(_), Rank::Text(_)) => Ordering::Less,
            (Rank::Text(_), Rank::Number(_)) => Ordering::Greater,
            (Rank::Equal, _) | (_, Rank::Equal) => Ordering::Equal,
        }
    }
}

/// Checks the options.
pub(super) fn compile(value: &Value, environment: &Environment) -> Result<Group, Vec<Fault>> {
    let options: GroupOptions = from_value(value)?;
    let mut faults = Vec::new();
    let grid = options.grid.as_ref().and_then(|name| tiled(name, environment, &mut faults));
    let (first, inner) = levels(&options, value, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    let by = match (first, grid) {
        (Some(key), None) => By::Key(key),
        (None, Some(grid)) => By::Tiles(Arc::new(grid)),
        _ => return Err(faults),
    };
    let manifest = manifest(&options, &by);
    let order = match options.order {
        None => Order::Id,
        Some(name) if name == "datetime" => Order::Datetime,
        Some(name) => Order::Property(name),
    };
    Ok(Group { by, inner, order, manifest })
}

fn tiled(name: &Spanned<String>, environment: &Environment, faults: &mut Vec<Fault>) -> Option<NamedGrid> {
    let grid = named_grid(name, &environment.grids, faults)?;
    if grid.tile.is_none() {
        let message = format!("the grid `{}` has no `tile`, so it makes no groups", name.value);
        let help = format!("add `tile = 2048` to `[grids.{}]`", name.value);
        faults.push(Fault::error(codes::MISSING_KEY, name.span.clone(), message).help(help));
    }
    Some(grid)
}

/// The key that makes the groups, `None` for tiles, and those of the levels inside.
fn levels(options: &GroupOptions, value: &Value, faults: &mut Vec<Fault>) -> (Option<Key>, Vec<Key>) {
    let mut entries = options.by.iter();
    let Some(first) = entries.next() else {
        let message = "expected what to group by";
        faults.push(
            Fault::error(codes::MISSING_KEY, value.span.clone(), message)
                .help("write `by = \"{datetime:%Y-%m}\"`"),
        );
        return (None, Vec::new());
    };
    let by_tile = first.value == GRID;
    match (&options.grid, by_tile) {
        (None, true) => {
            let fault = Fault::error(
                codes::MISSING_KEY,
                first.span.clone(),
                "groups by tile need the name of a `grid`",
            );
            faults.push(fault.help("add `grid = …` with the name of a grid of `[grids]`"));
        }
        (Some(grid), false) => {
            let fault = Fault::error(CONFLICT, grid.span.clone(), "a `grid` goes with `by = \"grid\"`");
            faults.push(fault.related(first.span.clone(), "groups are not made by tile"));
        }
        _ => {}
    }
    let first = if by_tile { None } else { key(first, faults) };
    (first, entries.filter_map(|entry| key(entry, faults)).collect())
}

fn key(entry: &Spanned<String>, faults: &mut Vec<Fault>) -> Option<Key> {
    match entry.value.as_str() {
        SOLAR_DAY => Some(Key::SolarDay),
        GRID => {
            let message = "tiles make groups, and no levels inside of groups";
            faults.push(Fault::error(CONFLICT, entry.span.clone(), message).help("name `\"grid\"` first"));
            None
        }
        _ => Template::parse(entry).map(Key::Template).map_err(|found| faults.extend(found)).ok(),
    }
}

/// The grid counts as what it is, not by its name.
fn manifest(options: &GroupOptions, by: &By) -> Json {
    let words: Vec<&str> = options.by.iter().map(|entry| entry.value.as_str()).collect();
    let grid = match by {
        By::Key(_) => Json::Null,
        By::Tiles(grid) => json!({
            "crs": grid.crs.wkt(), "resolution": grid.resolution, "origin": grid.origin,
            "size": grid.size, "tile": grid.tile,
        }),
    };
    json!({ "by": words, "grid": grid, "order": options.order })
}

impl By {
    /// The groups that an item is in.
    ///
    /// # Errors
    /// A property or a place that the item does not have.
    pub(super) async fn homes(&self, item: &Item, context: &TransferContext) -> Result<Vec<Home>, Failure> {
        match self {
            By::Key(key) => Ok(vec![Home::Named(key.of(item, context).await?)]),
            By::Tiles(grid) => {
                let tiles = place::tiles_under(item, grid, context).await?;
                Ok(tiles.into_iter().map(Home::Tile).collect())
            }
        }
    }
}

impl Key {
    /// The key of an item.
    ///
    /// # Errors
    /// A property or a place that the item does not have.
    pub(super) async fn of(&self, item: &Item, context: &TransferContext) -> Result<String, Failure> {
        match self {
            Key::Template(template) => template.render_key(item),
            Key::SolarDay => {
                let time = item.datetime().ok_or_else(|| lacks_time(item))?;
                let longitude = place::longitude(item, context).await?;
                // The sun moves 15 degrees an hour, which is 240 seconds a degree.
                let ahead = Duration::milliseconds((longitude * 240_000.0).round() as i64);
                Ok((time + ahead).format("%Y-%m-%d").to_string())
            }
        }
    }
}

impl Order {
    /// Where an item stands.
    ///
    /// # Errors
    /// A property that the item does not have, or that has no order.
    pub(super) fn rank(&self, item: &Item) -> Result<Rank, Failure> {
        match self {
            Order::Id => Ok(Rank::Equal),
            Order::Datetime => {
                let time = item.datetime().ok_or_else(|| lacks_time(item))?;
                Ok(Rank::Number(time.timestamp_millis() as f64))
            }
            Order::Property(name) => match item.properties.get(name) {
                Some(Json::Number(number)) => Ok(Rank::Number(number.as_f64().unwrap_or(f64::NAN))),
                Some(Json::String(text)) => Ok(Rank::Text(text.clone())),
                None | Some(Json::Null) => {
                    Err(Failure::item(format!("`{}` has no property `{name}`, which is the order", item.id)))
                }
                Some(_) => Err(Failure::item(format!(
                    "property `{name}` of `{}`, which is the order, is neither a number nor a text",
                    item.id
                ))),
            },
        }
    }
}

fn lacks_time(item: &Item) -> Failure {
    Failure::item(format!("`{}` has neither `datetime` nor `start_datetime`", item.id))
}
