//! Values at a place between pixels: nearest, bilinear, cubic, B-spline, Lanczos.
//!
//! Weights are those of valid pixels, brought to a sum of one. Cubic and Lanczos weights are negative in part, so
//! that a sum over some of them can be anything: beside invalid pixels and at the image's edge they become
//! bilinear, as in GDAL's warper.

use std::f64::consts::PI;

use super::lattice::SNAP;
use super::pixels::Part;
use super::scale::Scale;
use crate::raster::{Pixel, Resampling};

/// Interpolates at places of an image.
pub(super) struct PointKernel {
    resampling: Resampling,
    scale: Scale,
    wide: [WideAxis; 2],
}

impl PointKernel {
    /// A kernel, widened where the target shrinks the image.
    pub(super) fn new(resampling: Resampling, scale: Scale) -> Self {
        Self { resampling, scale, wide: [WideAxis::default(), WideAxis::default()] }
    }

    /// How far, in source pixels, a kernel of fixed size looks, with a pixel for rounding.
    pub(super) fn radius(&self) -> f64 {
        self.resampling.radius() + 1.0
    }

    /// Values at places of which the pixel beneath is valid (`valid` not zero); others are left as they are.
    ///
    /// `is_inner` tells that no kernel at these places leaves the image.
    pub(super) fn values<T: Pixel>(
        &mut self,
        part: &Part<T>,
        places: (&[f64], &[f64]),
        (valid, is_inner): (&[u8], bool),
        out: &mut [T],
    ) {
        let is_wide = self.scale != Scale::NONE;
        let row = Row { places, valid, is_inner };
        match self.resampling {
            Resampling::Bilinear if !is_wide => row.fixed(part, linear, linear, out),
            Resampling::Cubic if !is_wide => row.fixed(part, catmull_rom, linear, out),
            Resampling::CubicSpline if !is_wide => row.fixed(part, b_spline, b_spline, out),
            Resampling::Lanczos if !is_wide => row.fixed(part, lanczos, linear, out),
            Resampling::Bilinear | Resampling::Cubic | Resampling::CubicSpline | Resampling::Lanczos => {
                row.each(out, |place| T::from_f64(self.widened(part, place)));
            }
            _ => row.each(out, |(x, y)| part.at(split(x).0, split(y).0)),
        }
    }

    /// The value at a place when the image shrinks: the kernel spans as many target pixels as it would source pixels.
    fn widened<T: Pixel>(&mut self, part: &Part<T>, (x, y): (f64, f64)) -> f64 {
        let (kernel, radius) = continuous(self.resampling);
        let [columns, rows] = &mut self.wide;
        columns.span(x, self.scale.x, kernel, radius);
        rows.span(y, self.scale.y, kernel, radius);
        let whole = weighted(part, columns.taps(), rows.taps());
        let can_be_partial = !matches!(self.resampling, Resampling::Cubic | Resampling::Lanczos);
        if whole.is_complete || can_be_partial {
            return whole.mean();
        }
        columns.span(x, self.scale.x, triangle, 1.0);
        rows.span(y, self.scale.y, triangle, 1.0);
        weighted(part, columns.taps(), rows.taps()).mean()
    }
}

/// Places of one row of target pixels.
#[derive(Clone, Copy)]
struct Row<'a> {
    places: (&'a [f64], &'a [f64]),
    valid: &'a [u8],
    is_inner: bool,
}

impl Row<'_> {
    /// Makes the value of every place on a valid pixel.
    fn each<T>(self, out: &mut [T], mut value: impl FnMut((f64, f64)) -> T) {
        let places = self.places.0.iter().zip(self.places.1);
        for (((x, y), valid), out) in places.zip(self.valid).zip(out) {
            if *valid != 0 {
                *out = value((*x, *y));
            }
        }
    }

    /// Values by kernels of a fixed number of pixels; by `fallback` where one of them is missing.
    fn fixed<T: Pixel, const N: usize, const M: usize>(
        self,
        part: &Part<T>,
        kernel: impl Fn(f64) -> [f64; N],
        fallback: impl Fn(f64) -> [f64; M],
        out: &mut [T],
    ) {
        if self.is_inner && part.mask.is_none() {
            let places = self.places.0.iter().zip(self.places.1);
            for ((x, y), out) in places.zip(out) {
                let (x, y) = (Axis::<N>::at(*x, &kernel), Axis::<N>::at(*y, &kernel));
                *out = T::from_f64(dense(part, &x, &y));
            }
        } else {
            self.each(out, |place| T::from_f64(careful(part, place, &kernel, &fallback)));
        }
    }
}

/// The pixels of one axis that a kernel of fixed size takes, and their weights.
struct Axis<const N: usize> {
    first: i64,
    weights: [f64; N],
}

