//! `glob`: items from the files that patterns match.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::file_pattern::{FilePattern, Named};
use super::listed::{Listed, ONLY_ASSET, OnDuplicate, deduplicated};
use crate::config::{Fault, OneOrMany, Spanned, Value, from_value};
use crate::contract::{
    Environment, Failure, Item, Kind, Location, Op, OpEntry, Port, Properties, Shape, Source, SourceContext,
    Take,
};
use crate::remote::off_loop;

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
    /// Patterns of files, relative to the pipeline's folder. `*` and `?` stand for characters of one name, `[ab]` for one
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
    patterns: Vec<FilePattern>,
    on_duplicate: OnDuplicate,
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
        Ok(Arc::new(Glob { patterns, on_duplicate: options.on_duplicate }))
    } else {
        Err(faults)
    }
}

impl Op for Glob {
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

impl Source for Glob {
    fn list(&self, _: SourceContext) -> BoxStream<'static, Result<Item, Failure>> {
        let (patterns, on_duplicate) = (self.patterns.clone(), self.on_duplicate);
        let found = off_loop(move || find(&patterns, on_duplicate));
        let items = async move {
            match found.await {
                Ok(items) => stream::iter(items).map(Ok).boxed(),
                Err(failure) => stream::iter([Err(failure)]).boxed(),
            }
        };
        stream::once(items)
            .flatten()
            .then(|listed| async move {
                let listed: Listed = listed?;
                Ok(off_loop(move || listed.into_item()).await)
            })
            .boxed()
    }
}

/// The items of all patterns.
fn find(patterns: &[FilePattern], on_duplicate: OnDuplicate) -> Result<Vec<Listed>, Failure> {
    let mut files = BTreeMap::new();
    for pattern in patterns {
        for path in pattern.files()? {
            files.entry(path).or_insert(pattern);
        }
    }
    if files.is_empty() {
        let texts: Vec<_> = patterns.iter().map(|pattern| format!("`{}`", pattern.shown())).collect();
        return Err(Failure::fatal(format!("no file matches {}", texts.join(" or "))));
    }
    deduplicated(together(files, on_duplicate)?, on_duplicate)
}

/// Files that name one id and different assets are one item; its place is that of its first file.
fn together(
    files: BTreeMap<PathBuf, &FilePattern>,
    on_duplicate: OnDuplicate,
) -> Result<Vec<Listed>, Failure> {
    let mut items: Vec<Listed> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (path, pattern) in files {
        let Some(named) = pattern.take_apart(&path) else { continue };
        let place = places.get(&named.id).copied().filter(|_| named.asset.is_some());
        let Some(place) = place else {
            places.insert(named.id.clone(), items.len());
            items.push(named.into_listed(path));
            continue;
        };
        let (assets, asset) = (&mut items[place].assets, named.asset.unwrap_or_default());
        match assets.iter().find(|(name, _)| *name == asset) {
            None => assets.push((asset, Location::Local(path))),
            Some(_) if on_duplicate == OnDuplicate::First => {}
            Some((_, first)) => {
                return Err(Failure::fatal(format!(
                    "item `{}` has two files for its asset `{asset}`: `{first}` and `{}`",
                    named.id,
                    path.display()
                )));
            }
        }
    }
    Ok(items)
}

impl Named {
    fn into_listed(self, path: PathBuf) -> Listed {
        let asset = self.asset.unwrap_or_else(|| ONLY_ASSET.to_owned());
        Listed {
            id: self.id,
            assets: vec![(asset, Location::Local(path))],
            properties: Properties::new(),
            folder: Some(self.folder),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::contract::Payload;
    use crate::ops::testing::{compile_in, listed};

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
