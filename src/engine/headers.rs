//! What is read of an item's files in the gate: the size of remote ones, the header of those that `read` opens.

use std::sync::Arc;

use futures::future::try_join_all;
use tokio::sync::Mutex;
use url::Url;

use crate::contract::blocking;
use crate::contract::{
    Asset, AssetShape, Failure, Item, Kind, Location, Payload, Port, Shape, SharedFiles, TemporaryFile,
    TransferContext,
};
use crate::engine::contexts;
use crate::engine::journey::Parcel;
use crate::engine::path::PathFailure;
use crate::engine::run::Shared;
use crate::plan::StagePlan;
use crate::raster::{Answer, Header, Source};
use crate::remote::redacted;

/// The form of an item's files, as far as the stages behind the gate ask for it.
///
/// # Errors
/// A file that is not there or not a raster, with the stage that would fail.
pub(crate) async fn read(shared: &Arc<Shared>, item: &Item, into: &[usize]) -> Result<Shape, PathFailure> {
    let Payload::Assets(sets) = &item.payload else { return Ok(Shape::default()) };
    let wish = Wish::of(&shared.plan.stages, into);
    let mut reads = Vec::new();
    for (member, set) in sets.iter().enumerate() {
        for asset in set.assets.iter().filter(|asset| wish.names(&asset.name) || set.assets.len() == 1) {
            reads.push(probe(shared, item, member, asset, &wish));
        }
    }
    let assets = try_join_all(reads).await.map_err(|failure| (wish.stage, failure))?;
    Ok(Shape { assets, ..Shape::default() })
}

/// The form of a parent's files. Those whose header is not known before their body are brought to scratch by the stage
/// that fetches, where the windows find them.
///
/// # Errors
/// As [`read`], and what fetching fails with.
pub(crate) async fn read_all(
    shared: &Arc<Shared>,
    parent: &Parcel,
    stage: usize,
) -> Result<Shape, PathFailure> {
    let files = read(shared, &parent.item, &[stage]).await?;
    let wish = Wish::of(&shared.plan.stages, &[stage]);
    let is_unknown = |file: &AssetShape| !file.is_local && file.header.is_none();
    if !wish.headers || !files.assets.iter().any(is_unknown) {
        return Ok(files);
    }
    let Kind::Transfer(fetch) = shared.plan.stages[wish.stage].op.clone().kind() else { return Ok(files) };
    let unknown = files.assets.iter().filter(|file| is_unknown(file)).cloned().collect();
    let context = TransferContext {
        input: Arc::new(Shape { assets: unknown, ..Shape::default() }),
        ..contexts::transfer(shared, wish.stage, parent, shared.stop.work())
    };
    let brought = fetch.transfer(parent.item.clone(), context).await;
    brought.map_err(|failure| (wish.stage, failure))?;
    read(shared, &parent.item, &[stage]).await
}

/// What the stages behind the gate want to know of which files.
struct Wish {
    /// The stage that makes the requests and is blamed for a file that cannot be read.
    stage: usize,
    is_blamed: bool,
    /// Whether a stage opens them as rasters.
    headers: bool,
    /// Whether a stage fetches them.
    sizes: bool,
    /// The assets asked for; `None` for all.
    assets: Option<Vec<String>>,
    /// Held while a local file is open: a group of many members would open as many at once.
    handle: Mutex<()>,
}

impl Wish {
    fn of(stages: &[StagePlan], into: &[usize]) -> Self {
        let mut wish = Self {
            stage: into[0],
            is_blamed: false,
            headers: false,
            sizes: false,
            assets: Some(Vec::new()),
            handle: Mutex::default(),
        };
        let mut ahead: Vec<usize> = into.to_vec();
        while let Some(index) = ahead.pop() {
            let stage = &stages[index];
            if stage.op.reads_headers() {
                wish.headers = true;
                wish.blame(index);
                wish.add(stage.op.reads_assets());
            } else if stage.gives == Port::Asset {
                ahead.extend(&stage.to);
            } else if stage.gives == Port::Blob {
                wish.sizes = true;
                wish.blame(index);
                ahead.extend(&stage.to);
                if stage.to.is_empty() {
                    wish.add(None);
                }
            } else {
                wish.add(stage.op.reads_assets());
            }
        }
        wish
    }

    /// The first stage that opens or fetches files makes their requests and is blamed for them.
    fn blame(&mut self, stage: usize) {
        if !self.is_blamed {
            (self.stage, self.is_blamed) = (stage, true);
        }
    }

    fn add(&mut self, names: Option<Vec<String>>) {
        match (&mut self.assets, names) {
            (Some(all), Some(names)) => all.extend(names),
            (all, None) => *all = None,
            (None, _) => {}
        }
    }

    fn names(&self, asset: &str) -> bool {
        self.assets.as_ref().is_none_or(|names| names.iter().any(|name| name == asset))
    }
}

async fn probe(
    shared: &Arc<Shared>,
    item: &Item,
    member: usize,
    asset: &Asset,
    wish: &Wish,
) -> Result<AssetShape, Failure> {
    let mut shape = AssetShape {
        member,
        name: asset.name.clone(),
        size: asset.size,
        is_local: true,
        header: None,
        prefix: None,
        foreseen: None,
        placed: None,
    };
    match &asset.location {
        Location::Local(path) if wish.headers => {
            let path = path.clone();
            let _handle = wish.handle.lock().await;
            let header = blocking::run(shared.stop.work(), (), move || {
                Header::of_file(&path).map_err(|error| Failure::item(error.to_string()))
            });
            shape.header = Some(Arc::new(header.await?));
        }
        Location::Remote(url) if wish.sizes => {
            let client = shared.client_of(wish.stage, &item.id);
            shape.is_local = false;
            if let Some(file) = brought(item, member, asset).filter(|_| wish.headers) {
                (shape.size, shape.header) = (None, Some(header_of(shared, file, url).await?));
            } else if wish.headers {
                let head = client.head(url).await?;
                shape.size = head.version.size;
                shape.prefix = Some(Arc::new(head.bytes.clone()));
                shape.header.clone_from(&head.header);
            } else if shape.size.is_none() {
                shape.size = client.size_of(url).await?;
            }
        }
        Location::Local(_) => {}
        Location::Remote(_) => shape.is_local = false,
    }
    Ok(shape)
}

/// The file on scratch that the windows of the item's parent share.
fn brought(item: &Item, member: usize, asset: &Asset) -> Option<Arc<TemporaryFile>> {
    item.lineage.shared.as_ref()?.get(&SharedFiles::name_of(member, &asset.name))
}

async fn header_of(
    shared: &Arc<Shared>,
    file: Arc<TemporaryFile>,
    url: &Url,
) -> Result<Arc<Header>, Failure> {
    let name = redacted(url);
    let header = blocking::run(shared.stop.work(), (), move || {
        let answer = Header::of_source(Source::Downloaded { path: &file.path, name: &name });
        match answer.map_err(|error| Failure::item(error.to_string()))? {
            Answer::Known(header) => Ok(header),
            Answer::Missing(_) => Err(Failure::item(format!("`{name}` ends before its header does"))),
        }
    });
    header.await.map(Arc::new)
}
