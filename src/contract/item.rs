//! What flows between stages.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::contract::{Port, SharedFiles};
use crate::ids::ItemId;
use crate::raster::{FileBytes, Grid, Raster, Window};

/// Properties of an item, as its source states them (STAC properties, columns of a list).
pub type Properties = serde_json::Map<String, serde_json::Value>;

/// One thing that flows: an id, what is known of it, and its payload. Cloning shares all bulk data.
#[derive(Clone, Debug)]
pub struct Item {
    /// Unique within the run; a window's is `parent/row/col`.
    pub id: ItemId,
    /// As the source states them.
    pub properties: Arc<Properties>,
    /// Where it came from.
    pub lineage: Lineage,
    /// What the next stage works on.
    pub payload: Payload,
}

/// Where an item came from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lineage {
    /// The item that a window was made of.
    pub parent: Option<ItemId>,
    /// The window's (row, column): counted from zero at its parent's first pixel, or from the origin of a named grid, where
    /// they can be below zero.
    pub position: Option<(i64, i64)>,
    /// The part of the path's last raster grid that this item is to become; `None` for all of it.
    pub window: Option<Window>,
    /// Columns × rows of the raster that `window` was counted in. Branches that end on other grids become the same part of
    /// the width and height of theirs.
    pub counted_in: Option<(u64, u64)>,
    /// How many pixels beyond each side of the window a program is given, where there are any.
    pub overlap: u64,
    /// Where the files lie that a program made of a window.
    pub placed: Option<Placed>,
    /// The named grid that the window is a part of, when `window` or `group` was given one.
    pub grid: Option<Arc<Grid>>,
    /// The name of the group.
    pub group: Option<String>,
    /// The inner levels of a group, outermost first: for each level the key of every member.
    pub levels: Vec<Vec<String>>,
    /// The files that it is made from, so that none of them is written over.
    pub inputs: Arc<[Location]>,
    /// The identity of the input as its listing gives it; the first link of the fingerprint.
    pub identity: String,
    /// The file name of the source, of its first asset, without folder and suffix: `{stem}`. Empty for a group.
    pub stem: String,
    /// `{folder}`: for `glob` the folders between the fixed part of the pattern and the file, else the name of the
    /// folder that holds it; without `/` at its ends, and empty where there is none.
    pub folder: String,
    /// What the windows of one parent share on scratch; `window` gives all of them the same. Stays in this process.
    #[serde(skip)]
    pub shared: Option<SharedFiles>,
}

/// Where the files lie that a program made of a window: on the pixels that it was given, or on the window's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// The grid of the raster that the window was cut from.
    pub grid: Arc<Grid>,
    /// The pixels that the program was given: the window with its overlap.
    pub given: Window,
    /// The window.
    pub own: Window,
}

impl Placed {
    /// Where an image of so many columns × rows lies; `None` if the program has made another size of it.
    pub fn of_size(&self, size: (u64, u64)) -> Option<Window> {
        [self.given, self.own].into_iter().find(|window| (window.width, window.height) == size)
    }
}

/// What a stage works on.
#[derive(Clone, Debug)]
pub enum Payload {
    /// References; one set a member, one member except for groups.
    Assets(Vec<AssetSet>),
    /// Bytes of those references.
    Blobs(Vec<BlobSet>),
    /// Pixels.
    Raster(Raster),
    /// Rows for tables.
    Rows(Vec<Row>),
    /// A complete file that is not yet written.
    Encoded(Encoded),
    /// Files, by name.
    Files(Vec<OutputFile>),
}

/// The named references of one member.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AssetSet {
    /// The id of the source item.
    pub id: String,
    /// Its properties.
    pub properties: Arc<Properties>,
    /// Its assets, in the order of the source.
    pub assets: Vec<Asset>,
}

/// A named reference to a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asset {
    /// The name by which stages ask for it; `data` where a source has one file an item.
    pub name: String,
    /// Where it is.
    pub location: Location,
    /// Size in bytes where the listing states it.
    pub size: Option<u64>,
    /// ETag, checksum or modification time where the listing states one.
    pub version: Option<String>,
    /// What the catalogue says of it (`roles`, `raster:bands`, `eo:bands`, `proj:…`); empty for plain files.
    pub metadata: Arc<Properties>,
}

/// Where a file is. Serialized with its query and so for worker processes alone, never for records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Location {
    /// On this machine; absolute.
    Local(PathBuf),
    /// Behind a URL: `http(s)://`, `s3://`, `gs://`, `az://`.
    Remote(url::Url),
}

/// The bytes of one member's assets.
#[derive(Clone, Debug)]
pub struct BlobSet {
    /// The id of the source item.
    pub id: String,
    /// Its properties.
    pub properties: Arc<Properties>,
    /// Its blobs, in the order of the assets.
    pub blobs: Vec<Blob>,
}

/// One asset and its bytes.
#[derive(Clone, Debug)]
pub struct Blob {
    /// What it was fetched from.
    pub asset: Asset,
    /// Where the bytes are now.
    pub content: Content,
}

