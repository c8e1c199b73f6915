//! `warp`: rasters onto another grid.

mod options;

use std::sync::Arc;

use serde_json::Value as Json;

use self::options::{WarpOptions, compile};
use super::rasters::take_raster;
use crate::contract::{
    BandShape, Compute, ComputeContext, Failure, Item, Kind, MemberShape, Members, Op, OpEntry, Payload,
    Port, Shape, Take,
};
use crate::raster::warp::{KnownGrids, SourceImage, SourceOptions, Target, Warp, WarpError};
use crate::raster::{Grid, Member, Placement, Raster, Resampling, Window};

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "warp",
    summary: "Brings rasters onto a grid: another CRS, resolution or extent.",
    accepts: &[Port::Raster],
    example: r#"{ crs = "EPSG:32632", resolution = 10, resampling = "bilinear" }"#,
    schema: |generator| generator.subschema_for::<WarpOptions>(),
    compile: |value, environment| compile(value, environment).map(|warp| Arc::new(warp) as Arc<dyn Op>),
};

/// What the work needs beside input and output: coordinates of a block, PROJ's own objects.
const OWN_BUFFERS: u64 = 4 << 20;

/// The compiled op.
#[derive(Debug)]
struct WarpOp {
    target: Target,
    known: KnownGrids,
    source: SourceOptions,
    resampling: Resampling,
    manifest: Json,
}

impl Op for WarpOp {
    fn gives(&self, _: Option<Port>) -> Port {
        Port::Raster
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Cores, Take::Memory]
    }

    fn members(&self, input: Members) -> Result<Members, Members> {
        Ok(input.min(Members::OnOneGrid))
    }

    fn shape(&self, input: &Shape, item: &Item) -> Result<Shape, Failure> {
        let images = input.members.iter().enumerate().map(|(index, member)| {
            self.image(&member.grid, &member.placement)
                .map_err(|error| failure(&error).within(source_name(item, index, &member.id)))
        });
        let images = images.collect::<Result<Vec<_>, _>>()?;
        if images.is_empty() {
            return Err(Failure::item("the raster has no members"));
        }
        self.refuse_other_grid(item)?;
        let grid = self.grid(&images, item).map_err(|error| failure(&error).within(names(input, item)))?;
        let grid = Arc::new(grid);
        let members = input.members.iter().map(|member| warped_shape(member, &grid)).collect();
        Ok(Shape::raster(members))
    }

    fn region(&self, wanted: &[Window], input: &Shape, output: &Shape) -> Result<Vec<Window>, Failure> {
        let pairs = input.members.iter().zip(&output.members).zip(wanted);
        let needed = pairs.map(|((source, target), window)| {
            let warp = self.warp(&source.grid, &source.placement, &target.grid)?;
            Ok(warp.source_window(window).unwrap_or(NOTHING))
        });
        needed.collect::<Result<_, WarpError>>().map_err(|error| failure(&error))
    }

    fn scratch(&self, input: &Shape, output: &Shape) -> u64 {
        // Areal methods hold the pixels of one footprint, which is as large as the source is denser than the target.
        let pixels =
            |shape: &Shape| shape.members.iter().map(|member| member.window.pixels()).max().unwrap_or(0);
        OWN_BUFFERS + 64 * (pixels(input) / pixels(output).max(1))
    }

    fn manifest(&self) -> Json {
        self.manifest.clone()
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Compute(self)
    }
}

impl Compute for WarpOp {
    fn compute(&self, mut item: Item, context: &ComputeContext) -> Result<Item, Failure> {
        let raster = take_raster(&mut item)?;
        let placements = placements(&raster, &context.input);
        let grid = match context.output.members.first() {
            Some(member) => Arc::clone(&member.grid),
            None => Arc::new(self.grid_of(&raster, &placements, &item).map_err(|error| failure(&error))?),
        };
        let members = raster.members.into_iter().zip(placements).enumerate();
        let members = members.map(|(index, (member, placement))| {
            let window = context.wanted.get(index).copied().unwrap_or_else(|| grid.whole());
            let id = member.id.clone();
            self.warped(member, &placement, &grid, window, context)
                .map_err(|error| failure(&error).within(format!("`{id}`")))
        });
        item.payload = Payload::Raster(Raster { members: members.collect::<Result<_, _>>()? });
        Ok(item)
    }
}

