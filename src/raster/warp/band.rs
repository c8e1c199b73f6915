//! One band of a window under way, its pixels typed.

use std::sync::Arc;

use ndarray::{ArcArray2, Array2, CowArray, Ix2};

use super::Warp;
use super::areal::ArealKernel;
use super::lattice::{Coordinates, Lattice, Patch, Places, intersection};
use super::pixels::Part;
use super::point::{PointKernel, floor};
use crate::raster::{Band, BandDescription, Pixel, Validity, Window};

/// What a mask holds where a pixel is valid.
const VALID: u8 = 255;

/// A part of a patch within the window asked for.
#[derive(Default)]
pub(super) struct Block {
    /// Pixels of the target grid.
    pub(super) area: Window,
    /// The window asked for.
    window: Window,
    /// Whether source coordinates are bilinear over the block.
    is_bilinear: bool,
    /// Source coordinates of pixel centres; of pixel corners, one more each way, for areal kernels.
    pub(super) places: Coordinates,
}

impl Block {
    /// Takes the part of a patch that lies in a window, which it touches.
    pub(super) fn fill(&mut self, lattice: &Lattice, patch: &Patch, window: &Window, is_areal: bool) {
        self.window = *window;
        self.is_bilinear = patch.corners.is_some();
        self.area = intersection(&patch.area, window).expect("patches touch the window they were made for");
        let places = if is_areal { Places::corners(&self.area) } else { Places::centres(&self.area) };
        lattice.fill(patch, &places, &mut self.places);
    }

    /// Whether all its places lie in the image by a margin: where source coordinates are bilinear their extremes are
    /// at the corners.
    fn is_inner(&self, size: (i64, i64), margin: f64) -> bool {
        let (x, y) = (&self.places.x, &self.places.y);
        let (columns, end) = (self.places.columns, x.len());
        let is_within = |v: f64, size: i64| v >= margin && v <= size as f64 - margin;
        let corners = [0, columns - 1, end - columns, end - 1];
        self.is_bilinear && corners.iter().all(|i| is_within(x[*i], size.0) && is_within(y[*i], size.1))
    }

    /// Where a row of the block stands among the pixels of the window.
    fn span(&self, row: usize) -> std::ops::Range<usize> {
        let first_row = (self.area.row - self.window.row) as usize + row;
        let start = first_row * self.window.width as usize + (self.area.col - self.window.col) as usize;
        start..start + self.area.width as usize
    }
}

/// One band under way.
pub(super) trait BandWarp {
    /// Makes the pixels of a block.
    fn add(&mut self, block: &Block);

    /// The band of the whole window.
    fn finish(self: Box<Self>) -> Band;
}

/// A band of the part of the image that is at hand.
#[derive(Clone, Copy)]
pub(super) struct SourceBand<'a> {
    /// Columns × rows of the whole image.
    pub(super) size: (u64, u64),
    /// The part.
    pub(super) window: Window,
    /// The band.
    pub(super) band: &'a Band,
}

/// Source and target pixels of one band.
pub(super) struct TypedBand<'a, T> {
    source: SourceBand<'a>,
    pixels: CowArray<'a, T, Ix2>,
    mask: Option<CowArray<'a, u8, Ix2>>,
    out: Vec<T>,
    out_mask: Vec<u8>,
    out_size: (usize, usize),
}

impl<'a, T: Pixel> TypedBand<'a, T> {
    pub(super) fn new(source: SourceBand<'a>, pixels: &'a ArcArray2<T>, window: &Window) -> Self {
        let count = window.pixels() as usize;
        let mask = match &source.band.validity {
            Validity::All => None,
            Validity::Mask(mask) => Some(mask.as_standard_layout()),
        };
        Self {
            source,
            pixels: pixels.as_standard_layout(),
            mask,
            out: vec![T::default(); count],
            out_mask: vec![0; count],
            out_size: (window.height as usize, window.width as usize),
        }
    }

