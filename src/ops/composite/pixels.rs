//! One band of the output, strip by strip.

use std::any::Any;
use std::borrow::Cow;

use ndarray::ArcArray2;

use super::levels::Level;
use crate::contract::{ComputeContext, Failure};
use crate::ops::blocks::{BLOCK, for_each_block};
use crate::raster::reduce::{Layer, Reduce, choose, compute, select};
use crate::raster::statistics::Sample;
use crate::raster::with_pixels;
use crate::raster::{
    Band, BandDescription, BandPixels, DataType, Encoding, Neighbour, Pixel, Validity, Window, row_order,
    with_pixel_type,
};

/// Pixels of a strip at most: those of a hundred members stay in the second-level cache or near it.
pub(super) const STRIP: usize = 2048;

/// The same band of every member, in one type.
#[derive(Debug)]
pub(super) struct BandStack {
    /// Each with the window that it holds.
    bands: Vec<(Window, Band)>,
    own_type: DataType,
    data_type: DataType,
}

impl BandStack {
    /// Brings bands to the type that holds the values of all. They have to be in row order, and at least one.
    pub(super) fn new(mut bands: Vec<(Window, Band)>) -> BandStack {
        let types = bands.iter().map(|(_, band)| band.pixels.data_type());
        let own_type = bands[0].1.pixels.data_type();
        let data_type = types.fold(own_type, DataType::common);
        for (_, band) in &mut bands {
            with_pixel_type!(data_type, T => widen::<T>(&mut band.pixels));
        }
        BandStack { bands, own_type, data_type }
    }

    /// The type of all.
    pub(super) fn data_type(&self) -> DataType {
        self.data_type
    }

    /// The type that the first member had.
    pub(super) fn own_type(&self) -> DataType {
        self.own_type
    }

    /// What the first member says.
    pub(super) fn description(&self) -> &BandDescription {
        &self.bands[0].1.description
    }

    /// Whether a condition holds for every member.
    pub(super) fn all(&self, holds: impl Fn(&BandDescription) -> bool) -> bool {
        self.bands.iter().all(|(_, band)| holds(&band.description))
    }

    /// A piece of one row of the grid, from every member.
    fn layers<T: Sample>(&self, row: u64, col: u64, length: usize) -> Vec<Layer<T>> {
        self.bands.iter().map(|(window, band)| layer(window, band, row, col, length)).collect()
    }

    /// The same as `f64`, whatever the type.
    fn layers_f64(&self, row: u64, col: u64, length: usize) -> Vec<Layer<f64>> {
        with_pixel_type!(self.data_type, T => {
            self.layers::<T>(row, col, length).iter().map(Layer::to_f64).collect()
        })
    }
}

/// Brings pixels to another type, if they do not have it.
fn widen<T: Pixel>(pixels: &mut BandPixels) {
    if pixels.data_type() != T::DATA_TYPE {
        *pixels = with_pixels!(&*pixels, array => T::wrap(array.mapv(|pixel| T::from_f64(pixel.to_f64())).into_shared()));
    }
}

/// The pixels of a band whose type is known to be `T`.
fn typed<T: Pixel>(pixels: &BandPixels) -> &ArcArray2<T> {
    let array = with_pixels!(pixels, array => (array as &dyn Any).downcast_ref::<ArcArray2<T>>());
    array.expect("a stack has one type")
}

/// A piece of a row from one member; what it does not hold is invalid.
fn layer<T: Sample>(window: &Window, band: &Band, row: u64, col: u64, length: usize) -> Layer<T> {
    let mut layer = Layer::invalid(length);
    let (from, to) = (col.max(window.col), (col + length as u64).min(window.col + window.width));
    if row < window.row || row >= window.row + window.height || from >= to {
        return layer;
    }
    let first = ((row - window.row) * window.width + from - window.col) as usize;
    let (range, own) = (first..first + (to - from) as usize, (from - col) as usize..(to - col) as usize);
    let pixels = &row_order(typed::<T>(&band.pixels).as_slice())[range.clone()];
    layer.pixels[own.clone()].copy_from_slice(pixels);
    let valid = layer.valid[own].iter_mut().zip(pixels);
    match band.mask(range) {
        None => valid.for_each(|(valid, pixel)| *valid = u8::from(pixel.is_counted())),
        Some(mask) => {
            valid
                .zip(mask)
                .for_each(|((valid, pixel), &mask)| *valid = u8::from(mask != 0 && pixel.is_counted()));
        }
    }
    layer
}

/// What one band of the output is made from.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    /// The band of every member.
    pub(super) stack: &'a BandStack,
    /// The quality band of every member.
    pub(super) quality: Option<&'a BandStack>,
    /// Whether the lowest quality is the best.
    pub(super) is_lowest: bool,
    /// The steps, innermost first.
    pub(super) levels: &'a [Level],
    /// The part of the grid that is wanted.
    pub(super) window: Window,
}

