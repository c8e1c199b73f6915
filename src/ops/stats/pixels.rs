//! The pixels of one raster, by zone, and what they sum to.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Settings, Zones};
use crate::contract::{ComputeContext, Failure, Item};
use crate::ops::blocks::{BLOCK, for_each_block};
use crate::ops::rasters::{Part, take_raster, with_wanted};
use crate::raster::polygons::{Coverage, GridPolygon, Span, WHOLE};
use crate::raster::statistics::{Partial, Region, percentile};
use crate::raster::{Band, Grid, Window};

/// The bands that count, and the part of them that is wanted.
pub(super) struct Pixels {
    /// In row order.
    pub(super) bands: Vec<Band>,
    part: Part,
    grid: Arc<Grid>,
    held: Window,
    wanted: Window,
}

/// The number of a zone and its pixels; without zones there is one, of all pixels.
pub(super) type ZoneRegion = (usize, Region);

impl Pixels {
    /// Takes them out of an item.
    pub(super) fn take(
        settings: &Settings,
        item: &mut Item,
        context: &ComputeContext,
    ) -> Result<Pixels, Failure> {
        let raster = take_raster(item)?;
        let found = raster.members.len();
        let mut members = with_wanted(raster, context)?;
        let (Some((member, wanted)), None) = (members.next(), members.next()) else {
            return Err(Failure::item(format!("`stats` works on one image, found {found}")));
        };
        let part = Part::of(&member, &wanted)?;
        let names: Vec<&str> = member.bands.iter().map(|band| band.description.name.as_str()).collect();
        let selected = settings.selected(&names)?;
        let bands = selected.into_iter().map(|band| member.bands[band].clone().in_row_order()).collect();
        Ok(Pixels { bands, part, grid: member.grid, held: member.window, wanted })
    }

    /// The zones that hold any of the pixels, in their order.
    pub(super) fn regions(&self, settings: &Settings) -> Result<Vec<ZoneRegion>, Failure> {
        let Some(Zones { file, coverage }) = &settings.zones else {
            return Ok(vec![(0, stretch(self.part, 0, self.part.pixels()))]);
        };
        let polygons = file.on_grid(&self.grid)?;
        let region = |polygon: &GridPolygon| self.region(&polygon.spans(&self.wanted, *coverage), *coverage);
        let regions = polygons.iter().map(region).enumerate();
        Ok(regions.filter(|(_, region)| !region.stretches.is_empty()).collect())
    }

    fn region(&self, spans: &[Span], coverage: Coverage) -> Region {
        let stretch = |span: &Span| {
            let first = (span.row - self.held.row) * self.held.width + span.columns.start - self.held.col;
            (first as usize, (span.columns.end - span.columns.start) as usize)
        };
        let weights = || spans.iter().flat_map(|span| span.weights.iter().copied()).collect();
        Region {
            stretches: spans.iter().map(stretch).collect(),
            weights: (coverage == Coverage::Fraction).then(weights),
        }
    }

    /// The statistics of every zone and band, percentiles left out. Blocks, or zones, may be summed on idle cores.
    pub(super) fn partials(
        &self,
        settings: &Settings,
        regions: &[ZoneRegion],
        context: &ComputeContext,
    ) -> Result<Vec<Vec<Partial>>, Failure> {
        if settings.zones.is_none() {
            let sums = self.bands.iter().map(|band| self.sum(settings, band, context));
            return Ok(vec![sums.collect::<Result<_, _>>()?]);
        }
        let mut partials = vec![vec![settings.partial(); self.bands.len()]; regions.len()];
        let blocks = regions.iter().zip(&mut partials).collect();
        for_each_block(context, blocks, |((_, region), partials): (&ZoneRegion, &mut Vec<Partial>)| {
            self.bands.iter().zip(partials).for_each(|(band, partial)| partial.add(band, region));
            Ok(())
        })?;
        Ok(partials)
    }

    fn sum(&self, settings: &Settings, band: &Band, context: &ComputeContext) -> Result<Partial, Failure> {
        let whole = Mutex::new(settings.partial());
        let blocks = (0..self.part.pixels()).step_by(BLOCK).map(|begin| stretch(self.part, begin, BLOCK));
        for_each_block(context, blocks.collect(), |block: Region| {
            let mut partial = settings.partial();
            partial.add(band, &block);
            whole.lock().unwrap_or_else(PoisonError::into_inner).merge(&partial);
            Ok(())
        })?;
        Ok(whole.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// At most `length` pixels of a part, from one on.
fn stretch(part: Part, begin: usize, length: usize) -> Region {
    let mut stretches = Vec::new();
    let end = (begin + length).min(part.pixels());
    part.stretches(begin, end, usize::MAX, |from, _, length| stretches.push((from, length)));
    Region { stretches, weights: None }
}

impl Settings {
    /// Statistics of nothing.
    pub(super) fn partial(&self) -> Partial {
        Partial::new(self.histogram.clone())
    }

    /// The weight of a whole pixel.
    pub(super) fn whole(&self) -> u64 {
        match &self.zones {
            Some(Zones { coverage: Coverage::Fraction, .. }) => u64::from(WHOLE),
            _ => 1,
        }
    }

    /// The percentiles of a region of a band.
    pub(super) fn percentiles(&self, band: &Band, region: &Region, count: u64) -> Vec<Option<f64>> {
        let scan = |visit: &mut dyn FnMut(&[u64])| {
            region.keys(band, visit);
            Ok::<(), Infallible>(())
        };
        match percentile::find(&self.percentiles, band.pixels.data_type(), count, scan) {
            Ok(values) => values,
            Err(never) => match never {},
        }
    }
}
