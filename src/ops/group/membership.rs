//! Members put together: one item a group, in an order that does not depend on how they were listed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::options::Rank;
use crate::contract::{AssetSet, Item, Lineage, Location, Payload, Properties};
use crate::raster::Tile;

/// An item on its way into groups.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The item.
    pub(super) item: Item,
    /// Its place among the members.
    pub(super) rank: Rank,
    /// The groups that it is in.
    pub(super) homes: Vec<Home>,
    /// Its key at every level inside, outermost first.
    pub(super) keys: Vec<String>,
}

/// One group.
#[derive(Clone, Debug)]
pub(super) enum Home {
    /// Of a name.
    Named(String),
    /// Of a tile.
    Tile(Tile),
}

impl Home {
    /// The name of the group; of tiles `row_column`.
    fn name(&self) -> String {
        match self {
            Home::Named(name) => name.clone(),
            Home::Tile(tile) => format!("{}_{}", tile.row, tile.col),
        }
    }

    /// Groups stand in the order of their names, tiles row by row.
    fn rank(&self) -> (i64, i64, &str) {
        match self {
            Home::Named(name) => (0, 0, name),
            Home::Tile(tile) => (tile.row, tile.col, ""),
        }
    }
}

/// The items of all groups.
pub(super) fn groups(mut members: Vec<Member>) -> Vec<Item> {
    members.sort_by(|one, other| one.rank.compare(&other.rank).then_with(|| one.item.id.cmp(&other.item.id)));
    let mut groups: BTreeMap<_, (&Home, Vec<&Member>)> = BTreeMap::new();
    for member in &members {
        for home in &member.homes {
            groups.entry(home.rank()).or_insert_with(|| (home, Vec::new())).1.push(member);
        }
    }
    groups.into_values().map(|(home, members)| group(home, &members)).collect()
}

fn group(home: &Home, members: &[&Member]) -> Item {
    let name = home.name();
    let sets = members.iter().flat_map(|member| sets_of(&member.item).iter().cloned());
    let mut lineage = Lineage {
        group: Some(name.clone()),
        levels: levels(members),
        inputs: inputs(members),
        identity: identity(members),
        folder: common_folder(members),
        ..Lineage::default()
    };
    if let Home::Tile(tile) = home {
        lineage.position = Some((tile.row, tile.col));
        lineage.grid = Some(Arc::new(tile.grid.clone()));
    }
    Item {
        id: name.into(),
        properties: Arc::new(common_properties(members)),
        payload: Payload::Assets(sets.collect()),
        lineage,
    }
}

fn sets_of(item: &Item) -> &[AssetSet] {
    match &item.payload {
        Payload::Assets(sets) => sets,
        _ => &[],
    }
}

/// For each level the key of every set of assets.
fn levels(members: &[&Member]) -> Vec<Vec<String>> {
    let depth = members.first().map_or(0, |member| member.keys.len());
    let level = |depth: usize| {
        let keys = members.iter().map(|member| (&member.keys[depth], sets_of(&member.item).len()));
        keys.flat_map(|(key, sets)| std::iter::repeat_n(key.clone(), sets)).collect()
    };
    (0..depth).map(level).collect()
}

fn inputs(members: &[&Member]) -> Arc<[Location]> {
    members.iter().flat_map(|member| member.item.lineage.inputs.iter().cloned()).collect()
}

/// What each member is and where it stands; in their order, on which results may depend.
fn identity(members: &[&Member]) -> String {
    let one = |member: &&Member| {
        let place: Vec<&str> =
            std::iter::once(member.item.id.as_str()).chain(member.keys.iter().map(String::as_str)).collect();
        format!("{}: {}", place.join(" in "), member.item.lineage.identity)
    };
    members.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// The folder of all members, or nothing where they differ.
fn common_folder(members: &[&Member]) -> String {
    let mut folders = members.iter().map(|member| &member.item.lineage.folder);
    let first = folders.next().cloned().unwrap_or_default();
    if folders.all(|folder| *folder == first) { first } else { String::new() }
}

/// What all members state alike, and the earliest time among them.
fn common_properties(members: &[&Member]) -> Properties {
    let mut properties = members.first().map(|member| (*member.item.properties).clone()).unwrap_or_default();
    properties
        .retain(|name, value| members.iter().all(|member| member.item.properties.get(name) == Some(value)));
    if let Some(earliest) = members.iter().filter_map(|member| member.item.datetime()).min() {
        properties.insert("datetime".into(), Json::from(earliest.to_rfc3339()));
    }
    properties
}