impl WarpOp {
    /// A group by tile is to become just its tile, so it has to come onto that tile's grid.
    fn refuse_other_grid(&self, item: &Item) -> Result<(), Failure> {
        let lineage = &item.lineage;
        let Some(tile) =
            lineage.grid.as_ref().filter(|_| lineage.group.is_some() && lineage.window.is_none())
        else {
            return Ok(());
        };
        match &self.target {
            Target::Named(named) if named.holds(tile) => Ok(()),
            _ => Err(Failure::item(
                "the group is a tile of a grid, and `warp` goes onto another: name the grid that `group` names",
            )),
        }
    }

    fn image(&self, grid: &Grid, placement: &Placement) -> Result<SourceImage, WarpError> {
        SourceImage::new(grid, placement, &self.source)
    }

    fn warp(&self, source: &Grid, placement: &Placement, target: &Grid) -> Result<Warp, WarpError> {
        Warp::new(&self.image(source, placement)?, target, self.resampling)
    }

    /// The one grid for all members: for an item that is a part of the named grid, the grid of the item.
    fn grid(&self, images: &[SourceImage], item: &Item) -> Result<Grid, WarpError> {
        match (&self.target, &item.lineage.grid) {
            (Target::Named(named), Some(grid)) if named.holds(grid) => Ok(Grid::clone(grid)),
            (target, _) => self.known.of(target, images),
        }
    }

    fn grid_of(&self, raster: &Raster, placements: &[Placement], item: &Item) -> Result<Grid, WarpError> {
        let pairs = raster.members.iter().zip(placements);
        let images = pairs.map(|(member, placement)| self.image(&member.grid, placement));
        self.grid(&images.collect::<Result<Vec<_>, _>>()?, item)
    }

    fn warped(
        &self,
        member: Member,
        placement: &Placement,
        grid: &Arc<Grid>,
        window: Window,
        context: &ComputeContext,
    ) -> Result<Member, WarpError> {
        let warp = self.warp(&member.grid, placement, grid)?;
        let bands = warp.bands(&member, &window, &|| context.cancelled())?;
        Ok(Member { grid: Arc::clone(grid), window, bands, ..member })
    }
}

/// What is read where nothing is needed: the smallest window that files can be asked for.
const NOTHING: Window = Window { col: 0, row: 0, width: 1, height: 1 };

/// How each member is placed, as its header told.
fn placements(raster: &Raster, input: &Shape) -> Vec<Placement> {
    let of_member = |index: usize| input.members.get(index).map(|member| member.placement.clone());
    (0..raster.members.len()).map(|index| of_member(index).unwrap_or_default()).collect()
}

fn warped_shape(member: &MemberShape, grid: &Arc<Grid>) -> MemberShape {
    let bands = member.bands.iter().map(|band| BandShape { has_mask: true, ..band.clone() });
    MemberShape {
        id: member.id.clone(),
        grid: Arc::clone(grid),
        window: grid.whole(),
        bands: bands.collect(),
        placement: Placement::Affine,
    }
}

fn failure(error: &WarpError) -> Failure {
    match error {
        WarpError::Cancelled => Failure::cancelled(),
        error => Failure::item(error.to_string()),
    }
}

/// The file that a member comes from, as messages name it; its id where the item does not tell.
fn source_name(item: &Item, member: usize, id: &str) -> String {
    let location = match &item.payload {
        Payload::Assets(sets) => {
            sets.get(member).and_then(|set| set.assets.first()).map(|asset| &asset.location)
        }
        Payload::Blobs(sets) => {
            sets.get(member).and_then(|set| set.blobs.first()).map(|blob| &blob.asset.location)
        }
        Payload::Files(files) => files.first().map(|file| &file.location),
        _ => None,
    };
    location.map_or_else(|| format!("`{id}`"), |location| format!("`{location}`"))
}

fn names(input: &Shape, item: &Item) -> String {
    let members = input.members.iter().enumerate();
    let names: Vec<_> = members.map(|(index, member)| source_name(item, index, &member.id)).take(3).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
