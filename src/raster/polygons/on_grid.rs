//! One polygon in the pixel coordinates of a grid, and the pixels it holds, row by row.
//!
//! What a pixel gets depends on the polygon and the grid alone, never on the window that is asked for.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raster::Window;

/// Which pixels belong to a polygon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Coverage {
    /// Those whose centre lies inside. A centre on an edge between two polygons belongs to one of them.
    #[default]
    Center,
    /// Those of which any part lies inside.
    Touched,
    /// Those of which any part lies inside, weighted by how much of them does.
    Fraction,
}

/// The weight of a pixel that lies wholly inside, with [`Coverage::Fraction`].
pub const WHOLE: u32 = 1 << 24;

/// A closed line: (column, row) of each corner, (0, 0) being the outer corner of the grid's first pixel. The last corner may
/// repeat the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Ring {
    /// The corners.
    pub corners: Vec<(f64, f64)>,
    /// Whether it bounds a hole.
    pub is_hole: bool,
}

/// Pixels of one row of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The row.
    pub row: u64,
    /// The columns.
    pub columns: Range<u64>,
    /// For [`Coverage::Fraction`] the weight of each pixel, as a part of [`WHOLE`]; else empty.
    pub weights: Vec<u32>,
}

/// A polygon, holes and all parts included.
#[derive(Clone, Debug, PartialEq)]
pub struct GridPolygon {
    /// By their upper ends.
    edges: Vec<Edge>,
    /// Columns that it reaches, within the grid.
    columns: Range<u64>,
    /// The lower end of the lowest edge.
    bottom: f64,
}

/// One side of a ring, from its upper to its lower end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge {
    upper: (f64, f64),
    lower: (f64, f64),
    /// 1 where the inside lies right of it, -1 where it lies left.
    winding: f64,
}

impl Edge {
    /// The column at a row between its ends.
    fn at(&self, row: f64) -> f64 {
        let ((x, y), (to_x, to_y)) = (self.upper, self.lower);
        if row <= y {
            x
        } else if row >= to_y {
            to_x
        } else {
            x + (to_x - x) * ((row - y) / (to_y - y))
        }
    }
}

impl GridPolygon {
    /// A polygon of these rings on a grid of `width` columns. Rings may go round either way.
    pub fn new(rings: &[Ring], width: u64) -> GridPolygon {
        let mut edges: Vec<Edge> = rings.iter().flat_map(edges).collect();
        edges.sort_by(|one, other| one.upper.1.total_cmp(&other.upper.1));
        let corners = || edges.iter().flat_map(|edge| [edge.upper.0, edge.lower.0]);
        let (left, right) = (corners().fold(f64::INFINITY, f64::min), corners().fold(0.0, f64::max));
        let clamp = |column: f64| column.clamp(0.0, width as f64) as u64;
        let columns = clamp(left.floor())..clamp(right.ceil());
        let bottom = edges.iter().map(|edge| edge.lower.1).fold(f64::NEG_INFINITY, f64::max);
        GridPolygon { edges, columns, bottom }
    }

    /// The pixels of a window of the grid that belong to the polygon, row by row.
    pub fn spans(&self, window: &Window, coverage: Coverage) -> Vec<Span> {
        let columns = window.col..window.col + window.width;
        if columns.end <= self.columns.start || columns.start >= self.columns.end {
            return Vec::new();
        }
        let mut spans = Vec::new();
        self.each_row(window, |row, edges| match coverage {
            Coverage::Center => push(&mut spans, row, &columns, centers(row, edges)),
            Coverage::Touched => {
                let areas = areas(row, edges, &self.columns);
                push(&mut spans, row, &columns, touched(&areas, self.columns.start));
            }
            Coverage::Fraction => spans.extend(self.weighted(row, &columns, edges)),
        });
        spans
    }

