//! Source coordinates of target pixels, interpolated between exact ones.
//!
//! The target grid is cut into cells from its own origin. A cell whose checked places lie close enough to the
//! bilinear surface through its corners becomes one patch; another is quartered, and what stays wrong down to a
//! few pixels is transformed pixel by pixel. All of it depends on the grids alone, never on the window asked for,
//! so a pixel has the same source coordinates in every window.

use super::pixel_map::PixelMap;
use crate::raster::Window;

/// Pixels of a cell's edge.
pub(super) const CELL: u64 = 64;

/// Where interpolation still is too coarse at this size, pixels are transformed one by one.
const SMALLEST: u64 = 4;

/// 1.5 × 2^32: a sum with it keeps 20 bits of fraction.
pub(super) const SNAP: f64 = 6_442_450_944.0;

/// Largest error at a checked place, in source pixels, of both coordinates together.
const TOLERANCE: f64 = 1.0 / 64.0;

/// A rectangle of target pixels whose source coordinates come from one rule.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Patch {
    /// Pixels of the target grid.
    pub(super) area: Window,
    /// Source coordinates of its corners: upper left, upper right, lower left, lower right; `None` where every
    /// pixel is transformed by itself.
    pub(super) corners: Option<[(f64, f64); 4]>,
}

/// The lattice of one image on one target grid.
pub(super) struct Lattice<'a> {
    map: &'a PixelMap,
    source: (u64, u64),
    target: (u64, u64),
    reach: (f64, f64),
}

impl<'a> Lattice<'a> {
    /// The lattice for images and grids of these sizes; `reach` is how far, in source pixels, a kernel looks.
    pub(super) fn new(map: &'a PixelMap, source: (u64, u64), target: (u64, u64), reach: (f64, f64)) -> Self {
        Self { map, source, target, reach }
    }

    /// The patches that touch a window, cell by cell, without those that cannot show the image.
    pub(super) fn patches(&self, window: &Window) -> impl Iterator<Item = Patch> {
        cells(window, self.target).flat_map(move |cell| {
            let mut patches = Vec::new();
            self.refine(cell, window, &mut patches);
            patches
        })
    }

    fn refine(&self, area: Window, window: &Window, patches: &mut Vec<Patch>) {
        if intersection(&area, window).is_none() {
            return;
        }
        let nodes = Nodes::of(self.map, &area);
        if nodes.are_void() || nodes.are_away(self.source, self.reach) {
            return;
        }
        if nodes.error() <= TOLERANCE {
            patches.push(Patch { area, corners: Some(nodes.corners()) });
        } else if area.width <= SMALLEST && area.height <= SMALLEST {
            patches.push(Patch { area, corners: None });
        } else {
            quarters(&area).for_each(|quarter| self.refine(quarter, window, patches));
        }
    }

    /// Puts the source coordinates of places of a patch into `into`.
    pub(super) fn fill(&self, patch: &Patch, places: &Places, into: &mut Coordinates) {
        into.reset(places);
        match &patch.corners {
            Some(corners) => into.interpolate(&patch.area, corners, places),
            None => into.transform(self.map, places),
        }
        into.snap();
    }
}

/// Evenly spaced places of the target grid, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Places {
    /// Column and row of the first.
    pub(super) from: (f64, f64),
    /// Columns and rows from one to the next.
    pub(super) step: (f64, f64),
    /// How many along a row and down a column.
    pub(super) count: (usize, usize),
}

impl Places {
    /// The centres of the pixels of a rectangle.
    pub(super) fn centres(area: &Window) -> Self {
        let from = (area.col as f64 + 0.5, area.row as f64 + 0.5);
        Self { from, step: (1.0, 1.0), count: (area.width as usize, area.height as usize) }
    }

    /// The corners of the pixels of a rectangle.
    pub(super) fn corners(area: &Window) -> Self {
        let from = (area.col as f64, area.row as f64);
        Self { from, step: (1.0, 1.0), count: (area.width as usize + 1, area.height as usize + 1) }
    }

    /// The four corners of a rectangle.
    pub(super) fn outer_corners(area: &Window) -> Self {
        let step = (area.width as f64, area.height as f64);
        Self { from: (area.col as f64, area.row as f64), step, count: (2, 2) }
    }

    fn col(&self, j: usize) -> f64 {
        self.from.0 + self.step.0 * j as f64
    }

    fn row(&self, i: usize) -> f64 {
        self.from.1 + self.step.1 * i as f64
    }
}

/// Where a side of a rectangle is looked at. The inner places are no mirror images of each other: of a curve that
/// bends one way and then the other the middle would see nothing.
const STEPS: [f64; 4] = [0.0, 0.25, 0.625, 1.0];

/// Exact places of a rectangle: 4 × 4, row by row.
struct Nodes {
    x: [f64; 16],
    y: [f64; 16],
}

impl Nodes {
    fn of(map: &PixelMap, area: &Window) -> Self {
        let at = |start: u64, size: u64, step: usize| start as f64 + size as f64 * STEPS[step];
        let mut x = std::array::from_fn(|i| at(area.col, area.width, i % 4));
        let mut y = std::array::from_fn(|i| at(area.row, area.height, i / 4));
        map.to_source(&mut x, &mut y);
        Self { x, y }
    }

