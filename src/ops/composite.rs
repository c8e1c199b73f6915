//! `composite`: the members of a group → one image, pixel by pixel.

mod levels;
mod pixels;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use self::levels::{Level, levels};
use self::pixels::{BandStack, STRIP};
use super::blocks::{HELPERS, OVERHEAD};
use super::codes::{CONFLICT, UNKNOWN_BAND};
use super::rasters::take_raster;
use crate::config::{Fault, OneOrMany, Spanned, Value, codes, from_value, suggestion};
use crate::contract::{
    BandNames, BandShape, Compute, ComputeContext, Environment, Failure, Item, Kind, MemberShape, Members,
    Op, OpEntry, Payload, Port, Shape, Take,
};
use crate::raster::reduce::Reduce;
use crate::raster::{Band, BandDescription, DataType, Grid, Member, Placement, Raster, Window, crs};

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "composite",
    summary: "Reduces the members of a group to one image.",
    accepts: &[Port::Raster],
    example: r#"{ reduce = ["median", "first"], bands = ["red", "nir"] }"#,
    schema: |generator| generator.subschema_for::<CompositeOptions>(),
    compile: |value, _: &Environment| compile(value),
};

/// Reduces the members of a group to one image, pixel by pixel over their valid values. The members lie on one shared grid, which
/// a `warp` stage brings them to. A pixel that is valid in no member is nodata.
///
/// Members of different types are brought to the smallest type that holds all their values. `first`, `last`, `min`, `max` and
/// `quality` keep that type; `mean` and `median` of integers are `float32` (`float64` for 32 and 64 bits), `sum` of integers is
/// `float64`, `count` is `uint32`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct CompositeOptions {
    /// How members are reduced; for a group with inner levels a list with one entry for each level, outermost first:
    /// `["median", "first"]` takes the first valid value within each inner group, then the median of those.
    reduce: Spanned<OneOrMany<Spanned<Reduce>>>,
    /// The bands of the output, in this order. Default: those of the first member.
    bands: Option<Vec<Spanned<String>>>,
    /// The band by which `reduce = "quality"` takes each pixel, in all bands, from one member: the one whose quality is best
    /// among those that have any. A band that is missing there stays missing, whatever other members have.
    quality_band: Option<Spanned<String>>,
    /// Which value of the quality band is best. Default `highest`. Of equal ones the first member's.
    best: Option<Spanned<Best>>,
}

/// Which quality is best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Best {
    /// The highest value.
    #[default]
    Highest,
    /// The lowest value.
    Lowest,
}

/// What stays with the allocator of a member's file, which was opened and decoded by itself.
const OPENED: u64 = 256 << 10;

/// The compiled op.
#[derive(Debug)]
struct Composite {
    /// Outermost first.
    reduce: Vec<Reduce>,
    bands: Option<Vec<Spanned<String>>>,
    quality: Option<Spanned<String>>,
    best: Best,
}

fn compile(value: &Value) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: CompositeOptions = from_value(value)?;
    let reduce: Vec<Reduce> = options.reduce.value.iter().map(|reduce| reduce.value).collect();
    if reduce.is_empty() {
        let message = "expected at least one way to reduce";
        return Err(vec![Fault::error(codes::OUT_OF_RANGE, options.reduce.span, message)]);
    }
    let quality = options.reduce.value.iter().find(|reduce| reduce.value == Reduce::Quality);
    match (quality, &options.quality_band, &options.best) {
        (Some(quality), None, _) => {
            let message = "`quality` needs `quality-band`, the band that says which member is best";
            Err(vec![Fault::error(codes::MISSING_KEY, quality.span.clone(), message)])
        }
        (None, Some(band), _) => {
            let message = "`quality-band` goes with `reduce = \"quality\"`";
            Err(vec![Fault::error(CONFLICT, band.span.clone(), message)])
        }
        (None, None, Some(best)) => {
            let message = "`best` goes with `reduce = \"quality\"`";
            Err(vec![Fault::error(CONFLICT, best.span.clone(), message)])
        }
        _ => Ok(Arc::new(Composite {
            reduce,
            bands: options.bands,
            quality: options.quality_band,
            best: options.best.map(|best| best.value).unwrap_or_default(),
        })),
    }
}

