//! A grid of a pipeline: a system, a resolution and an origin, so that every image lands on the same pixels; and
//! the tiles it is cut into.

use super::{Crs, Grid, crs};

/// Pixels are whole but for rounding errors; a millionth of one is no reason for another row.
const HAIR: f64 = 1e-6;

/// A grid without end, or within bounds, that images and tiles are parts of.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedGrid {
    /// The system.
    pub crs: Crs,
    /// Width and height of a pixel in units of the system, both positive.
    pub resolution: (f64, f64),
    /// A corner of pixels, and of tiles, in the system: the upper left of the bounds, else (0, 0).
    pub origin: (f64, f64),
    /// Columns × rows from the origin on; `None` for a grid without end.
    pub size: Option<(u64, u64)>,
    /// Pixels of a tile's edge; `None` for a grid that is not cut.
    pub tile: Option<u64>,
}

/// One tile.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// Tiles to the right of the origin.
    pub col: i64,
    /// Tiles below the origin.
    pub row: i64,
    /// Its pixels, cut to the bounds of the grid.
    pub grid: Grid,
}

/// Pixels of a named grid, counted from its origin; ends are exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    cols: (i64, i64),
    rows: (i64, i64),
}

impl NamedGrid {
    /// A grid in these bounds (west, south, east, north), or without end.
    ///
    /// With `align` bounds grow outward to whole multiples of the resolution.
    pub fn new(
        crs: Crs,
        resolution: (f64, f64),
        bounds: Option<[f64; 4]>,
        align: bool,
        tile: Option<u64>,
    ) -> Self {
        let endless = Self { crs, resolution, origin: (0.0, 0.0), size: None, tile };
        let Some([west, south, east, north]) = bounds else { return endless };
        let start = if align { endless } else { Self { origin: (west, north), ..endless } };
        let span = start.span([west, south, east, north]);
        let origin = start.corner(span.cols.0, span.rows.0);
        Self { origin, size: Some(span.size()), ..start }
    }

    /// All of a grid that has bounds.
    pub fn whole(&self) -> Option<Grid> {
        let (width, height) = self.size?;
        Some(self.part(Span { cols: (0, width as i64), rows: (0, height as i64) }))
    }

    /// The pixels that an extent (west, south, east, north) touches, cut to the bounds; `None` where there are none.
    pub fn covering(&self, extent: [f64; 4]) -> Option<Grid> {
        self.cut(self.span(extent)).map(|span| self.part(span))
    }

    /// The tiles that an extent (west, south, east, north) touches, row by row; none for a grid that is not cut.
    pub fn tiles_over(&self, extent: [f64; 4]) -> impl Iterator<Item = Tile> {
        let tile = self.tile.filter(|tile| *tile > 0).map(|tile| tile as i64);
        let tiles = tile.and_then(|tile| Some((tile, self.cut(self.span(extent))?)));
        tiles
            .into_iter()
            .flat_map(move |(tile, span)| {
                let range =
                    move |(start, end): (i64, i64)| start.div_euclid(tile)..(end - 1).div_euclid(tile) + 1;
                range(span.rows).flat_map(move |row| range(span.cols).map(move |col| (tile, row, col)))
            })
            .filter_map(|(tile, row, col)| {
                let edge = |i: i64| (i * tile, (i + 1) * tile);
                let span = self.cut(Span { cols: edge(col), rows: edge(row) })?;
                Some(Tile { col, row, grid: self.part(span) })
            })
    }

    /// Whether the pixels of an upright grid are pixels of this one.
    pub fn holds(&self, grid: &Grid) -> bool {
        let g = &grid.geotransform;
        let is_whole = |pixels: f64| (pixels - pixels.round()).abs() < HAIR;
        let has_pixels = [g[1], g[2], g[4], g[5]] == [self.resolution.0, 0.0, 0.0, -self.resolution.1];
        has_pixels
            && is_whole((g[0] - self.origin.0) / self.resolution.0)
            && is_whole((self.origin.1 - g[3]) / self.resolution.1)
            && grid.crs.as_ref().is_some_and(|crs| crs::is_same(crs, &self.crs))
    }

