//! What is read of an item's files in the gate: the size of remote ones, the header of those that `read` opens.

use std::sync::Arc;

use futures::future::try_join_all;
use tokio::sync::Mutex;

use crate::contract::blocking;
use crate::contract::{Asset, AssetShape, Failure, Item, Location, Payload, Port, Shape};
use crate::engine::path::PathFailure;
use crate::engine::run::Shared;
use crate::plan::StagePlan;
use crate::raster::Header;

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
            if wish.headers {
                let head = client.head(url).await?;
                shape.size = head.version.size;
                shape.prefix = Some(Arc::new(head.bytes.clone()));
                shape.header.clone_from(&head.header);
            }
        }
        Location::Local(_) => {}
        Location::Remote(_) => shape.is_local = false,
    }
    Ok(shape)
}
