//! Many layers of pixels → one, pixel by pixel over the valid values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DataType, Pixel};

/// How the values of one pixel in several layers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduce {
    /// The first valid value.
    First,
    /// The last valid value.
    Last,
    /// The arithmetic mean.
    Mean,
    /// The median: of an even number of values the mean of the two in the middle.
    Median,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// How many values are valid; nodata where none is.
    Count,
    /// The sum.
    Sum,
    /// The value where the quality band is best, all bands from the same layer.
    Quality,
}

impl Reduce {
    /// Whether the result is one of the values, in their own type.
    pub fn selects(self) -> bool {
        matches!(self, Reduce::First | Reduce::Last | Reduce::Min | Reduce::Max | Reduce::Quality)
    }

    /// The type of the result for values of a type.
    pub fn data_type(self, values: DataType) -> DataType {
        match self {
            Reduce::Count => DataType::Uint32,
            Reduce::Sum if !values.is_float() => DataType::Float64,
            Reduce::Mean | Reduce::Median if !values.is_float() => {
                if values.size() <= 2 {
                    DataType::Float32
                } else {
                    DataType::Float64
                }
            }
            _ => values,
        }
    }
}

/// Some pixels of one image.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer<T> {
    /// Their values.
    pub pixels: Vec<T>,
    /// Which of them are valid: not zero.
    pub valid: Vec<u8>,
}

/// That no layer is chosen for a pixel.
pub const NONE: u32 = u32::MAX;

impl<T: Pixel> Layer<T> {
    /// Pixels of which none is valid.
    pub fn invalid(length: usize) -> Self {
        Self { pixels: vec![T::default(); length], valid: vec![0; length] }
    }

    /// The same values as `f64`.
    pub fn to_f64(&self) -> Layer<f64> {
        Layer { pixels: self.pixels.iter().map(|pixel| pixel.to_f64()).collect(), valid: self.valid.clone() }
    }

    /// Takes over the pixels of another layer for which `better(own, other)` holds, or of which only the other is valid.
    fn take(&mut self, other: &Layer<T>, better: impl Fn(T, T) -> bool) {
        let own = self.pixels.iter_mut().zip(&mut self.valid);
        for ((pixel, valid), (&candidate, &is_candidate)) in own.zip(other.pixels.iter().zip(&other.valid)) {
            if is_candidate != 0 && (*valid == 0 || better(*pixel, candidate)) {
                (*pixel, *valid) = (candidate, 1);
            }
        }
    }
}

/// The result of a reduction that selects; `choice` is the layer of each pixel for [`Reduce::Quality`].
pub fn select<T: Pixel>(reduce: Reduce, layers: &[&Layer<T>], choice: &[u32]) -> Layer<T> {
    let mut result = Layer::invalid(layers.first().map_or(0, |layer| layer.pixels.len()));
    if reduce == Reduce::Quality {
        for (index, &chosen) in choice.iter().enumerate() {
            if let Some(layer) = layers.get(chosen as usize) {
                (result.pixels[index], result.valid[index]) = (layer.pixels[index], layer.valid[index]);
            }
        }
        return result;
    }
    for layer in layers {
        match reduce {
            Reduce::Last => result.take(layer, |_, _| true),
            Reduce::Min => result.take(layer, |own, other| other < own),
            Reduce::Max => result.take(layer, |own, other| other > own),
            _ => result.take(layer, |_, _| false),
        }
    }
    result
}

/// The layer with the highest (or lowest) valid quality for each pixel, the first of equal ones; [`NONE`] without any.
pub fn choose(quality: &[&Layer<f64>], is_lowest: bool) -> Vec<u32> {
    let length = quality.first().map_or(0, |layer| layer.pixels.len());
    let (mut best, mut choice) = (vec![0.0; length], vec![NONE; length]);
    for (place, layer) in quality.iter().enumerate() {
        for (index, (&value, &valid)) in layer.pixels.iter().zip(&layer.valid).enumerate() {
            let is_better = if is_lowest { value < best[index] } else { value > best[index] };
            if valid != 0 && (choice[index] == NONE || is_better) {
                (best[index], choice[index]) = (value, place as u32);
            }
        }
    }
    choice
}

/// The result of a reduction that computes. Sums are taken in the order of the layers.
pub fn compute(reduce: Reduce, layers: &[&Layer<f64>]) -> Layer<f64> {
    match reduce {
        Reduce::Median => median(layers),
        Reduce::Mean => sum_and_count(layers, |sum, count| sum / f64::from(count)),
        Reduce::Count => sum_and_count(layers, |_, count| f64::from(count)),
        _ => sum_and_count(layers, |sum, _| sum),
    }
}

fn sum_and_count(layers: &[&Layer<f64>], result: impl Fn(f64, u32) -> f64) -> Layer<f64> {
    let length = layers.first().map_or(0, |layer| layer.pixels.len());
    let (mut sums, mut counts) = (vec![0.0; length], vec![0_u32; length]);
    for layer in layers {
        for (index, (&value, &valid)) in layer.pixels.iter().zip(&layer.valid).enumerate() {
            if valid != 0 {
                sums[index] += value;
                counts[index] += 1;
            }
        }
    }
    let pixels = sums.iter().zip(&counts).map(|(&sum, &count)| result(sum, count)).collect();
    Layer { pixels, valid: counts.iter().map(|&count| u8::from(count > 0)).collect() }
}

