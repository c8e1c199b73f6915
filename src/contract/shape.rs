//! What is known of a payload before it exists: files, grids, bands, bytes.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::contract::{Asset, Item, Location, Payload, Placed};
use crate::raster::{DataType, FileBytes, Grid, Header, Placement, Window};

/// The form of an item's payload at one port, known from headers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Shape {
    /// Files, at the ports `asset`, `blob` and `file`.
    pub assets: Vec<AssetShape>,
    /// Members, at the port `raster`.
    pub members: Vec<MemberShape>,
    /// Bytes of memory that the payload holds.
    pub held: u64,
    /// What the stages below need of each file; `None` where that is everything, or not known yet.
    pub needs: Option<Arc<[AssetNeed]>>,
}

/// What is known of one file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AssetShape {
    /// Which member it belongs to.
    pub member: usize,
    /// The asset's name.
    pub name: String,
    /// Size in bytes, where known.
    pub size: Option<u64>,
    /// Whether it is read in place, without `fetch`.
    pub is_local: bool,
    /// Its header; `None` when it can only be known from the whole file. Worker processes read it again.
    #[serde(skip)]
    pub header: Option<Arc<Header>>,
    /// The bytes that the header was read from, for remote files.
    #[serde(skip)]
    pub prefix: Option<Arc<FileBytes>>,
    /// What of it is foreseen to be fetched.
    #[serde(skip)]
    pub foreseen: Option<Arc<Foreseen>>,
    /// Where it lies, if a program made it of a window.
    pub placed: Option<Placed>,
}

/// What of a file is foreseen to be fetched, as its header tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreseen {
    /// Bytes of memory that it will hold.
    pub held: u64,
    /// The ranges that are needed beside the header; `None` for the whole file, or where the header does not tell.
    pub ranges: Option<Vec<Range<u64>>>,
}

/// What is known of one member of a raster.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MemberShape {
    /// The id of the member.
    pub id: String,
    /// The grid of the whole image.
    pub grid: Arc<Grid>,
    /// The part of it that is wanted.
    pub window: Window,
    /// The bands.
    pub bands: Vec<BandShape>,
    /// How the image is placed where its grid does not tell.
    pub placement: Placement,
}

/// What is known of one band.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BandShape {
    /// The name that later stages use.
    pub name: String,
    /// The type of a pixel.
    pub data_type: DataType,
    /// Whether a validity mask stands beside the pixels.
    pub has_mask: bool,
}

impl MemberShape {
    /// Bytes of the member's window, pixels and masks.
    pub fn bytes(&self) -> u64 {
        let each: u64 = self.bands.iter().map(|band| band.data_type.size() + u64::from(band.has_mask)).sum();
        self.window.pixels() * each
    }
}

impl Shape {
    /// The files of an item, headers unknown, nothing held.
    pub fn of_assets(item: &Item) -> Self {
        let Payload::Assets(sets) = &item.payload else { return Self::default() };
        let shape = |member, asset: &Asset| AssetShape {
            member,
            name: asset.name.clone(),
            size: asset.size,
            is_local: matches!(asset.location, Location::Local(_)),
            header: None,
            prefix: None,
            foreseen: None,
            placed: None,
        };
        let sets = sets.iter().enumerate();
        let assets = sets.flat_map(|(member, set)| set.assets.iter().map(move |asset| shape(member, asset)));
        Self { assets: assets.collect(), ..Self::default() }
    }

    /// A raster of these members, holding what their windows need.
    pub fn raster(members: Vec<MemberShape>) -> Self {
        let held = members.iter().map(MemberShape::bytes).sum();
        Self { members, held, ..Self::default() }
    }

    /// The same raster cut to one window a member.
    #[must_use]
    pub fn windowed(&self, windows: &[Window]) -> Self {
        if self.members.is_empty() {
            return self.clone();
        }
        let mut members = self.members.clone();
        for (member, window) in members.iter_mut().zip(windows) {
            member.window = *window;
        }
        Self { assets: self.assets.clone(), ..Shape::raster(members) }
    }
}

/// What `read` needs of one file for a window: the blocks that hold these pixels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssetNeed {
    /// Which member the file belongs to.
    pub member: usize,
    /// The asset's name.
    pub name: String,
    /// Bands of the file, counted from 1.
    pub bands: Vec<usize>,
    /// Pixels of the full resolution, or of the overview.
    pub window: Window,
    /// Which overview, counted from 0; `None` for the full resolution.
    pub overview: Option<usize>,
}
