//! `stats`: rows of statistics of the pixels of a raster.

mod assembly;
mod pixels;
mod rows;
mod spool;

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use self::pixels::Pixels;
use self::rows::Place;
use super::blocks::HELPERS;
use super::codes::{CONFLICT, UNKNOWN_BAND};
use super::polygons::PolygonFile;
use super::rasters::single_member;
use crate::config::{Fault, Span, Spanned, Value, codes, from_value, suggestion};
use crate::contract::{
    Assemble, Assembly, BandNames, Compute, ComputeContext, Environment, Failure, Item, Kind, MemberShape,
    Op, OpEntry, Payload, Port, Shape, Take,
};
use crate::raster::polygons::Coverage;
use crate::raster::statistics::{CHUNK, Histogram, percentile};

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "stats",
    summary: "Makes rows of statistics: of each raster, window or item.",
    accepts: &[Port::Raster],
    example: r#"{ statistics = ["count", "total", "mean", "std"], percentiles = [10, 50, 90] }"#,
    schema: |generator| generator.subschema_for::<StatsOptions>(),
    compile,
};

/// Makes one row for each band (and zone): `id`, for windows also `parent`, `row` and `col` (the window's place among its parent's windows,
/// counted from 0), `band`, `zone`, then the statistics in the order in which they are asked for, `p10` and the like for percentiles,
/// and `bin_0` and on for the bins of a histogram.
///
/// Only valid and finite pixels count. Without any, `count` and `sum` are 0 and the others null. Results do not depend on how a
/// raster was cut into windows, to the last bit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct StatsOptions {
    /// Which statistics, in the order of the columns. Default `["count", "total", "min", "max", "mean", "std"]`.
    statistics: Option<Vec<Statistic>>,
    /// Percentiles from 0 to 100, interpolated linearly between the two nearest values, as numpy does by default.
    percentiles: Option<Vec<Spanned<f64>>>,
    /// Counts of the values by bins of equal width.
    histogram: Option<Spanned<HistogramOptions>>,
    /// The bands; all by default.
    bands: Option<Vec<Spanned<String>>>,
    /// Below a `window` stage: rows for each `window` (default), or for each whole `item`. Elsewhere both are the same.
    per: Option<Per>,
    /// A GeoPackage, GeoJSON, Shapefile or FlatGeobuf file with one layer of polygons, relative to the pipeline. Each polygon
    /// that holds any pixel gets a row of its own, with its id in the column `zone`. Corners are brought to the raster's CRS,
    /// sides stay straight.
    zones: Option<Spanned<PathBuf>>,
    /// The field whose value is the id of a zone. Default: the number of the polygon in the file, from 0.
    zone_id: Option<Spanned<String>>,
    /// Which pixels belong to a zone: those whose `center` lies in it (default), all that are `touched`, or all that are touched,
    /// each counted by the `fraction` of it that lies inside. By fractions, `count` and `total` are not whole, and there are no
    /// percentiles.
    coverage: Option<Spanned<Coverage>>,
}

/// Bins from the first number of `range` to the second. A bin includes its lower end, the last one both; what lies outside is not
/// counted.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct HistogramOptions {
    /// How many bins, 1 to 4096.
    bins: Spanned<u64>,
    /// The lower end of the first bin and the upper end of the last.
    range: Spanned<[f64; 2]>,
}

/// One statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Statistic {
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
pub(super) enum Per {
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
    /// Whether windows of an item are summed to the rows of that item.
    joins: bool,
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
    zones: Option<Zones>,
}

/// Polygons that get rows of their own.
#[derive(Debug)]
struct Zones {
    file: PolygonFile,
    coverage: Coverage,
}

/// Bytes of a thread's lists of values and of what they count for.
const LISTS: u64 = CHUNK as u64 * 16;

/// How many zones are assumed before their file is read.
const USUAL_ZONES: usize = 1000;

const DEFAULT: [Statistic; 6] =
    [Statistic::Count, Statistic::Total, Statistic::Min, Statistic::Max, Statistic::Mean, Statistic::Std];

fn compile(value: &Value, environment: &Environment) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: StatsOptions = from_value(value)?;
    let percentiles = percentiles(options.percentiles.as_deref().unwrap_or_default());
    let histogram = options.histogram.as_ref().map(histogram).transpose();
    match (percentiles, histogram, zones(&options, environment)) {
        (Ok(percentiles), Ok(histogram), Ok(zones)) => {
            let statistics = options.statistics.unwrap_or_else(|| DEFAULT.to_vec());
            let (bands, per) = (options.bands, options.per.unwrap_or_default());
            let settings = Settings { statistics, percentiles, histogram, bands, per, zones };
            Ok(Arc::new(Stats { settings: Arc::new(settings), joins: per == Per::Item }))
        }
        (percentiles, histogram, zones) => {
            Err([percentiles.err(), histogram.err(), zones.err()].into_iter().flatten().flatten().collect())
        }
    }
}