impl Op for Composite {
    fn gives(&self, _input: Option<Port>) -> Port {
        Port::Raster
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Cores, Take::Memory]
    }

    /// One image of members on one grid.
    fn members(&self, input: Members) -> Result<Members, Members> {
        if input == Members::OnOwnGrids { Err(Members::OnOneGrid) } else { Ok(Members::One) }
    }

    fn bands(&self, input: &BandNames) -> Result<BandNames, Vec<Fault>> {
        let own = self.bands.as_ref().map(|bands| bands.iter().map(|band| band.value.clone()).collect());
        let Some(names) = input else { return Ok(own) };
        let named = self.bands.iter().flatten().chain(&self.quality);
        let fault = |band: &Spanned<String>| {
            let help = suggestion(&band.value, names.iter().map(String::as_str));
            Fault::error(UNKNOWN_BAND, band.span.clone(), format!("unknown band `{}`", band.value)).help(help)
        };
        let faults: Vec<Fault> = named.filter(|band| !names.contains(&band.value)).map(fault).collect();
        if faults.is_empty() { Ok(own.or_else(|| input.clone())) } else { Err(faults) }
    }

    fn shape(&self, input: &Shape, item: &Item) -> Result<Shape, Failure> {
        let grids = input.members.iter().map(|member| (member.id.as_str(), &*member.grid));
        let grid = shared_grid(grids)?;
        levels(&self.reduce, &item.lineage.levels, input.members.len())?;
        let first = input.members.first().ok_or_else(no_members)?;
        let names = self.output_bands(first.bands.iter().map(|band| band.name.as_str()));
        if let Some(band) = &self.quality {
            self.band_shape(&band.value, &input.members)?;
        }
        let bands =
            names.iter().map(|name| self.band_shape(name, &input.members)).collect::<Result<_, _>>()?;
        let window = bounding(input.members.iter().map(|member| member.window));
        let grid = Arc::new(grid.clone());
        Ok(Shape::raster(vec![MemberShape {
            id: item.id.as_str().into(),
            grid,
            window,
            bands,
            placement: Placement::Affine,
        }]))
    }

    fn region(&self, wanted: &[Window], input: &Shape, _output: &Shape) -> Result<Vec<Window>, Failure> {
        let wanted =
            wanted.first().ok_or_else(|| Failure::fatal("expected the window of one image, found none"))?;
        Ok(input.members.iter().map(|member| intersection(wanted, &member.window)).collect())
    }

    fn scratch(&self, input: &Shape, _output: &Shape) -> u64 {
        OVERHEAD + input.members.len() as u64 * OPENED + strips(input) + self.widened(input)
    }

    fn helpers(&self, input: &Shape, _output: &Shape) -> (u64, u64) {
        (HELPERS as u64, strips(input))
    }

    fn manifest(&self) -> Json {
        let bands =
            self.bands.as_ref().map(|bands| bands.iter().map(|band| band.value.clone()).collect::<Vec<_>>());
        let quality = self.quality.as_ref().map(|band| band.value.clone());
        json!({ "reduce": self.reduce, "bands": bands, "quality-band": quality, "best": self.best })
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Compute(self)
    }
}

fn no_members() -> Failure {
    Failure::item("expected a group with members, found none")
}

/// The one grid of all members.
fn shared_grid<'a>(mut members: impl Iterator<Item = (&'a str, &'a Grid)>) -> Result<&'a Grid, Failure> {
    let (first, grid) = members.next().ok_or_else(no_members)?;
    match members.find(|(_, other)| !is_shared(grid, other)) {
        None => Ok(grid),
        Some((other, other_grid)) => Err(Failure::item(format!(
            "`composite` needs one shared grid, but `{first}` lies on {} and `{other}` on {}; add a `warp` stage before it",
            described(grid),
            described(other_grid)
        ))),
    }
}