impl Work<'_> {
    /// The pixels of the output, in its type.
    ///
    /// # Errors
    /// A cancellation.
    pub(super) fn run(
        &self,
        data_type: DataType,
        context: &ComputeContext,
    ) -> Result<(BandPixels, Validity), Failure> {
        with_pixel_type!(data_type, T => self.run_as::<T>(context))
    }

    fn run_as<T: Neighbour + Sample>(
        &self,
        context: &ComputeContext,
    ) -> Result<(BandPixels, Validity), Failure> {
        let (rows, columns) = (self.window.height as usize, self.window.width as usize);
        let (mut pixels, mut valid) = (vec![T::default(); rows * columns], vec![0; rows * columns]);
        let rows_of_block = (BLOCK / columns.max(1)).max(1);
        let length = rows_of_block * columns.max(1);
        let blocks = pixels.chunks_mut(length).zip(valid.chunks_mut(length)).enumerate().collect();
        for_each_block(context, blocks, |(block, (pixels, valid)): (usize, (&mut [T], &mut [u8]))| {
            let rows = pixels.chunks_mut(columns).zip(valid.chunks_mut(columns)).enumerate();
            rows.for_each(|(row, (pixels, valid))| {
                self.row((block * rows_of_block + row) as u64, pixels, valid);
            });
            Ok(())
        })?;
        Ok((BandPixels::from_rows(pixels, (rows, columns)), Validity::from_rows(valid, (rows, columns))))
    }

    /// One row of the output.
    fn row<T: Neighbour + Sample>(&self, row: u64, pixels: &mut [T], valid: &mut [u8]) {
        let strips = pixels.chunks_mut(STRIP).zip(valid.chunks_mut(STRIP)).enumerate();
        for (strip, (pixels, valid)) in strips {
            let (row, col) = (self.window.row + row, self.window.col + (strip * STRIP) as u64);
            let result = self.strip::<T>(row, col, pixels.len());
            pixels.copy_from_slice(&result.pixels);
            valid.copy_from_slice(&result.valid);
        }
    }

    fn strip<T: Neighbour + Sample>(&self, row: u64, col: u64, length: usize) -> Layer<T> {
        let choices = self.choices(row, col, length);
        let steps = || self.levels.iter().zip(&choices);
        let selecting = self.levels.iter().take_while(|level| level.reduce.selects()).count();
        if selecting == self.levels.len() {
            // Such a result has the type of the members, so that nothing is converted.
            let layers =
                steps().fold(self.stack.layers::<T>(row, col, length), |layers, (level, choices)| {
                    level
                        .groups
                        .iter()
                        .zip(choices)
                        .map(|(group, choice)| selected(level, group, &layers, choice))
                        .collect()
                });
            return layers.into_iter().next().unwrap_or_else(|| Layer::invalid(length));
        }
        let layers = steps().fold(self.stack.layers_f64(row, col, length), |layers, (level, choices)| {
            level
                .groups
                .iter()
                .zip(choices)
                .map(|(group, choice)| reduced(level, group, &layers, choice))
                .collect()
        });
        layers.first().map_or_else(|| Layer::invalid(length), stored)
    }

    /// For each step and group the layer that quality chooses for each pixel; empty where nothing is chosen.
    fn choices(&self, row: u64, col: u64, length: usize) -> Vec<Vec<Cow<'static, [u32]>>> {
        let Some(quality) = self.quality else {
            return self
                .levels
                .iter()
                .map(|level| vec![Cow::Borrowed(&[][..]); level.groups.len()])
                .collect();
        };
        let mut layers = quality.layers_f64(row, col, length);
        let mut all = Vec::with_capacity(self.levels.len());
        for level in self.levels {
            let choices: Vec<_> =
                level.groups.iter().map(|group| self.choice(level, group, &layers)).collect();
            let groups = level.groups.iter().zip(&choices);
            layers = groups.map(|(group, choice)| reduced(level, group, &layers, choice)).collect();
            all.push(choices);
        }
        all
    }

    fn choice(&self, level: &Level, group: &[usize], quality: &[Layer<f64>]) -> Cow<'static, [u32]> {
        match level.reduce {
            Reduce::Quality => Cow::Owned(choose(&members(group, quality), self.is_lowest)),
            _ => Cow::Borrowed(&[]),
        }
    }
}

fn members<'a, T>(group: &[usize], layers: &'a [Layer<T>]) -> Vec<&'a Layer<T>> {
    group.iter().map(|&index| &layers[index]).collect()
}

fn selected<T: Pixel>(level: &Level, group: &[usize], layers: &[Layer<T>], choice: &[u32]) -> Layer<T> {
    select(level.reduce, &members(group, layers), choice)
}

fn reduced(level: &Level, group: &[usize], layers: &[Layer<f64>], choice: &[u32]) -> Layer<f64> {
    if level.reduce.selects() {
        return selected(level, group, layers, choice);
    }
    compute(level.reduce, &members(group, layers))
}

/// Computed values in the type of the output.
fn stored<T: Neighbour>(layer: &Layer<f64>) -> Layer<T> {
    let values: Vec<f64> = layer
        .pixels
        .iter()
        .zip(&layer.valid)
        .map(|(&value, &valid)| if valid == 0 { f64::NAN } else { value })
        .collect();
    let mut result = Layer::invalid(values.len());
    Encoding::plain(T::DATA_TYPE, None).store(&values, &mut result.pixels, &mut result.valid);
    result
}
