//! `fetch` against a server on loopback, with a small tiled TIFF made by hand.

mod whole;

use std::ops::Range;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::config::parse;
use crate::contract::{
    Asset, AssetNeed, AssetSet, Blob, Commits, Content, Intended, Lineage, Location, Properties, SharedFiles,
};
use crate::raster::Window;
use crate::remote::scripted::{Reply, Scripted, Seen};
use crate::remote::{AccessRules, Client, ClientOptions, RetryPolicy, StageSettings, parse_raster_header};
use crate::resources::Bytes;

struct NoCommits;

impl Commits for NoCommits {
    fn claim(&self, _: &str) -> Result<(), Failure> {
        Ok(())
    }

    fn owns(&self, _: &str, _: u64) -> bool {
        false
    }

    fn announce<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<(), Failure>> {
        async { Ok(()) }.boxed()
    }

    fn intend<'a>(&'a self, _: Intended<'a>) -> BoxFuture<'a, Result<(), Failure>> {
        async { Ok(()) }.boxed()
    }

    fn committed<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        async { Ok(()) }.boxed()
    }

    fn gone<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<(), Failure>> {
        async { Ok(()) }.boxed()
    }

    fn fingerprint(&self) -> Option<String> {
        None
    }
}

const TILES: [u32; 4] = [100_000, 200_000, 300_000, 400_000];

