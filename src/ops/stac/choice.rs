//! Which assets of a catalogue's items are taken, and under which names.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;

use crate::contract::{Asset, Item, Payload};
use crate::ops::listed::identity;

/// How one asset of an item is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// By its key.
    Key(String),
    /// By one of its `roles`.
    Role(String),
    /// By the name or the common name of one of its bands (`bands`, or `eo:bands` before STAC 1.1).
    Band(String),
}

impl Choice {
    fn chooses(&self, asset: &Asset) -> bool {
        match self {
            Choice::Key(key) => asset.name == *key,
            Choice::Role(role) => list(asset, "roles").any(|own| own == role.as_str()),
            Choice::Band(name) => {
                let bands = list(asset, "bands").chain(list(asset, "eo:bands"));
                let has_name = |band: &Json| {
                    ["name", "common_name", "eo:common_name"].iter().any(|key| band[*key] == name.as_str())
                };
                bands.into_iter().any(has_name)
            }
        }
    }
}

fn list<'a>(asset: &'a Asset, key: &str) -> impl Iterator<Item = &'a Json> {
    asset.metadata.get(key).and_then(Json::as_array).into_iter().flatten()
}

/// What becomes of the assets of every item.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    /// The place among the alternates of an asset that is taken where it has one of this name.
    pub(super) alternate: Option<String>,
    /// The assets that are taken, by their new names; `None` for all as they are.
    pub(super) choices: Option<Vec<(String, Choice)>>,
}

impl Selection {
    /// The item with the assets that are taken of it.
    pub(super) fn of(&self, item: Item) -> Item {
        let Payload::Assets(sets) = &item.payload else { return item };
        if self.alternate.is_none() && self.choices.is_none() {
            return item;
        }
        let mut sets = sets.clone();
        for set in &mut sets {
            if let Some(name) = &self.alternate {
                set.assets.iter_mut().for_each(|asset| take_alternate(asset, name));
            }
            if let Some(choices) = &self.choices {
                set.assets = chosen(&set.assets, choices);
            }
        }
        let mut lineage = item.lineage;
        let all: Vec<_> = sets.iter().flat_map(|set| set.assets.iter().cloned()).collect();
        // Its collection and id stand in the first line.
        let own = lineage.identity.lines().next().unwrap_or_default();
        lineage.identity = format!("{own}\n{}", identity(&all));
        if let Some(first) = all.first() {
            (lineage.stem, lineage.folder) = (first.location.stem(), first.location.folder());
        }
        Item { lineage, payload: Payload::Assets(sets), ..item }
    }
}

/// Takes the place that the extension for alternate assets names (<https://github.com/stac-extensions/alternate-assets>).
fn take_alternate(asset: &mut Asset, name: &str) {
    let href = asset.metadata.get("alternate").and_then(|places| places.get(name)?.get("href")?.as_str());
    if let Some(place) = href.and_then(|href| asset.location.join(href).ok()) {
        asset.location = place;
    }
}

/// The chosen assets under their new names, each the first that its choice fits; what no choice fits is left out, and is
/// told where a stage asks for it.
pub(super) fn chosen(assets: &[Asset], choices: &[(String, Choice)]) -> Vec<Asset> {
    let of = |(name, choice): &(String, Choice)| {
        let asset = assets.iter().find(|asset| choice.chooses(asset))?;
        Some(Asset { name: name.clone(), ..asset.clone() })
    };
    choices.iter().filter_map(of).collect()
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ChoiceVisitor;

        impl<'de> Visitor<'de> for ChoiceVisitor {
            type Value = Choice;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the key of an asset, `{ role = \"…\" }` or `{ band = \"…\" }`")
            }

            fn visit_str<E>(self, key: &str) -> Result<Choice, E> {
                Ok(Choice::Key(key.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Choice, A::Error> {
                let mut choice = None;
                while let Some((by, name)) = map.next_entry::<String, String>()? {
                    choice = match (by.as_str(), choice) {
                        (_, Some(_)) => return Err(de::Error::custom("an asset is chosen by one thing")),
                        ("role", None) => Some(Choice::Role(name)),
                        ("band", None) => Some(Choice::Band(name)),
                        (other, None) => return Err(de::Error::unknown_field(other, &["role", "band"])),
                    };
                }
                choice.ok_or_else(|| de::Error::custom("an asset is chosen by its `role` or a `band`"))
            }
        }

        from.deserialize_any(ChoiceVisitor)
    }
}

impl JsonSchema for Choice {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AssetChoice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "minLength": 1, "description": "The key of the asset." },
                {
                    "type": "object",
                    "description": "What the asset has: a `role`, or a `band` of that name or common name.",
                    "properties": {
                        "role": { "type": "string", "minLength": 1, "description": "One of its roles, for example `data`." },
                        "band": {
                            "type": "string",
                            "minLength": 1,
                            "description": "The name or the common name of one of its bands, for example `nir`."
                        },
                    },
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1,
                },
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::contract::Location;
    use crate::ops::listed;

    fn asset(name: &str, metadata: &Json) -> Asset {
        let location = Location::parse(&format!("{name}.tif"), Path::new("/")).expect("a path");
        let metadata = metadata.as_object().expect("an object").clone().into();
        Asset { metadata, ..listed::asset(name.to_owned(), location) }
    }

    #[test]
    fn assets_are_chosen_by_key_role_and_band() {
        let assets = [
            asset(
                "B04",
                &json!({ "roles": ["data"], "eo:bands": [{ "name": "B04", "common_name": "red" }] }),
            ),
            asset(
                "B08",
                &json!({ "roles": ["data"], "bands": [{ "name": "B08", "eo:common_name": "nir" }] }),
            ),
            asset("scl", &json!({ "roles": ["mask", "data"] })),
        ];
        let choices = [
            ("r", Choice::Band("red".into())),
            ("n", Choice::Band("nir".into())),
            ("same", Choice::Band("B08".into())),
            ("mask", Choice::Role("mask".into())),
            ("first", Choice::Role("data".into())),
            ("scl", Choice::Key("scl".into())),
            ("none", Choice::Key("B12".into())),
        ];
        let choices = choices.map(|(name, choice)| (name.to_owned(), choice));
        let chosen = chosen(&assets, &choices);
        let found: Vec<_> = chosen.iter().map(|asset| format!("{}={}", asset.name, asset.location)).collect();
        let expected =
            ["r=/B04.tif", "n=/B08.tif", "same=/B08.tif", "mask=/scl.tif", "first=/B04.tif", "scl=/scl.tif"];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_alternate_place_is_taken_where_there_is_one() {
        let document = json!({
            "id": "i", "collection": "c",
            "assets": {
                "red": { "href": "https://h.example/r.tif", "alternate": { "s3": { "href": "s3://b/r.tif" } } },
                "nir": { "href": "https://h.example/n.tif" },
            },
        });
        let base = Location::parse("https://h.example/i.json", Path::new("/")).expect("an address");
        let (_, item) = super::super::item::item_of(&document, &base).expect("an item");
        let selection = Selection { alternate: Some("s3".into()), choices: None };
        assert_eq!(selection.of(item).lineage.identity, "c/i\nred=s3://b/r.tif\nnir=https://h.example/n.tif");
    }
}
