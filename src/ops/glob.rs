//! `glob`: items from the files that patterns match.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::stream::BoxStream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::file_pattern::{FilePattern, Named};
use super::listed::{Listed, Listing, OnDuplicate, deduplicated};
use crate::config::{Fault, OneOrMany, Spanned, Value, from_value};
use crate::contract::{
    Asset, Environment, Failure, Item, Kind, Op, OpEntry, Port, Properties, Shape, Source, SourceContext,
    Take,
};
use crate::remote::StageClient;

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "glob",
    summary: "Lists the files that patterns match, each an item, or several of them one.",
    accepts: &[],
    example: r#"{ paths = ["in/*.tif"] }"#,
    schema: |generator| generator.subschema_for::<GlobOptions>(),
    compile,
};

/// Lists the files that patterns match, in the order of their paths. Each file is an item whose id is the file's name
/// without its suffix, and whose asset is called `data`.
///
/// With `{id}` and `{asset}` in a pattern several files make one item: `in/{id}_{asset}.tif` takes `in/s1_red.tif` and
/// `in/s1_nir.tif` together as the assets `red` and `nir` of the item `s1`. Where a name can be divided in several
/// ways, the id is as long as possible.
///
/// A pattern that matches nothing is no fault as long as another one does; no file at all ends the run before any work.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct GlobOptions {
    /// Patterns of files, relative to the pipeline's folder, or of objects in a store: `s3://bucket/in/*.tif`, `gs://…`,
    /// `az://…`. `*` and `?` stand for characters of one name, `[ab]` for one
    /// of these, `**` for any number of folders; a name that begins with a dot is matched by a dot alone. `{id}` and
    /// `{asset}` match as `*` does and name the item and its asset; `{{` and `}}` are literal braces.
    #[schemars(length(min = 1))]
    paths: OneOrMany<Spanned<String>>,
    /// What is done about two files with one id, or two with one id and asset: `"error"` (the default) ends the run
    /// before any work and names both, `"first"` takes the first.
    #[serde(default)]
    on_duplicate: OnDuplicate,
}

struct Glob {
    patterns: Arc<[FilePattern]>,
    on_duplicate: OnDuplicate,
    listing: Arc<Listing>,
}