fn zones(options: &StatsOptions, environment: &Environment) -> Result<Option<Zones>, Vec<Fault>> {
    let Some(path) = &options.zones else {
        let keys = [
            options.zone_id.as_ref().map(|id| ("zone-id", &id.span)),
            options.coverage.as_ref().map(|coverage| ("coverage", &coverage.span)),
        ];
        let fault = |(key, span): (&str, &Span)| {
            Fault::error(CONFLICT, span.clone(), format!("`{key}` goes with `zones`"))
        };
        let faults: Vec<Fault> = keys.into_iter().flatten().map(fault).collect();
        return if faults.is_empty() { Ok(None) } else { Err(faults) };
    };
    let coverage = options.coverage.as_ref().map(|coverage| coverage.value).unwrap_or_default();
    if let (Coverage::Fraction, Some(percentile), Some(given)) =
        (coverage, options.percentiles.iter().flatten().next(), &options.coverage)
    {
        let message = "percentiles are of whole pixels, but `coverage` counts fractions";
        let fault = Fault::error(CONFLICT, given.span.clone(), message);
        return Err(vec![
            fault.related(percentile.span.clone(), "asked for here").help("use `center` or `touched`"),
        ]);
    }
    let id = options.zone_id.as_ref().map(|id| id.value.clone());
    Ok(Some(Zones { file: PolygonFile::new(&environment.folder, path, id), coverage }))
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
    let out_of_range =
        |span: &Span, message: String| Err(vec![Fault::error(codes::OUT_OF_RANGE, span.clone(), message)]);
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
        // The file is not read here, where nothing may block.
        let zones =
            self.settings.zones.as_ref().map_or(1, |zones| zones.file.known_count().unwrap_or(USUAL_ZONES));
        Ok(Shape { held: (bands.len() * zones) as u64 * self.settings.row_bytes(), ..Shape::default() })
    }

    fn helpers(&self, _input: &Shape, _output: &Shape) -> (u64, u64) {
        (HELPERS as u64, LISTS)
    }

    fn scratch(&self, input: &Shape, _output: &Shape) -> u64 {
        // The pixels of zones: their stretches, and by fractions the weight and the value of each.
        let each = self
            .settings
            .zones
            .as_ref()
            .map_or(0, |zones| if zones.coverage == Coverage::Fraction { 16 } else { 1 });
        let zones =
            input.members.iter().map(|member| member.window.pixels() * each).max().unwrap_or_default();
        LISTS + zones + percentile::scratch(self.settings.percentiles.len())
    }

    fn spool(&self, input: &Shape, _output: &Shape) -> u64 {
        if !self.joins || self.settings.percentiles.is_empty() {
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

    fn joining(self: Arc<Self>) -> Option<Arc<dyn Op>> {
        Some(Arc::new(Stats { settings: Arc::clone(&self.settings), joins: true }))
    }

    fn of_wholes(self: Arc<Self>) -> Option<Arc<dyn Op>> {
        Some(Arc::new(Stats { settings: Arc::clone(&self.settings), joins: false }))
    }

    fn kind(self: Arc<Self>) -> Kind {
        if self.joins { Kind::Assemble(self) } else { Kind::Compute(self) }
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
            "zones": self.zones.as_ref().map(|zones| json!([zones.file.manifest(), zones.coverage])),
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
}

impl Compute for Stats {
    fn compute(&self, mut item: Item, context: &ComputeContext) -> Result<Item, Failure> {
        let settings = &self.settings;
        let pixels = Pixels::take(settings, &mut item, context)?;
        let regions = pixels.regions(settings)?;
        let partials = pixels.partials(settings, &regions, context)?;
        let place = Place::of(&item);
        let mut rows = Vec::new();
        for ((zone, region), partials) in regions.iter().zip(&partials) {
            for (band, partial) in pixels.bands.iter().zip(partials) {
                let percentiles = settings.percentiles(band, region, partial.moments.count());
                rows.push(settings.row(&place, *zone, &band.description.name, partial, &percentiles)?);
            }
        }
        item.payload = Payload::Rows(rows);
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
