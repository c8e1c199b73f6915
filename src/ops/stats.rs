//! `stats`: rows of statistics of the pixels of a raster.

mod assembly;
mod rows;
mod spool;

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::blocks::{BLOCK, HELPERS, for_each_block};
use super::codes::UNKNOWN_BAND;
use super::rasters::{Part, single_member, take_raster, with_wanted};
use crate::config::{Fault, Spanned, Value, codes, from_value, suggestion};
use crate::contract::{
    Assemble, Assembly, BandNames, Compute, ComputeContext, Environment, Failure, Item, Kind, MemberShape,
    Op, OpEntry, Payload, Port, Shape, Take,
};
use crate::raster::Band;
use crate::raster::statistics::{CHUNK, Histogram, Partial, Region, percentile};
use rows::Place;

/// The line of the table.
pub const ENTRY: OpEntry = OpEntry {
    name: "stats",
    summary: "Makes rows of statistics: of each raster, window or item.",
    accepts: &[Port::Raster],
    example: r#"{ statistics = ["count", "total", "mean", "std"], percentiles = [10, 50, 90] }"#,
    schema: |generator| generator.subschema_for::<StatsOptions>(),
    compile: |value, _: &Environment| compile(value),
};

/// Makes one row for each band: `id`, for windows also `parent`, `row` and `col` (the window's place among its parent's windows,
/// counted from 0), `band`, then the statistics in the order in which they are asked for, `p10` and the like for percentiles,
/// and `bin_0` and on for the bins of a histogram.
///
/// Only valid and finite pixels count. Without any, `count` and `sum` are 0 and the others null. Results do not depend on how a
/// raster was cut into windows, to the last bit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StatsOptions {
    /// Which statistics, in the order of the columns. Default `["count", "total", "min", "max", "mean", "std"]`.
    statistics: Option<Vec<Statistic>>,
    /// Percentiles from 0 to 100, interpolated linearly between the two nearest values, as numpy does by default.
    percentiles: Option<Vec<Spanned<f64>>>,
    /// Counts of the values by bins of equal width.
    histogram: Option<Spanned<HistogramOptions>>,
    /// The bands; all by default.
    bands: Option<Vec<Spanned<String>>>,
    /// Below a `window` stage: a row for each `window` (default), or for each whole `item`.
    per: Option<Per>,
}

/// Bins from the first number of `range` to the second. A bin includes its lower end, the last one both; what lies outside is not
/// counted.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HistogramOptions {
    /// How many bins, 1 to 4096.
    bins: Spanned<u64>,
    /// The lower end of the first bin and the upper end of the last.
    range: Spanned<[f64; 2]>,
}

/// One statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// How many pixels are valid.
    Count,
    /// How many pixels there are.
    Total,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The sum of the values.
    Sum,
    /// The arithmetic mean of the values.
    Mean,
    /// The standard deviation of the population.
    Std,
}

/// What a row is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// A whole item, however it was cut into windows.
    Item,
    /// What comes: a window below a `window` stage, else a whole raster.
    #[default]
    Window,
}

/// The compiled op.
#[derive(Debug)]
struct Stats {
    settings: Arc<Settings>,
}

/// What the rows are made of.
#[derive(Debug)]
struct Settings {
    statistics: Vec<Statistic>,
    percentiles: Vec<f64>,
    /// Empty bins.
    histogram: Option<Histogram>,
    bands: Option<Vec<Spanned<String>>>,
    per: Per,
}

const DEFAULT: [Statistic; 6] =
    [Statistic::Count, Statistic::Total, Statistic::Min, Statistic::Max, Statistic::Mean, Statistic::Std];

fn compile(value: &Value) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: StatsOptions = from_value(value)?;
    let percentiles = percentiles(options.percentiles.as_deref().unwrap_or_default());
    let histogram = options.histogram.as_ref().map(histogram).transpose();
    match (percentiles, histogram) {
        (Ok(percentiles), Ok(histogram)) => {
            let statistics = options.statistics.unwrap_or_else(|| DEFAULT.to_vec());
            let (bands, per) = (options.bands, options.per.unwrap_or_default());
            let settings = Settings { statistics, percentiles, histogram, bands, per };
            Ok(Arc::new(Stats { settings: Arc::new(settings) }))
        }
        (percentiles, histogram) => {
            Err([percentiles.err(), histogram.err()].into_iter().flatten().flatten().collect())
        }
    }
}

