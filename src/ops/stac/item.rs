//! Items of a catalogue as items that flow.
//!
//! Documents are read as JSON and kept as they are given, so that one malformed item fails alone.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::contract::{Asset, AssetSet, Item, Lineage, Location, Payload, Properties};
use crate::ops::listed::identity;

/// What tells an item of a catalogue from all others: its collection and its id.
pub(super) type Key = (String, String);

/// An item of a document that was read from `base`.
pub(super) fn item_of(document: &Json, base: &Location) -> Result<(Key, Item), String> {
    let id = document.get("id").and_then(Json::as_str).filter(|id| !id.is_empty());
    let id = id.ok_or("it holds an item without an `id`")?.to_owned();
    let collection = document.get("collection").and_then(Json::as_str).unwrap_or_default().to_owned();
    let properties = Arc::new(properties_of(document, &collection));
    let base = home(document, base);
    let updated = properties.get("updated").and_then(Json::as_str);
    let named = document.get("assets").and_then(Json::as_object).into_iter().flatten();
    let assets: Vec<_> = named.filter_map(|(name, asset)| asset_of(name, asset, &base, updated)).collect();
    let first = assets.first().map(|asset| &asset.location);
    let lineage = Lineage {
        identity: format!("{collection}/{id}\n{}", identity(&assets)),
        stem: first.map(Location::stem).unwrap_or_default(),
        folder: first.map(Location::folder).unwrap_or_default(),
        ..Lineage::default()
    };
    let set = AssetSet { id: id.clone(), properties: Arc::clone(&properties), assets };
    let item = Item { id: id.clone().into(), properties, lineage, payload: Payload::Assets(vec![set]) };
    Ok(((collection, id), item))
}

/// The item's properties, and its collection, box and geometry where they do not have such.
fn properties_of(document: &Json, collection: &str) -> Properties {
    let mut properties = document.get("properties").and_then(Json::as_object).cloned().unwrap_or_default();
    if !collection.is_empty() {
        properties.entry("collection").or_insert_with(|| collection.into());
    }
    for name in ["bbox", "geometry"] {
        if let Some(place) = document.get(name).filter(|place| !place.is_null()) {
            properties.entry(name).or_insert_with(|| place.clone());
        }
    }
    properties
}

/// What relative addresses of an item are relative to: the item's own address where a remote document states it, else
/// the document.
fn home(document: &Json, base: &Location) -> Location {
    let links = document.get("links").and_then(Json::as_array).into_iter().flatten();
    let own = links
        .filter(|link| link.get("rel").and_then(Json::as_str) == Some("self"))
        .find_map(|link| base.join(link.get("href")?.as_str()?).ok());
    match (base, own) {
        (Location::Remote(_), Some(own)) => own,
        _ => base.clone(),
    }
}

/// An asset; `None` for one whose address cannot be fetched, which is told when a stage asks for it.
fn asset_of(name: &str, asset: &Json, base: &Location, updated: Option<&str>) -> Option<Asset> {
    let href = asset.get("href").and_then(Json::as_str)?;
    let location = match base.join(href) {
        Ok(location) => location,
        Err(reason) => {
            tracing::debug!(asset = name, %reason, "asset left out");
            return None;
        }
    };
    let mut metadata = asset.as_object().cloned().unwrap_or_default();
    metadata.shift_remove("href");
    let version =
        metadata.get("file:checksum").or_else(|| metadata.get("updated")).and_then(Json::as_str).or(updated);
    Some(Asset {
        name: name.to_owned(),
        location,
        size: metadata.get("file:size").and_then(Json::as_u64),
        version: version.map(str::to_owned),
        metadata: Arc::new(metadata),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Location {
        Location::parse(text, Path::new("/")).expect(text)
    }

    fn assets(document: &Json, base: &str) -> Vec<String> {
        let (_, item) = item_of(document, &at(base)).expect("an item");
        let Payload::Assets(sets) = item.payload else { panic!("assets") };
        sets[0].assets.iter().map(|asset| format!("{}={}", asset.name, asset.location)).collect()
    }

    #[test]
    fn an_item_keeps_what_its_catalogue_says() {
        let document = json!({
            "type": "Feature", "id": "i1", "collection": "c",
            "properties": {"datetime": null, "start_datetime": "2024-01-01T00:00:00Z", "updated": "u"},
            "assets": {
                "red": {"href": "https://h.example/2024/r.tif?sig=x", "file:size": 7, "file:checksum": "12ab", "roles": ["data"]},
                "bad": {"href": "ftp://h.example/x"},
                "nir": {"href": "s3://b/n.tif"},
            },
        });
        let ((collection, id), item) = item_of(&document, &at("https://h.example/search")).expect("an item");
        assert_eq!(
            (collection.as_str(), id.as_str(), &item.properties["collection"]),
            ("c", "i1", &json!("c"))
        );
        assert_eq!(item.datetime().expect("its start").to_rfc3339(), "2024-01-01T00:00:00+00:00");
        let expected =
            "c/i1\nred=https://h.example/2024/r.tif size=7 version=12ab\nnir=s3://b/n.tif version=u";
        assert_eq!(
            (item.lineage.identity.as_str(), item.lineage.stem.as_str(), item.lineage.folder.as_str()),
            (expected, "r", "2024")
        );
        let Payload::Assets(sets) = &item.payload else { panic!("assets") };
        assert_eq!(sets[0].assets[0].metadata["roles"], json!(["data"]));
    }

    #[test]
    fn relative_addresses_are_found() {
        let plain = json!({"id": "i", "assets": {"a": {"href": "../x/a.tif"}}});
        assert_eq!(assets(&plain, "https://h.example/v1/search?token=1"), ["a=https://h.example/x/a.tif"]);
        assert_eq!(assets(&plain, "/data/cat/items.json"), ["a=/data/cat/../x/a.tif"]);
        let own = json!({"id": "i", "assets": {"a": {"href": "./a.tif"}}, "links": [{"rel": "self", "href": "https://s.example/c/i.json"}]});
        assert_eq!(assets(&own, "https://h.example/search"), ["a=https://s.example/c/a.tif"]);
        assert_eq!(assets(&own, "/data/i.json"), ["a=/data/a.tif"]);
    }

    #[test]
    fn a_remote_item_does_not_name_local_files() {
        let document =
            json!({"id": "i", "assets": {"a": {"href": "file:///etc/passwd"}, "b": {"href": "/etc/passwd"}}});
        assert_eq!(assets(&document, "https://h.example/i.json"), ["b=https://h.example/etc/passwd"]);
    }

    #[test]
    fn an_item_without_an_id_is_refused() {
        assert!(item_of(&json!({"assets": {}}), &at("/i.json")).is_err());
    }
}
