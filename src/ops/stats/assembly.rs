//! The windows of one parent on their way into the parent's rows.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::rows::Place;
use super::spool::Spool;
use super::{Settings, region};
use crate::contract::{Assembly, ComputeContext, Failure, Item, Lineage, Payload};
use crate::raster::DataType;
use crate::raster::statistics::{Partial, percentile};

/// One item whose windows are summed.
pub(super) struct Begun {
    settings: Arc<Settings>,
    /// The item that comes out, its payload still lacking.
    parent: Item,
    series: Vec<Series>,
    /// The values, where percentiles are wanted.
    spool: Option<Spool>,
}

/// One band of the item.
struct Series {
    band: String,
    data_type: DataType,
    partial: Mutex<Partial>,
}

/// Begins the statistics of the parent of `window`.
///
/// # Errors
/// A window without the bands that are asked for, scratch that cannot be written.
pub(super) fn begin(
    settings: &Arc<Settings>,
    window: &Item,
    context: &ComputeContext,
) -> Result<Begun, Failure> {
    let (bands, _) = settings.pixels(&mut window.clone(), context)?;
    let series = bands.into_iter().map(|band| Series {
        data_type: band.pixels.data_type(),
        band: band.description.name,
        partial: Mutex::new(settings.partial()),
    });
    let series: Vec<Series> = series.collect();
    let create = || Spool::create(series.len(), context).map_err(|error| failure(&error));
    let spool = (!settings.percentiles.is_empty()).then(create).transpose()?;
    Ok(Begun { settings: settings.clone(), parent: parent_of(window), series, spool })
}

/// The item that the windows are parts of.
fn parent_of(window: &Item) -> Item {
    let lineage = Lineage { parent: None, position: None, window: None, ..window.lineage.clone() };
    Item {
        id: window.reported_id().clone(),
        properties: window.properties.clone(),
        lineage,
        payload: Payload::Rows(Vec::new()),
    }
}

/// A full disk ends the run; other faults of the disk concern the item.
fn failure(error: &io::Error) -> Failure {
    let message = format!("cannot spool values for percentiles: {error}");
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Failure::fatal(message),
        _ => Failure::item(message),
    }
}

impl Assembly for Begun {
    fn add(&self, mut window: Item, context: &ComputeContext) -> Result<(), Failure> {
        let (bands, part) = self.settings.pixels(&mut window, context)?;
        for (index, (band, series)) in bands.iter().zip(&self.series).enumerate() {
            let partial = self.settings.sum(band, part, context)?;
            series.partial.lock().unwrap_or_else(PoisonError::into_inner).merge(&partial);
            if let Some(spool) = &self.spool {
                spool.add(index, band, &region(part, 0, part.pixels())).map_err(|error| failure(&error))?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _context: &ComputeContext) -> Result<Item, Failure> {
        let place = Place::of(&self.parent);
        let row = |(index, series): (usize, &Series)| {
            let partial = series.partial.lock().unwrap_or_else(PoisonError::into_inner);
            let percentiles = self.percentiles(index, series, partial.moments.count())?;
            Ok(self.settings.row(&place, &series.band, &partial, &percentiles))
        };
        let rows = self.series.iter().enumerate().map(row).collect::<Result<_, Failure>>()?;
        Ok(Item { payload: Payload::Rows(rows), ..self.parent })
    }
}

impl Begun {
    fn percentiles(&self, index: usize, series: &Series, count: u64) -> Result<Vec<Option<f64>>, Failure> {
        let Some(spool) = &self.spool else { return Ok(Vec::new()) };
        let size = series.data_type.size() as usize;
        let scan = |visit: &mut dyn FnMut(&[u64])| spool.scan(index, size, visit);
        percentile::find(&self.settings.percentiles, series.data_type, count, scan)
            .map_err(|error| failure(&error))
    }
}
