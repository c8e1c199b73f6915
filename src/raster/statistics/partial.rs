//! The mergeable part of statistics: all but percentiles.

use super::{Histogram, Moments, Region, Sample};
use crate::raster::with_pixels;
use crate::raster::{Band, row_order};

/// Statistics of some pixels of one band. Merging those of the parts gives those of the whole, to the bit.
#[derive(Clone, Debug)]
pub struct Partial {
    /// The sum of the weights of all pixels, valid or not.
    pub total: u64,
    /// Moments of the pixels that count.
    pub moments: Moments,
    /// Their histogram, where one is wanted.
    pub histogram: Option<Histogram>,
}

impl Partial {
    /// Statistics of nothing, to be added to.
    pub fn new(histogram: Option<Histogram>) -> Self {
        Self { total: 0, moments: Moments::default(), histogram }
    }

    /// Adds the pixels of a region of a band, which has to be in row order.
    pub fn add(&mut self, band: &Band, region: &Region) {
        self.total += region.total();
        with_pixels!(&band.pixels, array => {
            region.visit(band, row_order(array.as_slice()), |values, weights| self.add_values(values, weights));
        });
    }

    fn add_values<T: Sample>(&mut self, values: &[T], weights: Option<&[u32]>) {
        match weights {
            None => self.moments.add(values),
            Some(weights) => {
                values
                    .iter()
                    .zip(weights)
                    .for_each(|(value, &weight)| self.moments.add_weighted(value.to_f64(), weight));
            }
        }
        if let Some(histogram) = &mut self.histogram {
            for (index, value) in values.iter().enumerate() {
                histogram.add(value.to_f64(), weights.map_or(1, |weights| u64::from(weights[index])));
            }
        }
    }

    /// Adds all that others hold.
    pub fn merge(&mut self, other: &Partial) {
        self.total += other.total;
        self.moments.merge(&other.moments);
        if let (Some(own), Some(other)) = (&mut self.histogram, &other.histogram) {
            own.merge(other);
        }
    }
}
