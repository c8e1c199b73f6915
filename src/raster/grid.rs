//! Where pixels lie: a coordinate reference system, an affine transform and a size; and rectangles of it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A coordinate reference system as well-known text; shared, because every band of every window carries it.
///
/// Two systems are equal when their texts are equal; `raster` compares the meaning where that matters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Crs(Arc<str>);

impl Crs {
    /// Takes well-known text as GDAL exports it.
    pub fn from_wkt(wkt: impl Into<Arc<str>>) -> Self {
        Self(wkt.into())
    }

    /// The well-known text.
    pub fn wkt(&self) -> &str {
        &self.0
    }
}

/// A pixel grid: `geotransform` maps (column, row) to CRS coordinates in GDAL's order
/// `[x0, dx/dcol, dx/drow, y0, dy/dcol, dy/drow]`, (0, 0) being the outer corner of the first pixel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// The system of the coordinates; `None` where the file states none.
    pub crs: Option<Crs>,
    /// GDAL's six coefficients.
    pub geotransform: [f64; 6],
    /// Columns.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

impl Grid {
    /// The whole grid as a window of itself.
    pub fn whole(&self) -> Window {
        Window { col: 0, row: 0, width: self.width, height: self.height }
    }

    /// CRS coordinates of a place given in (fractional) columns and rows.
    pub fn to_crs(&self, col: f64, row: f64) -> (f64, f64) {
        let g = &self.geotransform;
        (g[0] + col * g[1] + row * g[2], g[3] + col * g[4] + row * g[5])
    }

    /// The grid of one window of this grid.
    #[must_use]
    pub fn of_window(&self, window: &Window) -> Grid {
        let (x0, y0) = self.to_crs(window.col as f64, window.row as f64);
        let g = &self.geotransform;
        Grid {
            crs: self.crs.clone(),
            geotransform: [x0, g[1], g[2], y0, g[4], g[5]],
            width: window.width,
            height: window.height,
        }
    }
}

/// A rectangle of pixels of a grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Window {
    /// First column.
    pub col: u64,
    /// First row.
    pub row: u64,
    /// Columns.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

impl Window {
    /// How many pixels it holds.
    pub fn pixels(&self) -> u64 {
        self.width * self.height
    }

    /// The smallest window that covers both.
    #[must_use]
    pub fn covering(&self, other: &Window) -> Window {
        let (col, row) = (self.col.min(other.col), self.row.min(other.row));
        let right = (self.col + self.width).max(other.col + other.width);
        let bottom = (self.row + self.height).max(other.row + other.height);
        Window { col, row, width: right - col, height: bottom - row }
    }

    /// The window with `margin` more pixels on every side, cut to a grid of `width` × `height`.
    #[must_use]
    pub fn grown(&self, margin: u64, width: u64, height: u64) -> Window {
        let col = self.col.saturating_sub(margin);
        let row = self.row.saturating_sub(margin);
        let right = (self.col + self.width + margin).min(width);
        let bottom = (self.row + self.height + margin).min(height);
        Window { col, row, width: right.saturating_sub(col), height: bottom.saturating_sub(row) }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{} at column {}, row {}", self.width, self.height, self.col, self.row)
    }
}
