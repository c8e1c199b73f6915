//! One axis of a resampling: which source pixels make a target pixel, and with which weights.

use std::f64::consts::PI;

use crate::raster::Resampling;

/// Places nearer to a pixel's edge than this, in pixels, are on the edge: what rounding of coordinates can do.
pub(super) const SLACK: f64 = 1e-6;

/// A place on the source's axis, in pixels, for a place on the target's: `scale` × place + `shift`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    scale: f64,
    shift: f64,
    size: u64,
}

/// The source pixels that make one target pixel.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Taps {
    /// The pixel beneath the target's centre, as an index of the part at hand; `None` beyond the source.
    pub(super) beneath: Option<usize>,
    /// The first of the others.
    pub(super) first: usize,
    /// Weights of `first` and those after it.
    pub(super) weights: Vec<f64>,
    /// Linear weights over the same pixels, for where some of them are invalid and weights can be negative.
    pub(super) linear: Vec<f64>,
    /// Whether the source's edge cut pixels off.
    pub(super) is_cut: bool,
}

impl Axis {
    /// The axis of a source of `size` pixels under a target of `length`.
    pub(super) fn new(scale: f64, shift: f64, size: u64, length: u64) -> Self {
        let snapped = |value: f64, slack: f64| {
            let whole = value.round();
            if (value - whole).abs() < slack { whole } else { value }
        };
        // Coordinates of millions of metres leave about nine digits of a pixel.
        Self { scale: snapped(scale, SLACK / length.max(1) as f64), shift: snapped(shift, SLACK), size }
    }

    /// Source pixels a target pixel.
    pub(super) fn scale(&self) -> f64 {
        self.scale.abs()
    }

    pub(super) fn is_identity(&self) -> bool {
        self.scale == 1.0 && self.shift == 0.0
    }

    /// First pixel and count of what a span of the target needs.
    pub(super) fn needed(&self, start: u64, length: u64, resampling: Resampling) -> (u64, u64) {
        if length == 0 {
            return (0, 0);
        }
        let (first, last) = (self.span(start, resampling), self.span(start + length - 1, resampling));
        let begin = first.0.min(last.0).clamp(0, self.size as i64);
        let end = first.1.max(last.1).clamp(0, self.size as i64);
        (begin as u64, (end - begin).max(0) as u64)
    }

    /// The taps of each target pixel of a span, as indices of the part that begins at `held`.
    pub(super) fn taps(&self, start: u64, length: u64, resampling: Resampling, held: u64) -> Vec<Taps> {
        (start..start + length).map(|at| self.taps_of(at, resampling, held)).collect()
    }

    fn taps_of(&self, at: u64, resampling: Resampling, held: u64) -> Taps {
        let (begin, end) = self.span(at, resampling);
        let (first, last) = (begin.max(0), end.min(self.size as i64));
        let beneath = index(self.centre(at));
        let is_inside = (0..self.size as i64).contains(&beneath);
        let weigh = |weight: &dyn Fn(i64) -> f64| (first..last).map(weight).collect::<Vec<_>>();
        Taps {
            beneath: is_inside.then(|| (beneath as u64 - held) as usize),
            first: if first < last { (first as u64 - held) as usize } else { 0 },
            weights: weigh(&|pixel| self.weight(at, pixel, resampling)),
            linear: weigh(&|pixel| triangle(self.distance(at, pixel))),
            is_cut: begin < 0 || end > self.size as i64,
        }
    }

    /// The source pixels, as a half-open span, that count for a target pixel; may reach beyond the source.
    fn span(&self, at: u64, resampling: Resampling) -> (i64, i64) {
        if resampling == Resampling::Nearest {
            let beneath = index(self.centre(at));
            return (beneath, beneath + 1);
        }
        if resampling.is_areal() {
            let (low, high) = self.edges(at);
            return ((low + SLACK).floor() as i64, (high - SLACK).ceil() as i64);
        }
        let (centre, reach) = (self.centre(at), resampling.radius() * self.stretch());
        let low = (centre - reach - 0.5 + SLACK).ceil() as i64;
        let high = (centre + reach - 0.5 - SLACK).floor() as i64 + 1;
        // The pixel beneath decides on validity, so it is always at hand.
        (low.min(index(centre)), high.max(index(centre) + 1))
    }

    fn weight(&self, at: u64, pixel: i64, resampling: Resampling) -> f64 {
        if resampling.is_areal() {
            let (low, high) = self.edges(at);
            return high.min(pixel as f64 + 1.0) - low.max(pixel as f64);
        }
        let distance = self.distance(at, pixel);
        match resampling {
            Resampling::Bilinear => triangle(distance),
            Resampling::Cubic => catmull_rom(distance),
            Resampling::CubicSpline => b_spline(distance),
            Resampling::Lanczos => lanczos(distance),
            _ => 1.0,
        }
    }

    fn centre(&self, at: u64) -> f64 {
        self.scale * (at as f64 + 0.5) + self.shift
    }

    fn edges(&self, at: u64) -> (f64, f64) {
        let one = self.scale * at as f64 + self.shift;
        let other = self.scale * (at as f64 + 1.0) + self.shift;
        (one.min(other), one.max(other))
    }

    /// How much wider kernels are because the target shrinks the source.
    fn stretch(&self) -> f64 {
        self.scale.abs().max(1.0)
    }

    /// From the target's centre to the source pixel's, in units of the wider of both pixels.
    fn distance(&self, at: u64, pixel: i64) -> f64 {
        ((pixel as f64 + 0.5 - self.centre(at)) / self.stretch()).abs()
    }
}

fn index(place: f64) -> i64 {
    (place + SLACK).floor() as i64
}

fn triangle(x: f64) -> f64 {
    (1.0 - x).max(0.0)
}

/// Keys' cubic convolution with a = -1/2 (R. Keys, 1981).
fn catmull_rom(x: f64) -> f64 {
    match x {
        x if x < 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
        x if x < 2.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
        _ => 0.0,
    }
}

/// The cubic B-spline.
fn b_spline(x: f64) -> f64 {
    match x {
        x if x < 1.0 => (x / 2.0 - 1.0) * x * x + 2.0 / 3.0,
        x if x < 2.0 => (2.0 - x).powi(3) / 6.0,
        _ => 0.0,
    }
}

/// sinc(x) · sinc(x / 3) within three pixels.
fn lanczos(x: f64) -> f64 {
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) };
    if x < 3.0 { sinc(x) * sinc(x / 3.0) } else { 0.0 }
}
