//! Makes one target pixel of the source pixels that count for it.

use std::cmp::Ordering;

use ndarray::{Array2, ArrayView2};

use super::axis::Taps;
use crate::raster::{Pixel, Resampling};

/// A source and how its pixels become one.
pub(super) struct Reduction<'a, T> {
    pixels: ArrayView2<'a, T>,
    mask: Option<&'a Array2<u8>>,
    resampling: Resampling,
    /// Values and weights of the target pixel at work.
    gathered: Vec<(T, f64)>,
}

impl<'a, T: Pixel> Reduction<'a, T> {
    pub(super) fn new(
        pixels: &ArrayView2<'a, T>,
        mask: Option<&'a Array2<u8>>,
        resampling: Resampling,
    ) -> Self {
        Self { pixels: *pixels, mask, resampling, gathered: Vec::new() }
    }

    /// The value of a target pixel; `None` where it is invalid.
    pub(super) fn value(&mut self, columns: &Taps, rows: &Taps) -> Option<T> {
        if self.resampling.is_areal() {
            self.gather(columns, rows);
            return self.reduced();
        }
        let beneath = (rows.beneath?, columns.beneath?);
        if !self.is_valid(beneath) {
            return None;
        }
        if self.resampling == Resampling::Nearest {
            return Some(self.pixels[beneath]);
        }
        Some(T::from_f64(self.interpolated(columns, rows)))
    }

    fn is_valid(&self, at: (usize, usize)) -> bool {
        self.mask.is_none_or(|mask| mask[at] != 0)
    }

    /// The mean by the kernel's weights; by linear ones where weights below zero would not balance.
    fn interpolated(&self, columns: &Taps, rows: &Taps) -> f64 {
        let whole = self.weighted((columns, &columns.weights), (rows, &rows.weights));
        let is_complete = whole.is_complete && !columns.is_cut && !rows.is_cut;
        if is_complete || !matches!(self.resampling, Resampling::Cubic | Resampling::Lanczos) {
            return whole.sum / whole.weight;
        }
        let linear = self.weighted((columns, &columns.linear), (rows, &rows.linear));
        linear.sum / linear.weight
    }

    fn weighted(&self, (columns, across): (&Taps, &[f64]), (rows, down): (&Taps, &[f64])) -> Weighted {
        let mut total = Weighted { sum: 0.0, weight: 0.0, is_complete: true };
        for (row, down) in (rows.first..).zip(down) {
            for (col, across) in (columns.first..).zip(across) {
                let weight = down * across;
                if weight == 0.0 {
                    continue;
                }
                if self.is_valid((row, col)) {
                    total.sum += weight * self.pixels[(row, col)].to_f64();
                    total.weight += weight;
                } else {
                    total.is_complete = false;
                }
            }
        }
        total
    }

    /// Collects the valid pixels of an area with the part of each that is covered.
    fn gather(&mut self, columns: &Taps, rows: &Taps) {
        self.gathered.clear();
        for (row, down) in (rows.first..).zip(&rows.weights) {
            for (col, across) in (columns.first..).zip(&columns.weights) {
                if self.mask.is_none_or(|mask| mask[(row, col)] != 0) {
                    self.gathered.push((self.pixels[(row, col)], down * across));
                }
            }
        }
    }

    fn reduced(&mut self) -> Option<T> {
        let values = self.gathered.iter().map(|(value, _)| *value);
        match self.resampling {
            Resampling::Min => values.reduce(|a, b| if b < a { b } else { a }),
            Resampling::Max => values.reduce(|a, b| if b > a { b } else { a }),
            Resampling::Average => self.total().map(|(sum, weight)| T::from_f64(sum / weight)),
            Resampling::Sum => self.total().map(|(sum, _)| T::from_f64(sum)),
            Resampling::Mode => self.mode(),
            Resampling::Q1 => self.quartile(1),
            Resampling::Q3 => self.quartile(3),
            _ => self.quartile(2),
        }
    }

    fn total(&self) -> Option<(f64, f64)> {
        let add = |(sum, total): (f64, f64), (value, weight): &(T, f64)| {
            (sum + weight * value.to_f64(), total + weight)
        };
        (!self.gathered.is_empty()).then(|| self.gathered.iter().fold((0.0, 0.0), add))
    }

    /// The value that covers most, the smallest of equals.
    fn mode(&mut self) -> Option<T> {
        self.gathered.sort_by(by_value);
        let groups = self.gathered.chunk_by(|a, b| a.0 == b.0);
        let covers = groups.map(|group| (group[0].0, group.iter().map(|(_, weight)| weight).sum::<f64>()));
        covers.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(value, _)| value)
    }

    /// The value of rank ceil(n × quarters / 4) of n, counted from 1.
    fn quartile(&mut self, quarters: usize) -> Option<T> {
        let rank = (self.gathered.len() * quarters).div_ceil(4).checked_sub(1)?;
        Some(self.gathered.select_nth_unstable_by(rank, by_value).1.0)
    }
}

struct Weighted {
    sum: f64,
    weight: f64,
    is_complete: bool,
}

fn by_value<T: Pixel>(a: &(T, f64), b: &(T, f64)) -> Ordering {
    a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal)
}
