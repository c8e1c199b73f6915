//! How an image without a geotransform says where it lies.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Crs;

/// A pixel whose coordinates are known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlPoint {
    /// Column, 0 being the left edge of the first pixel.
    pub col: f64,
    /// Row, 0 being the upper edge of the first pixel.
    pub row: f64,
    /// First coordinate, easting or longitude.
    pub x: f64,
    /// Second coordinate, northing or latitude.
    pub y: f64,
}

/// Control points and the system of their coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlPoints {
    /// The system; `None` where the file states none.
    pub crs: Option<Crs>,
    /// The points, in file order.
    pub points: Vec<ControlPoint>,
}

/// How the pixels of an image are placed on the earth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Placement {
    /// By its grid's geotransform, or not at all when the grid has no CRS.
    #[default]
    Affine,
    /// By control points alone; the grid is the identity and has no CRS.
    ControlPoints(Arc<ControlPoints>),
    /// By rational polynomials alone.
    RationalPolynomials,
}