/// A TIFF of 2 × 2 tiles of 16 × 16 bytes, far apart; each byte of tile n is n.
fn tiff() -> Vec<u8> {
    let entries: [(u16, u16, u32, u32); 10] = [
        (256, 3, 1, 32),
        (257, 3, 1, 32),
        (258, 3, 1, 8),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (277, 3, 1, 1),
        (322, 3, 1, 16),
        (323, 3, 1, 16),
        (324, 4, 4, 200),
        (325, 4, 4, 220),
    ];
    let mut file = b"II*\0\x08\0\0\0\x0a\0".to_vec();
    for (tag, kind, count, value) in entries {
        file.extend(tag.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend(count.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file.resize(200, 0);
    file.extend(TILES.iter().flat_map(|offset| offset.to_le_bytes()));
    file.resize(220, 0);
    file.extend([256u32; 4].iter().flat_map(|size| size.to_le_bytes()));
    for (tile, offset) in TILES.iter().enumerate() {
        file.resize(*offset as usize, 0xff);
        file.extend([tile as u8; 256]);
    }
    file
}

fn op(options: &str) -> Arc<dyn Transfer> {
    let (value, faults) = parse(options);
    assert_eq!(faults, []);
    let op = (ENTRY.compile)(&value, &Environment::default()).unwrap_or_else(|faults| panic!("{faults:?}"));
    let Kind::Transfer(transfer) = op.kind() else { panic!("a transfer") };
    transfer
}

fn asset(name: &str, location: Location) -> Asset {
    Asset { name: name.into(), location, size: None, version: None, metadata: Arc::default() }
}

fn item(assets: Vec<Asset>) -> Item {
    let properties: Arc<Properties> = Arc::default();
    let set = AssetSet { id: "a".into(), properties: Arc::clone(&properties), assets };
    Item { id: "a".into(), properties, lineage: Lineage::default(), payload: Payload::Assets(vec![set]) }
}

fn need(name: &str, col: u64, width: u64) -> AssetNeed {
    let window = Window { col, row: 0, width, height: 16 };
    AssetNeed { member: 0, name: name.into(), bands: vec![1], window, overview: None }
}

fn context(needs: Option<Vec<AssetNeed>>, scratch: &Path) -> TransferContext {
    let retry = RetryPolicy { first_delay: std::time::Duration::from_millis(1), ..RetryPolicy::default() };
    let client = Client::new(ClientOptions::default(), AccessRules::default(), Some(parse_raster_header()));
    let memory = Bytes::new("memory".into(), 1 << 20);
    TransferContext {
        stage: "fetched".into(),
        item: "a".into(),
        client: client.for_stage(StageSettings { retry, ..StageSettings::default() }),
        cancel: CancellationToken::default(),
        wanted: Arc::new([]),
        needs: needs.map(Into::into),
        input: Arc::default(),
        output: Arc::default(),
        memory: memory.overdraw(0),
        scratch: scratch.to_owned(),
        scratch_budget: Bytes::new("scratch".into(), 1 << 20),
        commits: Arc::new(NoCommits),
        cores: 1,
        gdal_cache: 0,
    }
}

async fn fetch(options: &str, item: Item, context: &TransferContext) -> Result<Vec<Blob>, Failure> {
    let item = op(options).transfer(item, context.clone()).await?.expect("an item");
    let Payload::Blobs(mut sets) = item.payload else { panic!("blobs") };
    Ok(sets.remove(0).blobs)
}

fn segments(blob: &Blob) -> Vec<Range<u64>> {
    let Content::Memory(bytes) = &blob.content else { panic!("in memory") };
    bytes.segments.iter().map(|(at, bytes)| *at..at + bytes.len() as u64).collect()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

async fn server_of_tiff() -> (Scripted, Item) {
    let file = tiff();
    let server = Scripted::serve(move |seen: &Seen| Reply::part(seen, &file, "\"a\"")).await;
    let item = item(vec![asset("data", Location::Remote(server.url("/a.tif")))]);
    (server, item)
}

#[tokio::test]
async fn only_the_blocks_of_the_window_move() {
    let (server, item) = server_of_tiff().await;
    let folder = folder();
    let context = context(Some(vec![need("data", 16, 16)]), folder.path());
    let blobs = fetch("", item, &context).await.expect("two ranges");
    assert_eq!(segments(&blobs[0]), [0..16384, 200_000..200_256]);
    let ranges: Vec<_> =
        server.seen().iter().map(|seen| seen.header("range").unwrap_or("none").to_owned()).collect();
    assert_eq!(ranges, ["bytes=0-16383", "bytes=200000-200255"]);
}

#[tokio::test]
async fn the_header_is_read_once_for_many_windows() {
    let (server, item) = server_of_tiff().await;
    let folder = folder();
    let mut context = context(None, folder.path());
    for col in [0, 16] {
        context.needs = Some(Arc::new([need("data", col, 16)]));
        fetch("mode = 'ranges'", item.clone(), &context).await.expect("a range");
    }
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn whole_files_move_where_whole_files_are_needed() {
    for (options, needs) in [("", None), ("mode = 'whole'", Some(vec![need("data", 0, 16)]))] {
        let (server, item) = server_of_tiff().await;
        let folder = folder();
        let context = context(needs, folder.path());
        let blobs = fetch(options, item, &context).await.expect("a file");
        assert_eq!(segments(&blobs[0]), vec![0..400_256]);
        assert_eq!(server.seen().len(), 1, "{options}");
        assert_eq!(context.memory.bytes(), 400_256, "the unforeseen bytes are an overdraft");
    }
}

#[tokio::test]
async fn a_file_above_the_budget_is_refused() {
    let server = Scripted::serve(|_| Reply::new(200, vec![0; (1 << 20) + 1])).await;
    let folder = folder();
    let item = item(vec![asset("data", Location::Remote(server.url("/a.tif")))]);
    let failure = fetch("", item, &context(None, folder.path())).await.expect_err("too large");
    assert!(
        failure.message.contains("1048577 bytes, more than the 1048576 bytes of the memory budget"),
        "{failure}"
    );
}

#[tokio::test]
async fn a_file_that_changes_is_read_again_as_a_whole() {
    let (before, mut after) = (tiff(), tiff());
    after[200_000] = 9;
    let expected = after.clone();
    let server = Scripted::serve(move |seen: &Seen| match seen.before {
        0 => Reply::part(seen, &before, "\"a\""),
        _ => Reply::part(seen, &after, "\"b\""),
    })
    .await;
    let folder = folder();
    let item = item(vec![asset("data", Location::Remote(server.url("/a.tif")))]);
    let blobs =
        fetch("", item, &context(Some(vec![need("data", 16, 16)]), folder.path())).await.expect("a file");
    let Content::Memory(bytes) = &blobs[0].content else { panic!("in memory") };
    assert_eq!((bytes.segments[0].1.as_ref(), server.seen().len()), (expected.as_slice(), 3));
}

#[tokio::test]
async fn only_what_is_read_moves_and_local_files_stay_where_they_are() {
    let (server, _) = server_of_tiff().await;
    let local = Location::Local("/data/b.tif".into());
    let item = item(vec![
        asset("unread", Location::Remote(server.url("/no.tif"))),
        asset("local", local),
        asset("red", Location::Remote(server.url("/red.tif"))),
    ]);
    let folder = folder();
    let context = context(Some(vec![need("local", 0, 16), need("red", 0, 16)]), folder.path());
    let blobs = fetch("", item, &context).await.expect("two files");
    let names: Vec<_> = blobs.iter().map(|blob| blob.asset.name.as_str()).collect();
    assert_eq!(names, ["local", "red"]);
    assert!(matches!(&blobs[0].content, Content::Local(path) if path == Path::new("/data/b.tif")));
    assert!(server.seen().iter().all(|seen| seen.path == "/red.tif"));
}

#[tokio::test]
async fn windows_of_one_parent_share_a_whole_file_on_scratch() {
    let file = tiff();
    let server = Scripted::serve(move |_| Reply::new(200, file.as_slice())).await;
    let folder = folder();
    let mut item = item(vec![asset("data", Location::Remote(server.url("/a.tif")))]);
    item.lineage.shared = Some(SharedFiles::default());
    let context = context(Some(vec![need("data", 0, 16)]), folder.path());
    for _ in 0..3 {
        let blobs = fetch("", item.clone(), &context).await.expect("a file");
        assert!(
            matches!(&blobs[0].content, Content::Scratch(file) if file.path.metadata().expect("there").len() == 400_256)
        );
    }
    assert_eq!((server.seen().len(), context.scratch_budget.used()), (2, 400_256), "a header and a body");
    drop(item);
    assert_eq!(
        (std::fs::read_dir(folder.path()).expect("there").count(), context.scratch_budget.used()),
        (0, 0)
    );
}

/// The item as a window of a parent.
fn window_of(item: &Item, shared: &SharedFiles, col: u64, width: u64) -> Item {
    let mut window = item.clone();
    window.lineage.shared = Some(shared.clone());
    window.lineage.window = Some(Window { col, row: 0, width, height: 16 });
    window
}

#[tokio::test]
async fn a_block_that_several_windows_need_moves_once() {
    let (server, item) = server_of_tiff().await;
    let (folder, shared) = (folder(), SharedFiles::default());
    let context = context(None, folder.path());
    let windows = [(0, 20), (8, 16), (20, 12)].map(|(col, width)| {
        let needs = Some(Arc::new([need("data", col, width)]) as Arc<[AssetNeed]>);
        let (window, context) =
            (window_of(&item, &shared, col, width), TransferContext { needs, ..context.clone() });
        async move { fetch("", window, &context).await.expect("blocks") }
    });
    let tiles = |blobs: Vec<Blob>| segments(&blobs[0]).split_off(1);
    let found: Vec<_> = futures::future::join_all(windows).await.into_iter().map(tiles).collect();
    let (first, second) = (100_000..100_256, 200_000..200_256);
    let both = vec![first.clone(), second.clone()];
    assert_eq!(found, [both.clone(), both, vec![second]]);
    assert_eq!(server.seen().len(), 3, "a header and two tiles");
    assert_eq!(context.scratch_budget.used(), 512);
    drop(shared);
    assert_eq!(context.scratch_budget.used(), 0, "it goes with the last window");
}

#[tokio::test]
async fn windows_of_whole_blocks_share_none_and_put_nothing_on_scratch() {
    let (server, item) = server_of_tiff().await;
    let (folder, shared) = (folder(), SharedFiles::default());
    let mut context = context(None, folder.path());
    for col in [0, 16] {
        context.needs = Some(Arc::new([need("data", col, 16)]));
        fetch("", window_of(&item, &shared, col, 16), &context).await.expect("a block");
    }
    assert_eq!((server.seen().len(), context.scratch_budget.used()), (3, 0));
}

#[tokio::test]
async fn what_moves_is_foreseen_from_the_header() {
    let (server, item) = server_of_tiff().await;
    let folder = folder();
    let context = context(None, folder.path());
    let head = context.client.head(&server.url("/a.tif")).await.expect("a header");
    let mut input = Shape::of_assets(&item);
    let asset = &mut input.assets[0];
    (asset.size, asset.header) = (head.version.size, head.header.clone());
    asset.prefix = Some(Arc::new(head.bytes.clone()));
    let held = |options: &str, needs: Option<Vec<AssetNeed>>| {
        let input = Shape { needs: needs.map(Into::into), ..input.clone() };
        let op = crate::ops::testing::compile_in(&ENTRY, options, Path::new("/"))
            .unwrap_or_else(|_| panic!("right"));
        op.shape(&input, &item).expect("a form").held
    };
    assert_eq!(held("", None), 400_256);
    assert_eq!(held("", Some(vec![need("data", 16, 16)])), 16_384 + 256);
    assert_eq!(held("mode = 'whole'", Some(vec![need("data", 16, 16)])), 400_256);
    assert_eq!(held("", Some(Vec::new())), 0, "no stage reads it");
}

#[tokio::test]
async fn a_failure_names_asset_address_and_status() {
    let server = Scripted::serve(|_| Reply::new(404, "")).await;
    let folder = folder();
    let item = item(vec![asset("red", Location::Remote(server.url("/a.tif?sig=secret")))]);
    let failure =
        fetch("", item, &context(Some(vec![need("red", 0, 16)]), folder.path())).await.expect_err("no file");
    assert_eq!(failure.message, format!("asset `red`: GET {} → 404 Not Found", server.url("/a.tif")));
}

#[tokio::test]
async fn an_unannounced_length_goes_to_scratch_up_to_its_cap() {
    let server = Scripted::serve(|_| Reply::new(200, b"II*\0 some bytes".as_slice()).chunked()).await;
    let folder = folder();
    let item = item(vec![asset("data", Location::Remote(server.url("/a.tif")))]);
    let context = context(None, folder.path());
    let blobs = fetch("", item.clone(), &context).await.expect("a file");
    assert!(matches!(&blobs[0].content, Content::Scratch(_)));
    assert_eq!((context.scratch_budget.used(), context.memory.bytes()), (15, 0));
    drop(blobs);
    assert!(fetch("max-unknown = '14 B'", item, &context).await.is_err());
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 0, "nothing stays");
}
