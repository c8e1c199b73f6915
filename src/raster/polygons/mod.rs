//! Polygons of a vector file, and which pixels of a grid they hold.

mod layer;
mod on_grid;

pub use layer::{GridPolygons, Polygon, PolygonError, PolygonLayer};
pub use on_grid::{Coverage, GridPolygon, Ring, Span, WHOLE};