fn percentiles(given: &[Spanned<f64>]) -> Result<Vec<f64>, Vec<Fault>> {
    let is_outside = |percentile: &&Spanned<f64>| !(0.0..=100.0).contains(&percentile.value);
    let fault = |percentile: &Spanned<f64>| {
        let message = format!("expected a percentile from 0 to 100, found `{}`", percentile.value);
        Fault::error(codes::OUT_OF_RANGE, percentile.span.clone(), message)
    };
    let faults: Vec<Fault> = given.iter().filter(is_outside).map(fault).collect();
    if faults.is_empty() {
        Ok(given.iter().map(|percentile| percentile.value).collect())
    } else {
        Err(faults)
    }
}

fn histogram(options: &Spanned<HistogramOptions>) -> Result<Histogram, Vec<Fault>> {
    let ([low, high], bins) = (options.range.value, options.bins.value);
    let out_of_range = |span: &crate::config::Span, message: String| {
        Err(vec![Fault::error(codes::OUT_OF_RANGE, span.clone(), message)])
    };
    if !(low.is_finite() && high.is_finite() && low < high) {
        return out_of_range(
            &options.range.span,
            format!("expected a range that rises, found `[{low}, {high}]`"),
        );
    }
    if !(1..=4096).contains(&bins) {
        return out_of_range(&options.bins.span, format!("expected 1 to 4096 bins, found `{bins}`"));
    }
    Ok(Histogram::new(bins as usize, low, high))
}

impl Op for Stats {
    fn gives(&self, _input: Option<Port>) -> Port {
        Port::Rows
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Cores, Take::Memory]
    }

    fn bands(&self, input: &BandNames) -> Result<BandNames, Vec<Fault>> {
        let (Some(names), Some(bands)) = (input, &self.settings.bands) else { return Ok(None) };
        let fault = |band: &Spanned<String>| {
            let help = suggestion(&band.value, names.iter().map(String::as_str));
            Fault::error(UNKNOWN_BAND, band.span.clone(), format!("unknown band `{}`", band.value)).help(help)
        };
        let faults: Vec<Fault> =
            bands.iter().filter(|band| !names.contains(&band.value)).map(fault).collect();
        if faults.is_empty() { Ok(None) } else { Err(faults) }
    }

    fn shape(&self, input: &Shape, _item: &Item) -> Result<Shape, Failure> {
        let member = single_member("stats", input)?;
        let names: Vec<&str> = member.bands.iter().map(|band| band.name.as_str()).collect();
        let bands = self.settings.selected(&names).map_err(|failure| failure.within(&member.id))?;
        Ok(Shape { held: bands.len() as u64 * self.settings.row_bytes(), ..Shape::default() })
    }

    fn scratch(&self, _input: &Shape, _output: &Shape) -> u64 {
        let lists = (1 + HELPERS as u64) * CHUNK as u64 * 16;
        lists + percentile::scratch(self.settings.percentiles.len())
    }

    fn spool(&self, input: &Shape, _output: &Shape) -> u64 {
        if self.settings.per == Per::Window || self.settings.percentiles.is_empty() {
            return 0;
        }
        let names =
            |member: &MemberShape| member.bands.iter().map(|band| band.name.clone()).collect::<Vec<_>>();
        let pixel = |member: &MemberShape| {
            let bands = self.settings.selected(&names(member)).unwrap_or_default();
            bands.iter().map(|&band: &usize| member.bands[band].data_type.size()).sum::<u64>()
        };
        input.members.iter().map(|member| member.grid.whole().pixels() * pixel(member)).sum()
    }

    fn manifest(&self) -> Json {
        self.settings.manifest()
    }

    fn kind(self: Arc<Self>) -> Kind {
        match self.settings.per {
            Per::Item => Kind::Assemble(self),
            Per::Window => Kind::Compute(self),
        }
    }
}

impl Settings {
    fn manifest(&self) -> Json {
        let bands =
            self.bands.as_ref().map(|bands| bands.iter().map(|band| band.value.clone()).collect::<Vec<_>>());
        json!({
            "statistics": self.statistics,
            "percentiles": self.percentiles,
            "histogram": self.histogram,
            "bands": bands,
            "per": self.per,
        })
    }