impl<const N: usize> Axis<N> {
    #[inline]
    fn at(place: f64, kernel: impl Fn(f64) -> [f64; N]) -> Self {
        let (whole, fraction) = split(place - 0.5);
        Self { first: whole - (N as i64 / 2 - 1), weights: kernel(fraction) }
    }

    fn taps(&self) -> Taps<'_> {
        Taps { first: self.first, weights: &self.weights }
    }
}

/// The value at a place some of whose pixels may be missing.
fn careful<T: Pixel, const N: usize, const M: usize>(
    part: &Part<T>,
    (x, y): (f64, f64),
    kernel: impl Fn(f64) -> [f64; N],
    fallback: impl Fn(f64) -> [f64; M],
) -> f64 {
    let (columns, rows) = (Axis::<N>::at(x, &kernel), Axis::<N>::at(y, &kernel));
    if part.is_whole((columns.first, rows.first), N) {
        return dense(part, &columns, &rows);
    }
    let whole = weighted(part, columns.taps(), rows.taps());
    if whole.is_complete {
        return whole.sum;
    }
    let (columns, rows) = (Axis::<M>::at(x, &fallback), Axis::<M>::at(y, &fallback));
    weighted(part, columns.taps(), rows.taps()).mean()
}

/// The weighted sum of N × N pixels, all inside and valid; adds in the order of `weighted`.
#[inline]
fn dense<T: Pixel, const N: usize>(part: &Part<T>, columns: &Axis<N>, rows: &Axis<N>) -> f64 {
    let pixels = part.square::<N>(columns.first, rows.first);
    let mut sum = 0.0;
    for (pixels, down) in pixels.iter().zip(&rows.weights) {
        let mut along = 0.0;
        for (pixel, across) in pixels.iter().zip(&columns.weights) {
            along += across * pixel.to_f64();
        }
        sum += down * along;
    }
    sum
}

/// A weighted sum over the valid pixels among some.
struct Weighted {
    sum: f64,
    weight: f64,
    /// Whether every pixel that has a weight is valid.
    is_complete: bool,
}

impl Weighted {
    fn mean(&self) -> f64 {
        self.sum / self.weight
    }
}

/// Pixels of one axis and their weights.
#[derive(Clone, Copy)]
struct Taps<'a> {
    first: i64,
    weights: &'a [f64],
}

impl Taps<'_> {
    fn weighty(&self) -> impl Iterator<Item = (i64, f64)> {
        (self.first..).zip(self.weights).filter(|(_, weight)| **weight != 0.0).map(|(i, weight)| (i, *weight))
    }
}

fn weighted<T: Pixel>(part: &Part<T>, columns: Taps, rows: Taps) -> Weighted {
    let mut total = Weighted { sum: 0.0, weight: 0.0, is_complete: true };
    for (row, down) in rows.weighty() {
        let (mut along, mut weight) = (0.0, 0.0);
        for (col, across) in columns.weighty() {
            if part.is_valid(col, row) {
                along += across * part.at(col, row).to_f64();
                weight += across;
            } else {
                total.is_complete = false;
            }
        }
        total.sum += down * along;
        total.weight += down * weight;
    }
    total
}

/// Weights of one axis for a widened kernel; kept between pixels for its buffer.
#[derive(Default)]
struct WideAxis {
    first: i64,
    weights: Vec<f64>,
}

impl WideAxis {
    fn span(&mut self, place: f64, scale: f64, kernel: fn(f64) -> f64, radius: f64) {
        let (centre, reach) = (place - 0.5, radius / scale);
        self.first = (centre - reach).ceil() as i64;
        let last = (centre + reach).floor() as i64;
        self.weights.clear();
        self.weights.extend((self.first..=last).map(|i| kernel((i as f64 - centre) * scale)));
    }

    fn taps(&self) -> Taps<'_> {
        Taps { first: self.first, weights: &self.weights }
    }
}

/// The whole and the fractional part of a snapped coordinate less than 2^31 from zero, without a conversion that the
/// processor does one by one: the sum's low 20 bits are the fraction, those above the whole number.
#[inline]
fn split(v: f64) -> (i64, f64) {
    let fixed = ((v + SNAP).to_bits() & ((1 << 52) - 1)) as i64 - (1 << 51);
    (fixed >> 20, f64::from((fixed & 0xF_FFFF) as i32) / 1_048_576.0)
}

/// The largest integer that is not larger.
pub(super) fn floor(v: f64) -> i64 {
    let truncated = v as i64;
    truncated - i64::from((truncated as f64) > v)
}

#[inline]
fn linear(t: f64) -> [f64; 2] {
    [1.0 - t, t]
}

/// Catmull-Rom: the cubic convolution of Keys (1981) with a = -1/2.
#[inline]
fn catmull_rom(t: f64) -> [f64; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [
        0.5 * (-t + 2.0 * t2 - t3),
        0.5 * (2.0 - 5.0 * t2 + 3.0 * t3),
        0.5 * (t + 4.0 * t2 - 3.0 * t3),
        0.5 * (t3 - t2),
    ]
}