/// Where bytes are.
#[derive(Clone, Debug)]
pub enum Content {
    /// A local file, passed through without a copy.
    Local(PathBuf),
    /// In memory, whole or the ranges that the item needs.
    Memory(Arc<FileBytes>),
    /// On scratch; the file goes with the last holder.
    Scratch(Arc<TemporaryFile>),
}

/// A file that is removed when its last holder drops it.
#[derive(Debug)]
pub struct TemporaryFile {
    /// Where it is.
    pub path: PathBuf,
    /// What pays for its disk space; given back after the file is gone.
    pub lease: Option<crate::resources::ByteLease>,
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.path.display(), %error, "temporary file stays");
        }
    }
}

/// A complete file that is not yet written.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// Its bytes.
    pub body: EncodedBody,
    /// The media type, `image/tiff; application=geotiff; profile=cloud-optimized` for a COG.
    pub media_type: &'static str,
}

/// Where an encoded file's bytes are.
#[derive(Clone, Debug)]
pub enum EncodedBody {
    /// In memory.
    Memory(Bytes),
    /// Put together on scratch.
    Scratch(Arc<TemporaryFile>),
}

/// A file on disk or in an object store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OutputFile {
    /// Its name among the item's files: the output's name of `exec`, `data` otherwise.
    pub name: String,
    /// Where it is.
    pub location: Location,
    /// Size in bytes.
    pub size: u64,
    /// Set for temporaries, which go with their last holder. Stays in this process.
    #[serde(skip)]
    pub temporary: Option<Arc<TemporaryFile>>,
}

/// One row of a table: (column, value) in column order; values are JSON scalars.
pub type Row = Vec<(String, serde_json::Value)>;

impl Item {
    /// An item that stands for the whole of a stage: the table under this name.
    pub fn placeholder(name: &str) -> Self {
        Self {
            id: name.into(),
            properties: Arc::default(),
            lineage: Lineage::default(),
            payload: Payload::Assets(Vec::new()),
        }
    }

    /// The acquisition time: `datetime`, or `start_datetime` where that is null; in UTC.
    pub fn datetime(&self) -> Option<DateTime<Utc>> {
        datetime_of(&self.properties)
    }

    /// The item that this window is a part of, its payload still lacking.
    #[must_use]
    pub fn parent(&self) -> Item {
        let lineage = Lineage { parent: None, position: None, window: None, ..self.lineage.clone() };
        let (id, properties) = (self.reported_id().clone(), self.properties.clone());
        Item { id, properties, lineage, payload: Payload::Rows(Vec::new()) }
    }

    /// The id of what this item counts as in reports: the parent of a window, else itself.
    pub fn reported_id(&self) -> &ItemId {
        self.lineage.parent.as_ref().unwrap_or(&self.id)
    }
}

/// The time that properties state: `datetime`, or `start_datetime` where that is null; in UTC.
pub(crate) fn datetime_of(properties: &Properties) -> Option<DateTime<Utc>> {
    ["datetime", "start_datetime"]
        .iter()
        .find_map(|key| properties.get(*key)?.as_str())
        .and_then(|text| DateTime::parse_from_rfc3339(text).ok())
        .map(|time| time.with_timezone(&Utc))
}

impl Payload {
    /// Bytes of memory that it holds.
    pub fn held(&self) -> u64 {
        match self {
            Payload::Assets(_) | Payload::Files(_) => 0,
            Payload::Blobs(sets) => {
                sets.iter().flat_map(|set| &set.blobs).map(|blob| blob.content.held()).sum()
            }
            Payload::Raster(raster) => raster.bytes(),
            Payload::Rows(rows) => rows.iter().map(|row| 64 * row.len() as u64).sum(),
            Payload::Encoded(encoded) => match &encoded.body {
                EncodedBody::Memory(bytes) => bytes.len() as u64,
                EncodedBody::Scratch(_) => 0,
            },
        }
    }

    /// The files that it refers to; addresses without their queries, where signatures stand.
    pub fn locations(&self) -> Arc<[Location]> {
        let Payload::Assets(sets) = self else { return Arc::default() };
        sets.iter().flat_map(|set| &set.assets).map(|asset| asset.location.without_query()).collect()
    }

    /// The port that carries it.
    pub fn port(&self) -> Port {
        match self {
            Payload::Assets(_) => Port::Asset,
            Payload::Blobs(_) => Port::Blob,
            Payload::Raster(_) => Port::Raster,
            Payload::Rows(_) => Port::Rows,
            Payload::Encoded(_) => Port::Encoded,
            Payload::Files(_) => Port::File,
        }
    }
}

impl Content {
    /// Bytes of memory that it holds.
    pub fn held(&self) -> u64 {
        match self {
            Content::Memory(bytes) => bytes.held(),
            Content::Local(_) | Content::Scratch(_) => 0,
        }
    }
}