    /// Bytes of a row in memory, roughly: a name and a number for each column.
    fn row_bytes(&self) -> u64 {
        let bins = self.histogram.as_ref().map_or(0, |histogram| histogram.counts().len());
        (6 + self.statistics.len() + self.percentiles.len() + bins) as u64 * 96
    }

    /// The bands that count, by their place.
    fn selected<S: AsRef<str>>(&self, names: &[S]) -> Result<Vec<usize>, Failure> {
        let Some(bands) = &self.bands else { return Ok((0..names.len()).collect()) };
        let place = |band: &Spanned<String>| {
            let place = names.iter().position(|name| name.as_ref() == band.value);
            place
                .ok_or_else(|| Failure::item(format!("no band `{}`, which `stats` is asked for", band.value)))
        };
        bands.iter().map(place).collect()
    }

    fn partial(&self) -> Partial {
        Partial::new(self.histogram.clone())
    }

    /// The bands that count with the part of them that is wanted, out of an item.
    fn pixels(&self, item: &mut Item, context: &ComputeContext) -> Result<(Vec<Band>, Part), Failure> {
        let raster = take_raster(item)?;
        let found = raster.members.len();
        let mut members = with_wanted(raster, context)?;
        let (Some((member, window)), None) = (members.next(), members.next()) else {
            return Err(Failure::item(format!("`stats` works on one image, found {found}")));
        };
        let part = Part::of(&member, &window)?;
        let names: Vec<&str> = member.bands.iter().map(|band| band.description.name.as_str()).collect();
        let selected = self.selected(&names)?;
        let bands = selected.into_iter().map(|band| member.bands[band].clone().in_row_order()).collect();
        Ok((bands, part))
    }

    /// The statistics of a part of a band but its percentiles; blocks may be summed on idle cores.
    fn sum(&self, band: &Band, part: Part, context: &ComputeContext) -> Result<Partial, Failure> {
        let whole = Mutex::new(self.partial());
        let blocks = (0..part.pixels()).step_by(BLOCK).map(|begin| region(part, begin, BLOCK)).collect();
        for_each_block(context, blocks, |block: Region| {
            let mut partial = self.partial();
            partial.add(band, &block);
            whole.lock().unwrap_or_else(PoisonError::into_inner).merge(&partial);
            Ok(())
        })?;
        Ok(whole.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The percentiles of a part of a band.
    fn percentiles(&self, band: &Band, part: Part, count: u64) -> Vec<Option<f64>> {
        let whole = region(part, 0, part.pixels());
        let scan = |visit: &mut dyn FnMut(&[u64])| {
            whole.keys(band, visit);
            Ok::<(), Infallible>(())
        };
        match percentile::find(&self.percentiles, band.pixels.data_type(), count, scan) {
            Ok(values) => values,
            Err(never) => match never {},
        }
    }
}

/// At most `length` pixels of a part, from one on.
fn region(part: Part, begin: usize, length: usize) -> Region {
    let mut stretches = Vec::new();
    let end = (begin + length).min(part.pixels());
    part.stretches(begin, end, usize::MAX, |from, _, length| stretches.push((from, length)));
    Region { stretches, weights: None }
}

impl Compute for Stats {
    fn compute(&self, mut item: Item, context: &ComputeContext) -> Result<Item, Failure> {
        let settings = &self.settings;
        let (bands, part) = settings.pixels(&mut item, context)?;
        let place = Place::of(&item);
        let row = |band: &Band| {
            let partial = settings.sum(band, part, context)?;
            let percentiles = settings.percentiles(band, part, partial.moments.count());
            Ok(settings.row(&place, &band.description.name, &partial, &percentiles))
        };
        item.payload = Payload::Rows(bands.iter().map(row).collect::<Result<_, Failure>>()?);
        Ok(item)
    }
}

impl Assemble for Stats {
    fn begin(&self, window: &Item, context: &ComputeContext) -> Result<Box<dyn Assembly>, Failure> {
        Ok(Box::new(assembly::begin(&self.settings, window, context)?))
    }
}

#[cfg(test)]
mod tests;