fn is_shared(one: &Grid, other: &Grid) -> bool {
    let is_same_crs = match (&one.crs, &other.crs) {
        (Some(one), Some(other)) => crs::is_same(one, other),
        (one, other) => one.is_none() && other.is_none(),
    };
    is_same_crs
        && one.geotransform == other.geotransform
        && (one.width, one.height) == (other.width, other.height)
}

fn described(grid: &Grid) -> String {
    let crs = grid.crs.as_ref().map_or_else(|| "no CRS".into(), crs::describe);
    let [x, width, _, y, _, height] = grid.geotransform;
    format!("{crs}, {}×{} pixels of {width} × {height} from ({x}, {y})", grid.width, grid.height)
}

/// A thread's strips of every member, of what they become on the way, and of the quality band.
fn strips(input: &Shape) -> u64 {
    input.members.len() as u64 * STRIP as u64 * 9 * 4
}

/// The smallest window around all.
fn bounding(windows: impl Iterator<Item = Window>) -> Window {
    windows
        .reduce(|one, other| {
            let (col, row) = (one.col.min(other.col), one.row.min(other.row));
            let right = (one.col + one.width).max(other.col + other.width);
            let bottom = (one.row + one.height).max(other.row + other.height);
            Window { col, row, width: right - col, height: bottom - row }
        })
        .unwrap_or(Window { col: 0, row: 0, width: 0, height: 0 })
}

/// The part of a window that lies in another; without any, an empty window in it.
fn intersection(wanted: &Window, held: &Window) -> Window {
    let clamp = |place: u64, from: u64, length: u64| place.clamp(from, from + length);
    let (left, top) = (clamp(wanted.col, held.col, held.width), clamp(wanted.row, held.row, held.height));
    let right = clamp(wanted.col + wanted.width, held.col, held.width);
    let bottom = clamp(wanted.row + wanted.height, held.row, held.height);
    Window { col: left, row: top, width: right - left, height: bottom - top }
}

