//! The pixels of a band that statistics are made of.

use super::{CHUNK, Sample, keep_counted};
use crate::raster::with_pixels;
use crate::raster::{Band, row_order};

/// Stretches of the pixels of a band, counted row by row, and how much each pixel counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// (first pixel, length), in any order, without overlap.
    pub stretches: Vec<(usize, usize)>,
    /// The weight of each pixel of the stretches, one after the other; `None` where every pixel counts as 1.
    pub weights: Option<Vec<u32>>,
}

impl Region {
    /// The sum of the weights of all its pixels, whether they are valid or not.
    pub fn total(&self) -> u64 {
        match &self.weights {
            Some(weights) => weights.iter().map(|&weight| u64::from(weight)).sum(),
            None => self.stretches.iter().map(|&(_, length)| length as u64).sum(),
        }
    }

    /// Calls `visit` with the values of the region that count and, where it has weights, theirs, in lists of at most [`CHUNK`].
    pub fn visit<T: Sample>(&self, band: &Band, pixels: &[T], mut visit: impl FnMut(&[T], Option<&[u32]>)) {
        match &self.weights {
            None => self.visit_plain(band, pixels, |values| visit(values, None)),
            Some(weights) => {
                let (values, weights) = self.weighted(band, pixels, weights);
                let lists = values.chunks(CHUNK).zip(weights.chunks(CHUNK));
                lists.for_each(|(values, weights)| visit(values, Some(weights)));
            }
        }
    }

    fn visit_plain<T: Sample>(&self, band: &Band, pixels: &[T], mut visit: impl FnMut(&[T])) {
        let mut kept = Vec::with_capacity(CHUNK);
        for &(first, length) in &self.stretches {
            for begin in (first..first + length).step_by(CHUNK) {
                let range = begin..(begin + CHUNK).min(first + length);
                if kept.len() + range.len() > CHUNK {
                    visit(&kept);
                    kept.clear();
                }
                keep_counted(&pixels[range.clone()], band.mask(range), &mut kept);
            }
        }
        if !kept.is_empty() {
            visit(&kept);
        }
    }

    /// The values that count with their weights.
    fn weighted<T: Sample>(&self, band: &Band, pixels: &[T], weights: &[u32]) -> (Vec<T>, Vec<u32>) {
        let places = self.stretches.iter().flat_map(|&(first, length)| first..first + length);
        let counts = |&(place, weight): &(usize, u32)| {
            weight > 0
                && pixels[place].is_counted()
                && band.mask(place..place + 1).is_none_or(|valid| valid[0] != 0)
        };
        places
            .zip(weights.iter().copied())
            .filter(counts)
            .map(|(place, weight)| (pixels[place], weight))
            .unzip()
    }

    /// The keys of the values that count, in lists, as [`super::percentile::keys_of_ranks`] takes them.
    pub fn keys(&self, band: &Band, visit: &mut dyn FnMut(&[u64])) {
        let mut keys = Vec::new();
        with_pixels!(&band.pixels, array => self.visit(band, row_order(array.as_slice()), |values, _| {
            keys.clear();
            keys.extend(values.iter().map(|value| value.key()));
            visit(&keys);
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::{BandDescription, BandPixels, Validity};

    #[test]
    fn stretches_and_weights_select_what_counts() {
        let band = Band {
            description: BandDescription::named("a"),
            pixels: BandPixels::from_rows((0..12_u8).collect(), (3, 4)),
            validity: Validity::from_rows(vec![1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1], (3, 4)),
        };
        let mut region = Region { stretches: vec![(1, 2), (5, 2)], weights: None };
        let pixels: Vec<u8> = (0..12).collect();
        let found = |region: &Region| {
            let mut found = Vec::new();
            region.visit(&band, &pixels, |values, weights| {
                found.push((values.to_vec(), weights.map(<[u32]>::to_vec)));
            });
            found
        };
        assert_eq!(found(&region), [(vec![1, 2, 6], None)]);
        assert_eq!(region.total(), 4);
        region.weights = Some(vec![3, 0, 7, 5]);
        assert_eq!(found(&region), [(vec![1, 6], Some(vec![3, 5]))]);
        assert_eq!(region.total(), 15);
    }
}