    fn part(&self) -> Part<'_, T> {
        Part {
            pixels: self.pixels.as_slice().expect("standard layout is a slice"),
            mask: self.mask.as_ref().map(|mask| mask.as_slice().expect("standard layout is a slice")),
            window: self.source.window,
            size: (self.source.size.0 as i64, self.source.size.1 as i64),
        }
    }

    fn finish(self) -> Band {
        let is_full = self.out_mask.iter().all(|valid| *valid != 0);
        let pixels = Array2::from_shape_vec(self.out_size, self.out).expect("made with this size");
        let mask = Array2::from_shape_vec(self.out_size, self.out_mask).expect("made with this size");
        Band {
            description: BandDescription::clone(&self.source.band.description),
            pixels: T::wrap(pixels.into_shared()),
            validity: if is_full { Validity::All } else { Validity::Mask(Arc::new(mask)) },
        }
    }
}

/// A band whose values are taken at the centres of pixels.
pub(super) struct PointBand<'a, T> {
    pub(super) pixels: TypedBand<'a, T>,
    pub(super) kernel: PointKernel,
}

impl<T: Pixel> BandWarp for PointBand<'_, T> {
    fn add(&mut self, block: &Block) {
        let (mut out, mut out_mask) =
            (std::mem::take(&mut self.pixels.out), std::mem::take(&mut self.pixels.out_mask));
        let part = self.pixels.part();
        let is_inner = block.is_inner(part.size, self.kernel.radius());
        let columns = block.places.columns;
        let rows = block.places.x.chunks(columns).zip(block.places.y.chunks(columns));
        for (row, (x, y)) in rows.enumerate() {
            let span = block.span(row);
            let valid = &mut out_mask[span.clone()];
            if is_inner && part.mask.is_none() {
                valid.fill(VALID);
            } else {
                mark_valid(&part, x, y, valid);
            }
            self.kernel.values(&part, (x, y), (valid, is_inner), &mut out[span]);
        }
        (self.pixels.out, self.pixels.out_mask) = (out, out_mask);
    }

    fn finish(self: Box<Self>) -> Band {
        self.pixels.finish()
    }
}

/// Marks the places that lie on a valid pixel: the target is valid exactly where the nearest source pixel is.
fn mark_valid<T: Copy>(part: &Part<T>, x: &[f64], y: &[f64], valid: &mut [u8]) {
    let (width, height) = (part.size.0 as f64, part.size.1 as f64);
    for ((x, y), valid) in x.iter().zip(y).zip(valid) {
        // False for NaN, too.
        let is_inside = *x >= 0.0 && *y >= 0.0 && *x < width && *y < height;
        if is_inside && part.is_valid(floor(*x), floor(*y)) {
            *valid = VALID;
        }
    }
}

/// A band whose values are taken of the areas that pixels cover.
pub(super) struct ArealBand<'a, T> {
    pub(super) pixels: TypedBand<'a, T>,
    pub(super) kernel: ArealKernel<T>,
    pub(super) warp: &'a Warp,
}

impl<T: Pixel> BandWarp for ArealBand<'_, T> {
    fn add(&mut self, block: &Block) {
        for row in 0..block.area.height as usize {
            for (col, index) in block.span(row).enumerate() {
                let part = self.pixels.part();
                let footprint = self.warp.footprint(block, col, row);
                if let Some(value) = footprint.and_then(|footprint| self.kernel.value(&part, &footprint)) {
                    self.pixels.out[index] = value;
                    self.pixels.out_mask[index] = VALID;
                }
            }
        }
    }

    fn finish(self: Box<Self>) -> Band {
        self.pixels.finish()
    }
}

/// Bands whose sources share a mask share one again.
pub(super) fn with_shared_masks(sources: &[Band], mut bands: Vec<Band>) -> Vec<Band> {
    for i in 1..bands.len() {
        let twin = (0..i).find(|j| is_shared(&sources[*j].validity, &sources[i].validity));
        if let Some(twin) = twin {
            bands[i].validity = bands[twin].validity.clone();
        }
    }
    bands
}

fn is_shared(one: &Validity, other: &Validity) -> bool {
    match (one, other) {
        (Validity::All, Validity::All) => true,
        (Validity::Mask(one), Validity::Mask(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}