    fn are_void(&self) -> bool {
        self.x.iter().all(|x| x.is_nan())
    }

    /// Whether no pixel of the image lies as near as the rectangle is large.
    fn are_away(&self, source: (u64, u64), reach: (f64, f64)) -> bool {
        is_away(&self.x, source.0 as f64, reach.0) || is_away(&self.y, source.1 as f64, reach.1)
    }

    fn corners(&self) -> [(f64, f64); 4] {
        [0, 3, 12, 15].map(|i| (self.x[i], self.y[i]))
    }

    /// The largest distances of both coordinates from the bilinear surface, added; infinite where a node has no image.
    fn error(&self) -> f64 {
        deviation(&self.x) + deviation(&self.y)
    }
}

fn is_away(v: &[f64; 16], size: f64, reach: f64) -> bool {
    let (low, high) = v.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    let margin = (high - low) + reach + 1.0;
    v.iter().all(|v| v.is_finite()) && (high + margin < 0.0 || low - margin > size)
}

fn deviation(v: &[f64; 16]) -> f64 {
    let between = |a: f64, b: f64, step: usize| a + (b - a) * STEPS[step];
    let surface = |i: usize| {
        let (left, right) = (between(v[0], v[12], i / 4), between(v[3], v[15], i / 4));
        between(left, right, i % 4)
    };
    let errors = (0..16).map(|i| (v[i] - surface(i)).abs());
    errors.map(|error| if error.is_nan() { f64::INFINITY } else { error }).fold(0.0, f64::max)
}

/// Source columns and rows of a block of places, row by row; NaN where there are none.
#[derive(Default)]
pub(super) struct Coordinates {
    /// Places per row.
    pub(super) columns: usize,
    /// Source columns.
    pub(super) x: Vec<f64>,
    /// Source rows.
    pub(super) y: Vec<f64>,
}

impl Coordinates {
    fn reset(&mut self, places: &Places) {
        self.columns = places.count.0;
        let count = places.count.0 * places.count.1;
        self.x.resize(count, 0.0);
        self.y.resize(count, 0.0);
    }

    fn interpolate(&mut self, area: &Window, corners: &[(f64, f64); 4], places: &Places) {
        let columns = self.columns;
        let across = |j: usize| (places.col(j) - area.col as f64) / area.width as f64;
        let down = |i: usize| (places.row(i) - area.row as f64) / area.height as f64;
        let across: Vec<f64> = (0..columns).map(across).collect();
        for (i, (x, y)) in self.x.chunks_mut(columns).zip(self.y.chunks_mut(columns)).enumerate() {
            let down = down(i);
            let edge = |a: f64, b: f64| a + (b - a) * down;
            let (x0, x1) = (edge(corners[0].0, corners[2].0), edge(corners[1].0, corners[3].0));
            let (y0, y1) = (edge(corners[0].1, corners[2].1), edge(corners[1].1, corners[3].1));
            for ((x, y), across) in x.iter_mut().zip(y).zip(&across) {
                (*x, *y) = (x0 + (x1 - x0) * across, y0 + (y1 - y0) * across);
            }
        }
    }

    fn transform(&mut self, map: &PixelMap, places: &Places) {
        for (i, (x, y)) in self.x.iter_mut().zip(&mut self.y).enumerate() {
            (*x, *y) = (places.col(i % self.columns), places.row(i / self.columns));
        }
        map.to_source(&mut self.x, &mut self.y);
    }

    /// Rounds to 2^-20 pixels: what is a whole or half pixel but for rounding errors becomes one.
    fn snap(&mut self) {
        for v in self.x.iter_mut().chain(&mut self.y) {
            *v = (*v + SNAP) - SNAP;
        }
    }
}

/// The cells that touch a window, row by row; the last of a row or column may be smaller.
fn cells(window: &Window, (width, height): (u64, u64)) -> impl Iterator<Item = Window> {
    let spans = |start: u64, length: u64, size: u64| {
        (start / CELL..(start + length).div_ceil(CELL)).map(move |i| (i * CELL, CELL.min(size - i * CELL)))
    };
    let columns = spans(window.col, window.width, width);
    spans(window.row, window.height, height).flat_map(move |(row, height)| {
        columns.clone().map(move |(col, width)| Window { col, row, width, height })
    })
}

/// A rectangle in halves along each side that is longer than one pixel.
fn quarters(area: &Window) -> impl Iterator<Item = Window> {
    let halves = |start: u64, length: u64| {
        let first = length.div_ceil(2);
        [(start, first), (start + first, length - first)].into_iter().filter(|(_, length)| *length > 0)
    };
    let columns = halves(area.col, area.width);
    halves(area.row, area.height).flat_map(move |(row, height)| {
        columns.clone().map(move |(col, width)| Window { col, row, width, height })
    })
}

/// The part that two rectangles share.
pub(super) fn intersection(one: &Window, other: &Window) -> Option<Window> {
    let (col, row) = (one.col.max(other.col), one.row.max(other.row));
    let right = (one.col + one.width).min(other.col + other.width);
    let bottom = (one.row + one.height).min(other.row + other.height);
    (right > col && bottom > row).then(|| Window { col, row, width: right - col, height: bottom - row })
}
