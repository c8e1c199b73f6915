//! Why an image cannot be warped.

use crate::raster::NoOperation;

/// Why an image cannot be warped; the caller names the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WarpError {
    /// Nothing says in which system the source's coordinates are.
    #[error("the raster has no CRS; name it with `source-crs`")]
    NoCrs,
    /// Nothing says in which system the target's coordinates are.
    #[error("the target grid has no CRS")]
    NoTargetCrs,
    /// Control points alone place the source and nothing says how to use them.
    #[error(
        "no geotransform; {count} ground control points present: choose a fit with `control-points = {{ order = 1 }}` (1 to 3)"
    )]
    ControlPointsUnused {
        /// How many there are.
        count: usize,
    },
    /// Rational polynomials alone place the source.
    #[error("placed by rational polynomial coefficients alone, which are not read; orthorectify it first")]
    RationalPolynomials,
    /// Too few control points, or all on a line.
    #[error("no polynomials of order {order} fit {count} ground control points")]
    NoFit {
        /// The order asked for.
        order: u8,
        /// How many points there are.
        count: usize,
    },
    /// A geotransform that maps the plane to a line.
    #[error("the geotransform has no inverse")]
    Flat,
    /// The image has no finite place in the target system.
    #[error("no part of the raster has coordinates in `{crs}`")]
    Nowhere {
        /// The target's system.
        crs: String,
    },
    /// The image lies at both ends of the target system and nowhere between, as across 180° in Mercator.
    #[error(
        "the raster lies at both ends of `{crs}`, so that its grid would go around the Earth: give `bounds` at one end, or a system that is whole there, such as `EPSG:4326` or a zone of UTM"
    )]
    Torn {
        /// The target's system.
        crs: String,
    },
    /// Images in several systems, and no target system.
    #[error("members lie in `{one}` and `{other}`; name one `crs` or `grid` for all")]
    MixedCrs {
        /// One system.
        one: String,
        /// Another.
        other: String,
    },
    /// The image does not touch the bounds of the target.
    #[error("the grid would have {width} × {height} pixels; expected 1 to 2147483647 each way")]
    Size {
        /// Columns.
        width: u64,
        /// Rows.
        height: u64,
    },
    /// No coordinate operation is known.
    #[error(transparent)]
    NoOperation(#[from] NoOperation),
    /// The work was cancelled.
    #[error("cancelled")]
    Cancelled,
}