/// The uniform cubic B-spline.
#[inline]
fn b_spline(t: f64) -> [f64; 4] {
    let (u, t2, t3) = (1.0 - t, t * t, t * t * t);
    [
        u * u * u / 6.0,
        (4.0 - 6.0 * t2 + 3.0 * t3) / 6.0,
        (1.0 + 3.0 * t + 3.0 * t2 - 3.0 * t3) / 6.0,
        t3 / 6.0,
    ]
}

/// Lanczos with three lobes, its weights brought to a sum of one.
///
/// At t + d, d whole, sin(πx) is ±sin(πt) and sin(πx/3) follows from the sine of a sum, so that one sine and cosine of
/// πt/3 make all weights; what is common to them goes with the sum.
fn lanczos(t: f64) -> [f64; 6] {
    /// (-1)^d cos(πd/3) and (-1)^d sin(πd/3) for d = 2, 1, 0, -1, -2, -3.
    const COSINES: [f64; 6] = [-0.5, -0.5, 1.0, -0.5, -0.5, 1.0];
    const SINES: [f64; 6] = [HALF_ROOT_3, -HALF_ROOT_3, 0.0, HALF_ROOT_3, -HALF_ROOT_3, 0.0];
    if t == 0.0 {
        return [0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    }
    let (sine, cosine) = (PI * t / 3.0).sin_cos();
    let weights: [f64; 6] = std::array::from_fn(|i| {
        let x = t + 2.0 - i as f64;
        (sine * COSINES[i] + cosine * SINES[i]) / (x * x)
    });
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

/// √3 / 2
const HALF_ROOT_3: f64 = 0.866_025_403_784_438_6;

/// sinc(x) × sinc(x / 3) within three pixels.
fn sinc_window(x: f64) -> f64 {
    if x == 0.0 {
        1.0
    } else if x.abs() >= 3.0 {
        0.0
    } else {
        3.0 * (PI * x).sin() * (PI * x / 3.0).sin() / (PI * PI * x * x)
    }
}

fn triangle(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

/// A kernel as a function of distance, and its radius.
fn continuous(resampling: Resampling) -> (fn(f64) -> f64, f64) {
    let kernel = match resampling {
        Resampling::Cubic => |x: f64| piece(x, catmull_rom),
        Resampling::CubicSpline => |x: f64| piece(x, b_spline),
        Resampling::Lanczos => sinc_window,
        _ => triangle,
    };
    (kernel, resampling.radius())
}

/// A kernel of four pieces at a distance from its centre.
fn piece(x: f64, weights: fn(f64) -> [f64; 4]) -> f64 {
    let x = x.abs();
    if x < 1.0 {
        weights(x)[1]
    } else if x < 2.0 {
        weights(x - 1.0)[0]
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_and_sit_on_the_pixel_at_its_centre() {
        for t in [0.0, 0.25, 0.5, 0.9] {
            let sums = [
                linear(t).iter().sum::<f64>(),
                catmull_rom(t).iter().sum(),
                b_spline(t).iter().sum(),
                lanczos(t).iter().sum(),
            ];
            assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-14), "{t}: {sums:?}");
        }
        assert_eq!(catmull_rom(0.0), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(b_spline(0.0), [1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0, 0.0]);
    }

    #[test]
    fn kernels_agree_as_weights_and_as_functions_of_distance() {
        for (resampling, weights) in
            [(Resampling::Cubic, catmull_rom(0.3)), (Resampling::CubicSpline, b_spline(0.3))]
        {
            let (kernel, _) = continuous(resampling);
            for (i, weight) in weights.iter().enumerate() {
                assert!((kernel(i as f64 - 1.0 - 0.3) - weight).abs() < 1e-14, "{resampling:?} {i}");
            }
        }
    }

    #[test]
    fn lanczos_weights_are_windowed_sincs() {
        let expected: Vec<f64> = (0..6).map(|i| sinc_window(0.3 + 2.0 - f64::from(i))).collect();
        let sum: f64 = expected.iter().sum();
        for (weight, expected) in lanczos(0.3).iter().zip(expected) {
            assert!((weight - expected / sum).abs() < 1e-14, "{weight} {}", expected / sum);
        }
    }

    #[test]
    fn snapped_coordinates_split_into_whole_and_fraction() {
        for (v, expected) in
            [(2.25, (2, 0.25)), (-0.25, (-1, 0.75)), (0.0, (0, 0.0)), (2_147_483_000.5, (2_147_483_000, 0.5))]
        {
            assert_eq!(split(v), expected);
        }
    }

    #[test]
    fn floor_rounds_down_on_both_sides_of_zero() {
        assert_eq!([floor(1.5), floor(-0.5), floor(-1.0), floor(2.0)], [1, -1, -1, 2]);
    }
}
