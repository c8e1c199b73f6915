//! The windows of one parent on their way into the parent's rows.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::Settings;
use super::pixels::Pixels;
use super::rows::Place;
use super::spool::Spool;
use crate::contract::{Assembly, ComputeContext, Failure, Item, Payload};
use crate::raster::DataType;
use crate::raster::statistics::{Partial, percentile};

/// One item whose windows are summed.
pub(super) struct Begun {
    settings: Arc<Settings>,
    /// The item that comes out, its payload still lacking.
    parent: Item,
    bands: Vec<(String, DataType)>,
    /// For each zone that holds a pixel the sums of every band.
    sums: Mutex<BTreeMap<usize, Vec<Partial>>>,
    /// The values, where percentiles are wanted.
    spool: Option<Spool>,
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
    let pixels = Pixels::take(settings, &mut window.clone(), context)?;
    let bands =
        pixels.bands.into_iter().map(|band| (band.description.name, band.pixels.data_type())).collect();
    let create = || Spool::create(context).map_err(|error| failure(&error));
    let spool = (!settings.percentiles.is_empty()).then(create).transpose()?;
    Ok(Begun { settings: settings.clone(), parent: window.parent(), bands, sums: Mutex::default(), spool })
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
        let pixels = Pixels::take(&self.settings, &mut window, context)?;
        let regions = pixels.regions(&self.settings)?;
        let partials = pixels.partials(&self.settings, &regions, context)?;
        for ((zone, region), partials) in regions.iter().zip(partials) {
            if let Some(spool) = &self.spool {
                for (index, band) in pixels.bands.iter().enumerate() {
                    spool.add(self.series(*zone, index), band, region).map_err(|error| failure(&error))?;
                }
            }
            self.merge(*zone, partials);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _context: &ComputeContext) -> Result<Item, Failure> {
        let place = Place::of(&self.parent);
        let mut rows = Vec::new();
        for (zone, partials) in self.sums.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            for (index, partial) in partials.iter().enumerate() {
                let percentiles = self.percentiles(*zone, index, partial.moments.count())?;
                rows.push(self.settings.row(&place, *zone, &self.bands[index].0, partial, &percentiles)?);
            }
        }
        Ok(Item { payload: Payload::Rows(rows), ..self.parent })
    }
}

impl Begun {
    fn merge(&self, zone: usize, partials: Vec<Partial>) {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        match sums.entry(zone) {
            Entry::Vacant(vacant) => {
                vacant.insert(partials);
            }
            Entry::Occupied(mut known) => {
                known.get_mut().iter_mut().zip(&partials).for_each(|(sum, partial)| sum.merge(partial));
            }
        }
    }

    /// The series of the spool for a zone and band.
    fn series(&self, zone: usize, band: usize) -> usize {
        zone * self.bands.len() + band
    }

    fn percentiles(&self, zone: usize, band: usize, count: u64) -> Result<Vec<Option<f64>>, Failure> {
        let Some(spool) = &self.spool else { return Ok(Vec::new()) };
        let data_type = self.bands[band].1;
        let size = data_type.size() as usize;
        let scan = |visit: &mut dyn FnMut(&[u64])| spool.scan(self.series(zone, band), size, visit);
        percentile::find(&self.settings.percentiles, data_type, count, scan).map_err(|error| failure(&error))
    }
}