fn compile(value: &Value, environment: &Environment) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: GlobOptions = from_value(value)?;
    let (mut patterns, mut faults) = (Vec::new(), Vec::new());
    for text in options.paths.iter() {
        match FilePattern::new(text, &environment.folder) {
            Ok(pattern) => patterns.push(pattern),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() {
        let on_duplicate = options.on_duplicate;
        Ok(Arc::new(Glob { patterns: patterns.into(), on_duplicate, listing: Arc::default() }))
    } else {
        Err(faults)
    }
}

impl Op for Glob {
    fn gives(&self, _: Option<Port>) -> Port {
        Port::Asset
    }

    fn takes(&self) -> &'static [Take] {
        if self.patterns.iter().any(FilePattern::is_store) { &[Take::Connections] } else { &[] }
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

impl Source for Glob {
    fn list(&self, context: SourceContext) -> BoxStream<'static, Result<Item, Failure>> {
        let (patterns, on_duplicate) = (Arc::clone(&self.patterns), self.on_duplicate);
        self.listing.clone().items(async move { find(&patterns, on_duplicate, &context.client).await })
    }
}

/// The items of all patterns.
async fn find(
    patterns: &[FilePattern],
    on_duplicate: OnDuplicate,
    client: &StageClient,
) -> Result<Vec<Listed>, Failure> {
    let mut files = BTreeMap::new();
    for pattern in patterns {
        for (text, asset) in pattern.files(client).await? {
            files.entry(text).or_insert((asset, pattern));
        }
    }
    if files.is_empty() {
        let texts: Vec<_> = patterns.iter().map(|pattern| format!("`{}`", pattern.shown())).collect();
        return Err(Failure::bad_input(format!("no file matches {}", texts.join(" or "))));
    }
    deduplicated(together(files, on_duplicate)?, on_duplicate)
}

/// Files that name one id and different assets are one item; its place is that of its first file.
fn together(
    files: BTreeMap<String, (Asset, &FilePattern)>,
    on_duplicate: OnDuplicate,
) -> Result<Vec<Listed>, Failure> {
    let mut items: Vec<Listed> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (text, (mut asset, pattern)) in files {
        let Some(Named { id, asset: name, folder }) = pattern.take_apart(&text) else { continue };
        let place = places.get(&id).copied().filter(|_| name.is_some());
        asset.name = name.unwrap_or(asset.name);
        let Some(place) = place else {
            places.insert(id.clone(), items.len());
            let (assets, folder) = (vec![asset], Some(folder));
            items.push(Listed { id, assets, properties: Properties::new(), folder });
            continue;
        };
        let assets = &mut items[place].assets;
        match assets.iter().find(|other| other.name == asset.name) {
            None => assets.push(asset),
            Some(_) if on_duplicate == OnDuplicate::First => {}
            Some(first) => {
                let (name, first, second) = (&asset.name, &first.location, &asset.location);
                let message =
                    format!("item `{id}` has two files for its asset `{name}`: `{first}` and `{second}`");
                return Err(Failure::bad_input(message));
            }
        }
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use futures::TryStreamExt;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::contract::Payload;
    use crate::ops::testing::{compile_in, listed};
    use crate::remote::scripted::{Reply, Scripted};
    use crate::remote::{AccessOptions, AccessRule, AccessRules, Client, ClientOptions, StageSettings};

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("made");
            std::fs::write(path, b"x").expect("written");
        }
        folder
    }

    fn op(options: &str, folder: &Path) -> Result<Arc<dyn Op>, Vec<Fault>> {
        compile_in(&ENTRY, options, folder)
    }

    async fn list(options: &str, folder: &Path) -> Result<Vec<Item>, Failure> {
        listed(&ENTRY, options, folder).await
    }

    /// (id, folder, assets) of each item.
    async fn summary(options: &str, folder: &Path) -> Vec<(String, String, Vec<String>)> {
        let items = list(options, folder).await.expect("some files");
        items
            .into_iter()
            .map(|item| {
                let Payload::Assets(sets) = &item.payload else { panic!("assets") };
                let names = sets[0].assets.iter().map(|asset| asset.name.clone()).collect();
                (item.id.to_string(), item.lineage.folder, names)
            })
            .collect()
    }

    fn line(id: &str, folder: &str, assets: &[&str]) -> (String, String, Vec<String>) {
        (id.into(), folder.into(), assets.iter().map(|name| (*name).into()).collect())
    }

    #[tokio::test]
    async fn files_are_items_in_the_order_of_their_paths() {
        let folder = folder(&["in/b.tif", "in/a.v1.tif", "in/.hidden.tif", "in/c.txt", "in/sub/d.tif"]);
        let expected = [line("a.v1", "", &["data"]), line("b", "", &["data"])];
        assert_eq!(summary("paths = 'in/*.tif'", folder.path()).await, expected);
        let expected = [line("a.v1", "", &["data"]), line("b", "", &["data"]), line("d", "sub", &["data"])];
        assert_eq!(summary("paths = ['in/**/*.tif', 'in/a*.tif']", folder.path()).await, expected);
    }

    #[tokio::test]
    async fn several_files_make_one_item() {
        let folder = folder(&["in/s_1_red.tif", "in/s_1_nir.tif", "in/s_2_red.tif", "in/x.tif"]);
        let expected = [line("s_1", "", &["nir", "red"]), line("s_2", "", &["red"])];
        assert_eq!(summary("paths = ['in/{id}_{asset}.tif']", folder.path()).await, expected);
    }

    #[tokio::test]
    async fn a_name_that_stands_twice_has_one_value() {
        let folder = folder(&["in/s1/s1_red.tif", "in/s1/s2_red.tif"]);
        assert_eq!(
            summary("paths = ['in/{id}/{id}_{asset}.tif']", folder.path()).await,
            [line("s1", "s1", &["red"])]
        );
    }

    #[tokio::test]
    async fn odd_names_are_found() {
        let folder = folder(&["in/a b#c%20{d}[e].tif", "in/é中.tif", "in/-x.tif"]);
        let expected =
            [line("-x", "", &["data"]), line("a b#c%20{d}[e]", "", &["data"]), line("é中", "", &["data"])];
        assert_eq!(summary("paths = 'in/*.tif'", folder.path()).await, expected);
        let expected = [line("a b#c%20{d}[e]", "", &["data"])];
        assert_eq!(summary("paths = 'in/*{{d}}[[]e[]].tif'", folder.path()).await, expected);
    }

    #[tokio::test]
    async fn objects_of_a_store_are_matched_by_their_decoded_keys() {
        let object = |key: &str| {
            format!(
                "<Contents><Key>{key}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified><ETag>\"e\"</ETag><Size>7</Size></Contents>"
            )
        };
        let keys = ["in/a b.tif", "in/c.txt", "in/sub/d.tif"].map(object).concat();
        let server = Scripted::serve(move |_| {
            Reply::new(
                200,
                format!("<ListBucketResult><IsTruncated>false</IsTruncated>{keys}</ListBucketResult>"),
            )
        })
        .await;
        let access = AccessOptions {
            endpoint: Some(server.url("").into()),
            anonymous: true,
            ..AccessOptions::default()
        };
        let rule =
            AccessRule::new(&Spanned::new("s3://tiles".into(), 0..0), &access, &(0..0)).expect("a rule");
        let client = Client::new(ClientOptions::default(), AccessRules::new(vec![rule]), None);
        let Kind::Source(source) =
            op("paths = 's3://tiles/in/{id}.tif'", Path::new("/")).expect("right").kind()
        else {
            panic!("a source")
        };
        let (client, cancel) = (client.for_stage(StageSettings::default()), CancellationToken::default());
        let context = SourceContext { stage: "in".into(), client, cancel };
        let items: Vec<_> = source.list(context).try_collect().await.expect("one object");
        let seen: Vec<_> =
            items.iter().map(|item| (item.id.as_str(), item.lineage.identity.as_str())).collect();
        assert_eq!(seen, [("a b", "data=s3://tiles/in/a%20b.tif size=7 version=\"e\"")]);
        assert!(server.seen()[0].path.contains("prefix=in%2F"));
    }

    #[tokio::test]
    async fn no_file_at_all_is_fatal() {
        let folder = folder(&["in/a.tif"]);
        let failure = list("paths = ['in/*.jp2']", folder.path()).await.expect_err("nothing matches");
        assert_eq!(failure.class, crate::events::FailureClass::Fatal);
        assert!(
            failure.message.starts_with("no file matches `") && failure.message.ends_with("/in/*.jp2`"),
            "{failure}"
        );
    }

    #[tokio::test]
    async fn two_files_with_one_id_are_refused_and_named() {
        let folder = folder(&["1/a.tif", "2/a.tif"]);
        let failure = list("paths = ['*/a.tif']", folder.path()).await.expect_err("one id");
        assert!(failure.message.contains("1/a.tif") && failure.message.contains("2/a.tif"), "{failure}");
        assert_eq!(
            summary("paths = ['*/a.tif']\non-duplicate = 'first'", folder.path()).await,
            [line("a", "1", &["data"])]
        );
        let failure = list("paths = ['{id}.tif', '*/{id}.tif']", folder.path()).await.expect_err("one id");
        assert!(failure.message.contains("two items have the id `a`"), "{failure}");
    }

    #[test]
    fn a_wrong_pattern_is_a_fault() {
        for options in [
            "paths = ['in/***']",
            "paths = ['in/{idd}.tif']",
            "paths = ['in/{asset}.tif']",
            "paths = ['in/{']",
            "paths = ['s3://*/a.tif']",
        ] {
            let faults = op(options, Path::new("/")).err().expect(options);
            assert_eq!((faults.len(), faults[0].code), (1, "bad-pattern"), "{options}");
        }
    }

    #[test]
    fn the_example_is_right() {
        let example = ENTRY.example.trim_matches(['{', '}', ' ']);
        assert!(op(example, Path::new("/")).is_ok());
    }
}
