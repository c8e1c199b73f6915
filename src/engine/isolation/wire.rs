//! An item in a stream: a header without bulk data, then the bulk data in the order of the header.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::frame::{read_bytes, read_header, write_header};
use super::pixels::{read_mask, read_pixels, write_mask, write_pixels};
use crate::contract::{
    Asset, AssetSet, Blob, BlobSet, Content, Encoded, EncodedBody, Item, Lineage, OutputFile, Payload,
    Properties, Row, TemporaryFile,
};
use crate::ids::ItemId;
use crate::raster::{Band, BandDescription, DataType, FileBytes, Grid, Member, Raster, Validity, Window};

#[derive(Serialize, Deserialize)]
struct ItemHeader {
    id: ItemId,
    properties: Arc<Properties>,
    lineage: Lineage,
    payload: PayloadHeader,
}

#[derive(Serialize, Deserialize)]
enum PayloadHeader {
    Assets(Vec<AssetSet>),
    Blobs(Vec<BlobSetHeader>),
    Raster(Vec<MemberHeader>),
    Rows(Vec<Row>),
    Encoded { bytes: u64, media_type: String },
    Files(Vec<OutputFile>),
}

#[derive(Serialize, Deserialize)]
struct BlobSetHeader {
    id: String,
    properties: Arc<Properties>,
    blobs: Vec<(Asset, ContentHeader)>,
}

#[derive(Serialize, Deserialize)]
enum ContentHeader {
    Local(PathBuf),
    /// Segments as (offset, bytes).
    Memory {
        name: Arc<str>,
        size: u64,
        segments: Vec<(u64, u64)>,
    },
    Scratch(PathBuf),
}

#[derive(Serialize, Deserialize)]
struct MemberHeader {
    id: String,
    grid: Arc<Grid>,
    window: Window,
    tags: Arc<Vec<(String, String, String)>>,
    /// (rows, columns) of each mask; bands share them.
    masks: Vec<(usize, usize)>,
    bands: Vec<BandHeader>,
}

#[derive(Serialize, Deserialize)]
struct BandHeader {
    description: BandDescription,
    data_type: DataType,
    dim: (usize, usize),
    mask: Option<usize>,
}

/// Writes an item.
pub(super) fn write_item(out: &mut impl Write, item: &Item) -> io::Result<()> {
    let payload = PayloadHeader::of(&item.payload)?;
    let (properties, lineage) = (item.properties.clone(), item.lineage.clone());
    write_header(out, &ItemHeader { id: item.id.clone(), properties, lineage, payload })?;
    match &item.payload {
        Payload::Blobs(sets) => {
            let blobs = sets.iter().flat_map(|set| &set.blobs);
            blobs.flat_map(|blob| segments(&blob.content)).try_for_each(|(_, bytes)| out.write_all(bytes))
        }
        Payload::Raster(raster) => raster.members.iter().try_for_each(|member| write_member(out, member)),
        Payload::Encoded(Encoded { body: EncodedBody::Memory(bytes), .. }) => out.write_all(bytes),
        Payload::Encoded(_) | Payload::Assets(_) | Payload::Rows(_) | Payload::Files(_) => Ok(()),
    }
}

/// Reads an item. Files on scratch belong to the process that wrote them: see [`Lent`].
pub(super) fn read_item(from: &mut impl Read) -> io::Result<Item> {
    let ItemHeader { id, properties, lineage, payload } = read_header(from)?;
    Ok(Item { id, properties, lineage, payload: payload.read(from)? })
}

/// Files on scratch that another process owns: they stay when this value, their last holder, is dropped.
pub(super) struct Lent(Vec<Arc<TemporaryFile>>);

impl Lent {
    /// Those of an item that was read.
    pub(super) fn of(item: &Item) -> Self {
        let Payload::Blobs(sets) = &item.payload else { return Self(Vec::new()) };
        let lent = |blob: &Blob| match &blob.content {
            Content::Scratch(file) => Some(file.clone()),
            Content::Local(_) | Content::Memory(_) => None,
        };
        Self(sets.iter().flat_map(|set| &set.blobs).filter_map(lent).collect())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Without a path there is nothing to remove.
        self.0.drain(..).filter_map(Arc::into_inner).for_each(|mut file| file.path = PathBuf::new());
    }
}

impl PayloadHeader {
    fn of(payload: &Payload) -> io::Result<Self> {
        Ok(match payload {
            Payload::Assets(sets) => Self::Assets(sets.clone()),
            Payload::Blobs(sets) => Self::Blobs(sets.iter().map(BlobSetHeader::of).collect()),
            Payload::Raster(raster) => Self::Raster(raster.members.iter().map(MemberHeader::of).collect()),
            Payload::Rows(rows) => Self::Rows(rows.clone()),
            Payload::Encoded(Encoded { body: EncodedBody::Memory(bytes), media_type }) => {
                Self::Encoded { bytes: bytes.len() as u64, media_type: (*media_type).to_owned() }
            }
            Payload::Encoded(_) => {
                return Err(io::Error::other("a file under assembly cannot leave its process"));
            }
            Payload::Files(files) => Self::Files(files.clone()),
        })
    }