    fn span(&self, [west, south, east, north]: [f64; 4]) -> Span {
        let (x, y) = self.resolution;
        let low = |v: f64| (v + HAIR).floor() as i64;
        let high = |v: f64| (v - HAIR).ceil() as i64;
        Span {
            cols: (low((west - self.origin.0) / x), high((east - self.origin.0) / x)),
            rows: (low((self.origin.1 - north) / y), high((self.origin.1 - south) / y)),
        }
    }

    fn cut(&self, span: Span) -> Option<Span> {
        let cut = |(start, end): (i64, i64), size: Option<u64>| match size {
            Some(size) => (start.max(0), end.min(size as i64)),
            None => (start, end),
        };
        let (cols, rows) =
            (cut(span.cols, self.size.map(|size| size.0)), cut(span.rows, self.size.map(|size| size.1)));
        (cols.0 < cols.1 && rows.0 < rows.1).then_some(Span { cols, rows })
    }

    fn corner(&self, col: i64, row: i64) -> (f64, f64) {
        (self.origin.0 + col as f64 * self.resolution.0, self.origin.1 - row as f64 * self.resolution.1)
    }

    fn part(&self, span: Span) -> Grid {
        let (west, north) = self.corner(span.cols.0, span.rows.0);
        let (width, height) = span.size();
        let geotransform = [west, self.resolution.0, 0.0, north, 0.0, -self.resolution.1];
        Grid { crs: Some(self.crs.clone()), geotransform, width, height }
    }
}

impl Span {
    fn size(self) -> (u64, u64) {
        ((self.cols.1 - self.cols.0).max(0) as u64, (self.rows.1 - self.rows.0).max(0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ten_metres(bounds: Option<[f64; 4]>, align: bool) -> NamedGrid {
        NamedGrid::new(Crs::from_wkt("any"), (10.0, 10.0), bounds, align, Some(100))
    }

    #[test]
    fn an_extent_grows_outward_to_whole_multiples() {
        let grid = ten_metres(None, true).covering([500_003.0, 3_999_961.0, 500_047.0, 3_999_999.0]).unwrap();
        assert_eq!(grid.geotransform, [500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0]);
        assert_eq!((grid.width, grid.height), (5, 4));
    }

    #[test]
    fn rounding_errors_make_no_further_pixel() {
        let grid = ten_metres(None, true).covering([0.0, 0.0, 30.000_000_001, 29.999_999_999]).unwrap();
        assert_eq!((grid.width, grid.height), (3, 3));
    }

    #[test]
    fn bounds_align_unless_told_otherwise_and_cut_what_is_outside() {
        let bounds = Some([3.0, 3.0, 47.0, 38.0]);
        assert_eq!(ten_metres(bounds, true).whole().unwrap().geotransform[0], 0.0);
        let loose = ten_metres(bounds, false);
        assert_eq!(loose.whole().unwrap().geotransform, [3.0, 10.0, 0.0, 38.0, 0.0, -10.0]);
        assert_eq!(loose.size, Some((5, 4)));
        assert_eq!(loose.covering([13.0, 18.0, 900.0, 900.0]).map(|g| (g.width, g.height)), Some((4, 2)));
        assert_eq!(loose.covering([900.0, 900.0, 910.0, 910.0]), None);
    }

    #[test]
    fn tiles_lie_on_the_grid_and_end_at_its_bounds() {
        let tiles: Vec<_> = ten_metres(Some([0.0, 0.0, 1500.0, 1000.0]), true)
            .tiles_over([900.0, 10.0, 1100.0, 990.0])
            .map(|tile| (tile.row, tile.col, tile.grid.geotransform[0], tile.grid.width))
            .collect();
        assert_eq!(tiles, [(0, 0, 0.0, 100), (0, 1, 1000.0, 50)]);
    }

    #[test]
    fn a_grid_without_end_counts_tiles_from_zero_in_both_directions() {
        let tiles: Vec<_> = ten_metres(None, true)
            .tiles_over([-500.0, 500.0, 500.0, 1500.0])
            .map(|tile| (tile.row, tile.col, tile.grid.geotransform[3]))
            .collect();
        assert_eq!(tiles, [(-2, -1, 2000.0), (-2, 0, 2000.0), (-1, -1, 1000.0), (-1, 0, 1000.0)]);
    }
}
