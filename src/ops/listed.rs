//! Items as a list or a folder names them: an id, named files, properties.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::OnceCell;

use crate::contract::{Asset, AssetSet, Failure, Item, Lineage, Location, Payload, Properties};
use crate::remote::off_loop;

/// The name of an item's only asset.
pub(super) const ONLY_ASSET: &str = "data";

/// One item before its files are looked at.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) id: String,
    /// Its files, in order; at least one. The state of those on this machine is looked at later.
    pub(super) assets: Vec<Asset>,
    pub(super) properties: Properties,
    /// `{folder}`, where it is not the name of the folder that holds the first file.
    pub(super) folder: Option<String>,
}

/// What is done about two items with one id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OnDuplicate {
    /// The pipeline is refused before any work, with both named.
    #[default]
    Error,
    /// The first one is taken and the others are dropped.
    First,
}

impl Listed {
    /// An item of these files; without an id it is named after the first.
    pub(super) fn new(
        id: Option<String>,
        files: Vec<(String, Location)>,
        properties: Properties,
    ) -> Result<Self, String> {
        let assets: Vec<_> = files.into_iter().map(|(name, location)| asset(name, location)).collect();
        let first = &assets.first().ok_or("it has no file")?.location;
        let id = id.unwrap_or_else(|| first.stem());
        if id.is_empty() {
            return Err(format!("`{first}` gives no id; name one"));
        }
        Ok(Self { id, assets, properties, folder: None })
    }

    /// The item.
    fn into_item(self) -> Item {
        let properties = Arc::new(self.properties);
        let assets = self.assets;
        let first = &assets[0].location;
        let lineage = Lineage {
            identity: identity(&assets),
            stem: first.stem(),
            folder: self.folder.unwrap_or_else(|| first.folder()),
            ..Lineage::default()
        };
        let set = AssetSet { id: self.id.clone(), properties: Arc::clone(&properties), assets };
        Item { id: self.id.into(), properties, lineage, payload: Payload::Assets(vec![set]) }
    }
}

/// The items of a source that lists all at once. They are read and looked at the first time that anybody asks, so that what
/// was checked is what is run; a failure is not kept.
#[derive(Default)]
pub(super) struct Listing(OnceCell<Arc<[Listed]>>);

impl Listing {
    /// The items, in order. What `find` gives has each id once.
    pub(super) fn items<F>(self: Arc<Self>, find: F) -> BoxStream<'static, Result<Item, Failure>>
    where
        F: Future<Output = Result<Vec<Listed>, Failure>> + Send + 'static,
    {
        let listed = async move {
            let look = async {
                let found = find.await?;
                Ok::<_, Failure>(off_loop(move || looked_at_all(found)).await)
            };
            self.0.get_or_try_init(|| look).await.cloned()
        };
        let items =
            |listed: Arc<[Listed]>| (0..listed.len()).map(move |at| Ok(listed[at].clone().into_item()));
        stream::once(listed).map_ok(move |listed| stream::iter(items(listed))).try_flatten().boxed()
    }
}

/// Items with the size and time of those of their files that are on this machine. Blocks.
fn looked_at_all(items: Vec<Listed>) -> Arc<[Listed]> {
    let one = |item: Listed| Listed { assets: item.assets.into_iter().map(looked_at).collect(), ..item };
    items.into_iter().map(one).collect()
}

/// An asset of a location alone.
pub(super) fn asset(name: String, location: Location) -> Asset {
    Asset { name, location, size: None, version: None, metadata: Arc::default() }
}

/// The asset with size and time of a local file. One that is not there is told by the stage that reads it.
fn looked_at(asset: Asset) -> Asset {
    let Location::Local(path) = &asset.location else { return asset };
    let Ok(metadata) = std::fs::metadata(path) else { return asset };
    let version = chrono::DateTime::from_timestamp(metadata.mtime(), metadata.mtime_nsec() as u32)
        .map(|at| format!("mtime:{}", at.to_rfc3339_opts(chrono::SecondsFormat::Nanos, true)));
    Asset { size: Some(metadata.len()), version, ..asset }
}

/// Names, places and states of all assets.
pub(super) fn identity(assets: &[Asset]) -> String {
    let one = |asset: &Asset| {
        let location = asset.location.identity(asset.size, asset.version.as_deref());
        format!("{}={location}", asset.name)
    };
    assets.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// The places of the first two items with one id: (first, second).
pub(super) fn first_duplicate<'a>(ids: impl IntoIterator<Item = &'a str>) -> Option<(usize, usize)> {
    let mut seen = HashMap::new();
    ids.into_iter().enumerate().find_map(|(at, id)| seen.insert(id, at).map(|first| (first, at)))
}

/// Items without those whose id came before, or a failure that names the first two with one id.
pub(super) fn deduplicated(items: Vec<Listed>, on_duplicate: OnDuplicate) -> Result<Vec<Listed>, Failure> {
    if on_duplicate == OnDuplicate::First {
        let mut seen = std::collections::HashSet::new();
        return Ok(items.into_iter().filter(|item| seen.insert(item.id.clone())).collect());
    }
    match first_duplicate(items.iter().map(|item| item.id.as_str())) {
        None => Ok(items),
        Some((first, second)) => Err(Failure::bad_input(format!(
            "two items have the id `{}`: `{}` and `{}`; give them ids, or take the first with `on-duplicate = \"first\"`",
            items[first].id, items[first].assets[0].location, items[second].assets[0].location
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn listed(id: &str, path: &str) -> Listed {
        let location = Location::parse(path, Path::new("/")).expect("a path");
        let assets = vec![asset(ONLY_ASSET.to_owned(), location)];
        Listed { id: id.into(), assets, properties: Properties::new(), folder: None }
    }

    #[test]
    fn two_items_with_one_id_are_named_or_the_first_is_taken() {
        let items = vec![listed("a", "/1/a.tif"), listed("b", "/1/b.tif"), listed("a", "/2/a.tif")];
        let failure = deduplicated(items.clone(), OnDuplicate::Error).expect_err("two have one id");
        assert!(
            failure.message.starts_with("two items have the id `a`: `/1/a.tif` and `/2/a.tif`"),
            "{failure}"
        );
        let ids = |items: Vec<Listed>| items.into_iter().map(|item| item.id).collect::<Vec<_>>();
        assert_eq!(ids(deduplicated(items.clone(), OnDuplicate::First).expect("dropped")), ["a", "b"]);
        assert_eq!(
            ids(deduplicated(items[..2].to_vec(), OnDuplicate::Error).expect("different")),
            ["a", "b"]
        );
    }

    #[test]
    fn the_identity_follows_size_and_time_of_a_local_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.tif");
        let identity = || {
            let items = vec![listed("a", path.to_str().expect("text"))];
            looked_at_all(items)[0].clone().into_item().lineage.identity
        };
        let missing = identity();
        assert_eq!(missing, format!("data={}", path.display()));
        std::fs::write(&path, b"12345").expect("written");
        let five = identity();
        assert!(five.starts_with(&format!("{missing} size=5 version=mtime:")), "{five}");
        let file = std::fs::File::options().write(true).open(&path).expect("it is there");
        file.set_modified(std::time::UNIX_EPOCH).expect("set");
        assert_eq!(identity(), format!("{missing} size=5 version=mtime:1970-01-01T00:00:00.000000000Z"));
    }
}