    fn read(self, from: &mut impl Read) -> io::Result<Payload> {
        Ok(match self {
            Self::Assets(sets) => Payload::Assets(sets),
            Self::Blobs(sets) => {
                Payload::Blobs(sets.into_iter().map(|set| set.read(from)).collect::<io::Result<_>>()?)
            }
            Self::Raster(members) => {
                let members = members.into_iter().map(|member| member.read(from));
                Payload::Raster(Raster { members: members.collect::<io::Result<_>>()? })
            }
            Self::Rows(rows) => Payload::Rows(rows),
            Self::Encoded { bytes, media_type } => {
                let body = EncodedBody::Memory(read_bytes(from, bytes)?.into());
                Payload::Encoded(Encoded { body, media_type: kept(media_type) })
            }
            Self::Files(files) => Payload::Files(files),
        })
    }
}

impl BlobSetHeader {
    fn of(set: &BlobSet) -> Self {
        let content = |blob: &Blob| match &blob.content {
            Content::Local(path) => ContentHeader::Local(path.clone()),
            Content::Scratch(file) => ContentHeader::Scratch(file.path.clone()),
            Content::Memory(bytes) => ContentHeader::Memory {
                name: bytes.name.clone(),
                size: bytes.size,
                segments: bytes.segments.iter().map(|(at, bytes)| (*at, bytes.len() as u64)).collect(),
            },
        };
        let blobs = set.blobs.iter().map(|blob| (blob.asset.clone(), content(blob))).collect();
        Self { id: set.id.clone(), properties: set.properties.clone(), blobs }
    }

    fn read(self, from: &mut impl Read) -> io::Result<BlobSet> {
        let mut blobs = Vec::with_capacity(self.blobs.len());
        for (asset, content) in self.blobs {
            let content = match content {
                ContentHeader::Local(path) => Content::Local(path),
                ContentHeader::Scratch(path) => {
                    Content::Scratch(Arc::new(TemporaryFile { path, lease: None }))
                }
                ContentHeader::Memory { name, size, segments } => {
                    let read = |(at, length)| Ok((at, read_bytes(from, length)?.into()));
                    let segments = segments.into_iter().map(read).collect::<io::Result<_>>()?;
                    Content::Memory(Arc::new(FileBytes { name, size, segments }))
                }
            };
            blobs.push(Blob { asset, content });
        }
        Ok(BlobSet { id: self.id, properties: self.properties, blobs })
    }
}

fn segments(content: &Content) -> &[(u64, bytes::Bytes)] {
    match content {
        Content::Memory(bytes) => &bytes.segments,
        Content::Local(_) | Content::Scratch(_) => &[],
    }
}

impl MemberHeader {
    fn of(member: &Member) -> Self {
        let masks = masks_of(member);
        let place = |validity: &Validity| match validity {
            Validity::All => None,
            Validity::Mask(mask) => masks.iter().position(|known| Arc::ptr_eq(known, mask)),
        };
        let band = |band: &Band| BandHeader {
            description: band.description.clone(),
            data_type: band.pixels.data_type(),
            dim: band.pixels.dim(),
            mask: place(&band.validity),
        };
        Self {
            id: member.id.clone(),
            grid: member.grid.clone(),
            window: member.window,
            tags: member.tags.clone(),
            masks: masks.iter().map(|mask| mask.dim()).collect(),
            bands: member.bands.iter().map(band).collect(),
        }
    }

    fn read(self, from: &mut impl Read) -> io::Result<Member> {
        let masks = self.masks.into_iter().map(|dim| Ok(Arc::new(read_mask(from, dim)?)));
        let masks: Vec<_> = masks.collect::<io::Result<_>>()?;
        let mut bands = Vec::with_capacity(self.bands.len());
        for band in self.bands {
            let pixels = read_pixels(from, band.data_type, band.dim)?;
            let mask = band.mask.and_then(|place| masks.get(place));
            let validity = mask.map_or(Validity::All, |mask| Validity::Mask(mask.clone()));
            bands.push(Band { description: band.description, pixels, validity });
        }
        let Self { id, grid, window, tags, .. } = self;
        Ok(Member { id, grid, window, bands, tags })
    }
}

fn write_member(out: &mut impl Write, member: &Member) -> io::Result<()> {
    masks_of(member).into_iter().try_for_each(|mask| write_mask(out, mask))?;
    member.bands.iter().try_for_each(|band| write_pixels(out, &band.pixels))
}

/// The masks of a member's bands, each once.
fn masks_of(member: &Member) -> Vec<&Arc<ndarray::Array2<u8>>> {
    let mut masks: Vec<&Arc<_>> = Vec::new();
    for band in &member.bands {
        if let Validity::Mask(mask) = &band.validity
            && !masks.iter().any(|known| Arc::ptr_eq(known, mask))
        {
            masks.push(mask);
        }
    }
    masks
}

/// A media type as the contract wants it. There are a handful of them, and each is kept once.
fn kept(media_type: String) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = known.get(media_type.as_str()) {
        return same;
    }
    let kept: &'static str = media_type.leak();
    known.insert(kept);
    kept
}