    /// Calls `visit` with the rows of the window that the polygon reaches, and the edges in each.
    fn each_row(&self, window: &Window, mut visit: impl FnMut(u64, &[Edge])) {
        let Some(first) = self.edges.first() else { return };
        let begin = window.row.max(first.upper.1.max(0.0) as u64);
        let end = (window.row + window.height).min(self.bottom.max(0.0).ceil() as u64 + 1);
        let (mut next, mut active) = (0, Vec::new());
        for row in begin..end {
            let ends = |edge: &Edge| edge.lower.1 < row as f64;
            while let Some(edge) = self.edges.get(next).filter(|edge| edge.upper.1 < (row + 1) as f64) {
                active.push(*edge);
                next += 1;
            }
            active.retain(|edge| !ends(edge));
            if !active.is_empty() {
                visit(row, &active);
            }
        }
    }

    /// The weights of a row's pixels. They are summed over the whole polygon, so that they do not depend on the window.
    fn weighted(&self, row: u64, wanted: &Range<u64>, edges: &[Edge]) -> Option<Span> {
        let parts = areas(row, edges, &self.columns);
        let columns = wanted.start.max(self.columns.start)..wanted.end.min(self.columns.end);
        let (first, last) = (columns.start - self.columns.start, columns.end - self.columns.start);
        let weights: Vec<u32> = parts[first as usize..last as usize]
            .iter()
            .map(|part| (part.clamp(0.0, 1.0) * f64::from(WHOLE)).round() as u32)
            .collect();
        weights.iter().any(|&weight| weight > 0).then_some(Span { row, columns, weights })
    }
}

/// The sides of a ring, turned so that the inside of the polygon is right of a side that goes down on the left.
fn edges(ring: &Ring) -> impl Iterator<Item = Edge> {
    let corners = &ring.corners;
    let sides = || corners.iter().zip(corners.iter().cycle().skip(1)).take(corners.len());
    // Twice the signed area (Gauss's formula), negative where the ring goes down on its left.
    let area: f64 = sides().map(|(&(x, y), &(to_x, to_y))| x * to_y - to_x * y).sum();
    let turn = if (area > 0.0) == ring.is_hole { 1.0 } else { -1.0 };
    sides().filter(|(from, to)| from != to).map(move |(&from, &to)| {
        if from.1 <= to.1 {
            Edge { upper: from, lower: to, winding: turn }
        } else {
            Edge { upper: to, lower: from, winding: -turn }
        }
    })
}

/// Adds the parts of column ranges that lie in the window; they do not overlap.
fn push(spans: &mut Vec<Span>, row: u64, window: &Range<u64>, ranges: Vec<Range<u64>>) {
    for range in ranges {
        let columns = range.start.max(window.start)..range.end.min(window.end);
        if !columns.is_empty() {
            spans.push(Span { row, columns, weights: Vec::new() });
        }
    }
}

/// Columns whose centre lies inside, by the winding number. A centre on a left or upper edge is inside, on others outside.
fn centers(row: u64, edges: &[Edge]) -> Vec<Range<u64>> {
    let middle = row as f64 + 0.5;
    let crosses = |edge: &&Edge| edge.upper.1 <= middle && middle < edge.lower.1;
    let mut crossings: Vec<(f64, f64)> =
        edges.iter().filter(crosses).map(|edge| (edge.at(middle), edge.winding)).collect();
    crossings.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut ranges, mut winding, mut from) = (Vec::new(), 0.0, 0);
    for (column, turn) in crossings {
        let first_after = (column - 0.5).ceil().max(0.0) as u64;
        if winding == 0.0 {
            from = first_after;
        }
        winding += turn;
        if winding == 0.0 && from < first_after {
            ranges.push(from..first_after);
        }
    }
    ranges
}

/// Columns of which more lies inside than rounding alone can leave.
fn touched(areas: &[f64], first: u64) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for (index, _) in areas.iter().enumerate().filter(|(_, area)| **area > 1e-9) {
        let column = first + index as u64;
        match ranges.last_mut().filter(|last| last.end == column) {
            Some(last) => last.end += 1,
            None => ranges.push(column..column + 1),
        }
    }
    ranges
}