impl Composite {
    /// The names of the output's bands, given those of the first member.
    fn output_bands<'a>(&self, first: impl Iterator<Item = &'a str>) -> Vec<String> {
        match &self.bands {
            Some(bands) => bands.iter().map(|band| band.value.clone()).collect(),
            None => first.map(str::to_owned).collect(),
        }
    }

    fn band_shape(&self, name: &str, members: &[MemberShape]) -> Result<BandShape, Failure> {
        let types = members.iter().map(|member| {
            let band = member.bands.iter().find(|band| band.name == name);
            band.map(|band| band.data_type).ok_or_else(|| missing(&member.id, name))
        });
        let data_type = self.data_type(common(types)?);
        Ok(BandShape { name: name.into(), data_type, has_mask: true })
    }

    /// The type of the output for members of a type.
    fn data_type(&self, members: DataType) -> DataType {
        self.reduce.iter().rev().fold(members, |values, reduce| reduce.data_type(values))
    }

    /// Bytes of the members' bands that have to be brought to another type first.
    fn widened(&self, input: &Shape) -> u64 {
        let Some(first) = input.members.first() else { return 0 };
        let names = self.output_bands(first.bands.iter().map(|band| band.name.as_str()));
        let bytes = |name: &String| {
            let bands = input.members.iter().filter_map(|member| {
                let band = member.bands.iter().find(|band| band.name == *name)?;
                Some((band.data_type, member.window.pixels()))
            });
            let wide = bands.clone().map(|(data_type, _)| data_type).reduce(DataType::common);
            let narrow = bands.filter(|(data_type, _)| Some(*data_type) != wide);
            narrow.map(|(_, pixels)| pixels * wide.map_or(0, DataType::size)).sum::<u64>()
        };
        names.iter().map(bytes).max().unwrap_or_default()
    }

    fn band(
        &self,
        name: &str,
        members: &[Member],
        levels: &[Level],
        window: &Window,
        context: &ComputeContext,
    ) -> Result<Band, Failure> {
        let stack = stacked(name, members)?;
        let quality = self.quality.as_ref().map(|band| stacked(&band.value, members)).transpose()?;
        let work = pixels::Work {
            stack: &stack,
            quality: quality.as_ref(),
            is_lowest: self.best == Best::Lowest,
            levels,
            window: *window,
        };
        let data_type = self.data_type(stack.data_type());
        let (pixels, validity) = work.run(data_type, context)?;
        let description = self.describe(&stack, data_type)?;
        Ok(Band { description, pixels, validity })
    }

    /// What the output says of itself: what all members say, as far as it still holds.
    fn describe(&self, stack: &BandStack, data_type: DataType) -> Result<BandDescription, Failure> {
        let first = stack.description();
        if self.reduce.contains(&Reduce::Count) {
            return Ok(BandDescription { nodata: Some("0".into()), ..BandDescription::named(&first.name) });
        }
        if !stack.all(|other| (other.scale, other.offset) == (first.scale, first.offset)) {
            return Err(Failure::item(format!(
                "band `{}` has different scales or offsets among the members; read it with `scaling = \"file\"`",
                first.name
            )));
        }
        if self.reduce.contains(&Reduce::Sum) && first.offset != 0.0 {
            let (name, offset) = (&first.name, first.offset);
            let message = format!(
                "a sum of band `{name}` would take its offset `{offset}` once instead of once a member"
            );
            return Err(Failure::item(format!("{message}; read it with `scaling = \"file\"`")));
        }
        let keeps_type = data_type == stack.own_type();
        let nodata = if keeps_type {
            first.nodata.clone().filter(|_| stack.all(|other| other.nodata == first.nodata))
        } else {
            data_type.is_float().then(|| "nan".to_owned())
        };
        let keeps_classes = keeps_type && self.reduce.iter().all(|reduce| reduce.selects());
        Ok(BandDescription {
            nodata,
            color_table: first.color_table.clone().filter(|_| keeps_classes),
            categories: first.categories.clone().filter(|_| keeps_classes),
            ..first.clone()
        })
    }
}

/// One band of all members, in one type.
fn stacked(name: &str, members: &[Member]) -> Result<BandStack, Failure> {
    let bands = members.iter().map(|member| {
        let band = member.bands.iter().find(|band| band.description.name == name);
        let band = band.ok_or_else(|| missing(&member.id, name))?;
        Ok((member.window, band.clone().in_row_order()))
    });
    Ok(BandStack::new(bands.collect::<Result<_, Failure>>()?))
}

fn missing(member: &str, band: &str) -> Failure {
    Failure::item(format!("`{member}` has no band `{band}`; name those that all members have with `bands`"))
}

fn common(mut types: impl Iterator<Item = Result<DataType, Failure>>) -> Result<DataType, Failure> {
    let first = types.next().ok_or_else(no_members)??;
    types.try_fold(first, |common, next| Ok(common.common(next?)))
}

impl Compute for Composite {
    fn compute(&self, mut item: Item, context: &ComputeContext) -> Result<Item, Failure> {
        let members = take_raster(&mut item)?.members;
        let grid = shared_grid(members.iter().map(|member| (member.id.as_str(), &*member.grid)))?.clone();
        let levels = levels(&self.reduce, &item.lineage.levels, members.len())?;
        let held = bounding(members.iter().map(|member| member.window));
        let window = context.wanted.first().copied().unwrap_or(held);
        let first = members.first().ok_or_else(no_members)?;
        let names = self.output_bands(first.bands.iter().map(|band| band.description.name.as_str()));
        let bands = names.iter().map(|name| self.band(name, &members, &levels, &window, context));
        let bands = bands.collect::<Result<_, Failure>>()?;
        let tags = if members.len() == 1 { first.tags.clone() } else { Arc::default() };
        let member = Member { id: item.id.as_str().into(), grid: Arc::new(grid), window, bands, tags };
        item.payload = Payload::Raster(Raster { members: vec![member] });
        Ok(item)
    }
}

#[cfg(test)]
mod tests;