fn median(layers: &[&Layer<f64>]) -> Layer<f64> {
    let length = layers.first().map_or(0, |layer| layer.pixels.len());
    let mut result = Layer::invalid(length);
    let mut values = Vec::with_capacity(layers.len());
    for index in 0..length {
        values.clear();
        values.extend(layers.iter().filter(|layer| layer.valid[index] != 0).map(|layer| layer.pixels[index]));
        if let Some(median) = median_of(&mut values) {
            (result.pixels[index], result.valid[index]) = (median, 1);
        }
    }
    result
}

fn median_of(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    if values.is_empty() {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| is_even);
    Some(lower.map_or(upper, |lower| f64::midpoint(lower, upper)))
}

impl DataType {
    /// The smallest type that holds every value of both; `float64` where only rounding makes them fit (64-bit integers of both
    /// signs, or beside floats).
    #[must_use]
    pub fn common(self, other: DataType) -> DataType {
        if self == other {
            return self;
        }
        let holds = |wide: DataType, narrow: DataType| {
            let ((low, high), (least, most)) = (wide.range(), narrow.range());
            let digits = if wide == DataType::Float32 { 2 } else { 4 };
            let is_exact = !wide.is_float() || narrow.is_float() || narrow.size() <= digits;
            is_exact && (wide.is_float() || !narrow.is_float()) && low <= least && high >= most
        };
        let candidates = DataType::ALL.into_iter().filter(|wide| holds(*wide, self) && holds(*wide, other));
        candidates.min_by_key(|wide| wide.size()).unwrap_or(DataType::Float64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer<T: Pixel>(pixels: &[Option<T>]) -> Layer<T> {
        Layer {
            pixels: pixels.iter().map(|pixel| pixel.unwrap_or_default()).collect(),
            valid: pixels.iter().map(|pixel| u8::from(pixel.is_some())).collect(),
        }
    }

    fn values<T: Pixel>(layer: &Layer<T>) -> Vec<Option<T>> {
        layer.pixels.iter().zip(&layer.valid).map(|(&pixel, &valid)| (valid != 0).then_some(pixel)).collect()
    }

    #[test]
    fn only_valid_values_are_reduced() {
        let layers = [
            layer(&[Some(5.0), None, Some(1.0), None]),
            layer(&[Some(2.0), Some(7.0), Some(2.0), None]),
            layer(&[Some(9.0), None, Some(3.0), None]),
            layer(&[None, None, Some(10.0), None]),
        ];
        let layers: Vec<&Layer<f64>> = layers.iter().collect();
        let cases = [
            (Reduce::First, [5.0, 7.0, 1.0]),
            (Reduce::Last, [9.0, 7.0, 10.0]),
            (Reduce::Min, [2.0, 7.0, 1.0]),
            (Reduce::Max, [9.0, 7.0, 10.0]),
            (Reduce::Sum, [16.0, 7.0, 16.0]),
            (Reduce::Count, [3.0, 1.0, 4.0]),
            (Reduce::Mean, [16.0 / 3.0, 7.0, 4.0]),
            (Reduce::Median, [5.0, 7.0, 2.5]),
        ];
        for (reduce, [a, b, c]) in cases {
            let result =
                if reduce.selects() { select(reduce, &layers, &[]) } else { compute(reduce, &layers) };
            assert_eq!(values(&result), [Some(a), Some(b), Some(c), None], "{reduce:?}");
        }
    }

    #[test]
    fn the_best_quality_chooses_the_layer_even_where_its_band_is_invalid() {
        let quality =
            [layer(&[Some(0.1), None, Some(0.5), None]), layer(&[Some(0.9), Some(0.2), Some(0.5), None])];
        let quality: Vec<&Layer<f64>> = quality.iter().collect();
        let choice = choose(&quality, false);
        assert_eq!(choice, [1, 1, 0, NONE]);
        assert_eq!(choose(&quality, true), [0, 1, 0, NONE]);
        let bands =
            [layer(&[Some(1_u8), Some(2), Some(3), Some(4)]), layer(&[Some(10), None, Some(30), Some(40)])];
        let bands: Vec<&Layer<u8>> = bands.iter().collect();
        assert_eq!(values(&select(Reduce::Quality, &bands, &choice)), [Some(10), None, Some(3), None]);
    }

    #[test]
    fn large_integers_are_selected_unrounded() {
        let layers = [layer(&[Some((1_u64 << 53) + 1)]), layer(&[Some(1 << 53)])];
        let layers: Vec<&Layer<u64>> = layers.iter().collect();
        assert_eq!(select(Reduce::Max, &layers, &[]).pixels, [(1 << 53) + 1]);
    }

    #[test]
    fn types_widen_until_every_value_fits() {
        use DataType::{Float32, Float64, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64};
        let cases = [
            (Uint8, Uint16, Uint16),
            (Uint8, Int8, Int16),
            (Uint16, Int16, Int32),
            (Uint32, Int8, Int64),
            (Uint8, Float32, Float32),
            (Int32, Float32, Float64),
            (Uint64, Int64, Float64),
            (Int64, Float32, Float64),
            (Float32, Float64, Float64),
            (Uint64, Uint8, Uint64),
        ];
        for (one, other, common) in cases {
            assert_eq!((one.common(other), other.common(one)), (common, common), "{one} and {other}");
        }
    }
}