/// How much of each pixel of a row lies inside, for the given columns: the exact area of a polygon without crossing edges.
fn areas(row: u64, edges: &[Edge], columns: &Range<u64>) -> Vec<f64> {
    let (top, bottom) = (row as f64, (row + 1) as f64);
    let length = (columns.end - columns.start) as usize;
    // Each entry is what a column has more than the one before it.
    let mut steps = vec![0.0; length + 2];
    for edge in edges {
        let (from, to) = (edge.upper.1.max(top), edge.lower.1.min(bottom));
        if from < to {
            let origin = columns.start as f64;
            let (one, other) = (edge.at(from) - origin, edge.at(to) - origin);
            add_side(&mut steps, one.min(other), one.max(other), (to - from) * edge.winding);
        }
    }
    let mut sum = 0.0;
    let running = steps.into_iter().map(|step| {
        sum += step;
        sum
    });
    running.take(length).collect()
}

/// A side from column `left` to `right` that is `height` rows high: all right of it is inside.
fn add_side(steps: &mut [f64], left: f64, right: f64, height: f64) {
    let last = (steps.len() - 2) as f64;
    let slope = if right > left { height / (right - left) } else { 0.0 };
    if left < 0.0 {
        // What lies left of the columns fills all of them.
        steps[0] += if right <= 0.0 { height } else { -left * slope };
    }
    let (mut from, end) = (left.max(0.0), right.min(last));
    if left == right && (0.0..last).contains(&left) {
        add_piece(steps, left, left, height);
    }
    while from < end {
        let to = (from.floor() + 1.0).min(end);
        add_piece(steps, from, to, (to - from) * slope);
        from = to;
    }
}

/// A piece of a side within one column.
fn add_piece(steps: &mut [f64], from: f64, to: f64, height: f64) {
    let column = from.floor();
    let left_of_it = f64::midpoint(from, to) - column;
    steps[column as usize] += height * (1.0 - left_of_it);
    steps[column as usize + 1] += height * left_of_it;
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: Window = Window { col: 0, row: 0, width: 8, height: 6 };

    fn ring(corners: &[(f64, f64)]) -> Ring {
        Ring { corners: corners.to_vec(), is_hole: false }
    }

    /// The weight of each pixel of the grid in parts of a whole.
    fn weights(rings: &[Ring], coverage: Coverage) -> Vec<Vec<f64>> {
        weights_of(&GridPolygon::new(rings, 8), &GRID, coverage)
    }

    fn weights_of(polygon: &GridPolygon, window: &Window, coverage: Coverage) -> Vec<Vec<f64>> {
        let mut all = vec![vec![0.0; 8]; 6];
        for span in polygon.spans(window, coverage) {
            for (index, column) in span.columns.clone().enumerate() {
                let weight =
                    span.weights.get(index).map_or(1.0, |&weight| f64::from(weight) / f64::from(WHOLE));
                all[span.row as usize][column as usize] += weight;
            }
        }
        all
    }

    fn total(weights: &[Vec<f64>]) -> f64 {
        weights.iter().flatten().sum()
    }

    #[test]
    fn a_rectangle_holds_centres_parts_and_areas() {
        let corners = [(1.25, 1.25), (3.75, 1.25), (3.75, 2.75), (1.25, 2.75), (1.25, 1.25)];
        let centers = weights(&[ring(&corners)], Coverage::Center);
        assert_eq!(
            (centers[1].clone(), centers[2].clone()),
            (vec![0., 1., 1., 1., 0., 0., 0., 0.], centers[1].clone())
        );
        assert_eq!(total(&centers), 6.0);
        let areas = weights(&[ring(&corners)], Coverage::Fraction);
        assert_eq!(areas[1], [0.0, 0.5625, 0.75, 0.5625, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(total(&areas), 2.5 * 1.5);
        assert_eq!(total(&weights(&[ring(&corners)], Coverage::Touched)), 6.0);
        let on_lines = ring(&[(1.0, 1.0), (3.0, 1.0), (3.0, 1.25), (1.0, 1.25)]);
        assert_eq!(total(&weights(std::slice::from_ref(&on_lines), Coverage::Touched)), 2.0);
        assert_eq!(total(&weights(&[on_lines], Coverage::Center)), 0.0);
        let backwards: Vec<_> = corners.iter().rev().copied().collect();
        assert_eq!(weights(&[ring(&backwards)], Coverage::Fraction), areas);
    }

    #[test]
    fn a_triangle_has_the_area_of_a_triangle() {
        let corners = [(0.5, 0.5), (6.5, 2.0), (2.0, 5.5)];
        let areas = weights(&[ring(&corners)], Coverage::Fraction);
        // |(6 × 5) - (1.5 × 1.5)| / 2
        assert!((total(&areas) - 13.875).abs() < 1e-5);
        assert!(areas.iter().flatten().all(|&area| (0.0..=1.0).contains(&area)));
        let touched = weights(&[ring(&corners)], Coverage::Touched);
        let touches = |area: &f64| f64::from(u8::from(*area > 0.0));
        let expected: Vec<Vec<f64>> = areas.iter().map(|row| row.iter().map(touches).collect()).collect();
        assert_eq!(touched, expected);
    }

    #[test]
    fn holes_are_left_out_whichever_way_they_go_round() {
        let outer = ring(&[(0.0, 0.0), (6.0, 0.0), (6.0, 6.0), (0.0, 6.0)]);
        for corners in [
            [(2.0, 2.0), (4.0, 2.0), (4.0, 4.0), (2.0, 4.0)],
            [(2.0, 2.0), (2.0, 4.0), (4.0, 4.0), (4.0, 2.0)],
        ] {
            let hole = Ring { corners: corners.to_vec(), is_hole: true };
            for coverage in [Coverage::Center, Coverage::Fraction] {
                let found = weights(&[outer.clone(), hole.clone()], coverage);
                assert_eq!((total(&found), found[2][2], found[3][3], found[1][1]), (32.0, 0.0, 0.0, 1.0));
            }
        }
    }

    #[test]
    fn neighbours_share_no_centre_and_leave_none() {
        // The common side runs through the centres of the diagonal.
        let lower = weights(&[ring(&[(0.0, 0.0), (6.0, 6.0), (0.0, 6.0)])], Coverage::Center);
        let upper = weights(&[ring(&[(0.0, 0.0), (6.0, 0.0), (6.0, 6.0)])], Coverage::Center);
        assert_eq!(total(&lower) + total(&upper), 36.0);
        assert!(lower.iter().flatten().zip(upper.iter().flatten()).all(|(one, other)| one + other <= 1.0));
    }

    #[test]
    fn polygons_that_reach_beyond_the_grid_are_cut() {
        let wide = ring(&[(-10.0, -3.0), (20.0, -3.0), (20.0, 9.0), (-10.0, 9.0)]);
        for coverage in [Coverage::Center, Coverage::Touched, Coverage::Fraction] {
            assert_eq!(total(&weights(std::slice::from_ref(&wide), coverage)), 48.0, "{coverage:?}");
        }
        let slanted = weights(&[ring(&[(-2.0, 0.0), (2.0, 0.0), (-2.0, 4.0)])], Coverage::Fraction);
        // What is right of column 0 is the triangle (0, 0), (2, 0), (0, 2).
        assert!((total(&slanted) - 2.0).abs() < 1e-6);
        assert_eq!(total(&weights(&[ring(&[(9.0, 1.0), (12.0, 1.0), (12.0, 4.0)])], Coverage::Touched)), 0.0);
    }

    #[test]
    fn windows_see_what_the_whole_sees() {
        let star = ring(&[
            (0.3, 2.9),
            (3.1, 2.2),
            (4.2, 0.1),
            (4.9, 2.3),
            (7.8, 3.3),
            (5.1, 3.6),
            (4.4, 5.9),
            (3.0, 3.7),
        ]);
        let polygon = GridPolygon::new(&[star], 8);
        for coverage in [Coverage::Center, Coverage::Touched, Coverage::Fraction] {
            let whole = weights_of(&polygon, &GRID, coverage);
            assert!(total(&whole) > 5.0);
            let mut parts = vec![vec![0.0; 8]; 6];
            for (row, col) in (0..6).step_by(2).flat_map(|row| (0..8).step_by(3).map(move |col| (row, col))) {
                let window = Window { col, row, width: 3.min(8 - col), height: 2 };
                for (sum, part) in parts
                    .iter_mut()
                    .flatten()
                    .zip(weights_of(&polygon, &window, coverage).into_iter().flatten())
                {
                    *sum += part;
                }
            }
            assert_eq!(parts, whole, "{coverage:?}");
        }
    }
}
