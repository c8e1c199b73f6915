//! An image that can be warped: its size, and how its pixels lie in a known system.

use std::sync::Arc;

use super::WarpError;
use crate::raster::ffi::PolynomialFit;
use crate::raster::{ControlPoints, Crs, Grid, Placement, crs};

/// What a pipeline says of sources that do not say enough themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceOptions {
    /// The system of images that state none.
    pub crs: Option<Crs>,
    /// The order (1 to 3) of the polynomials that place images with control points alone.
    pub order: Option<u8>,
}

/// An image whose place is known.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceImage {
    /// Columns × rows.
    pub size: (u64, u64),
    /// The system of its coordinates.
    pub crs: Crs,
    placing: Placing,
}

#[derive(Clone, Debug, PartialEq)]
enum Placing {
    Affine([f64; 6]),
    Polynomials { points: Arc<ControlPoints>, order: u8 },
}

impl SourceImage {
    /// The image of a grid.
    ///
    /// # Errors
    /// An image that does not say where it lies, where the options do not help either.
    pub fn new(grid: &Grid, placement: &Placement, options: &SourceOptions) -> Result<Self, WarpError> {
        let (crs, placing) = match placement {
            Placement::Affine => (grid.crs.as_ref(), Placing::Affine(grid.geotransform)),
            Placement::RationalPolynomials => return Err(WarpError::RationalPolynomials),
            Placement::ControlPoints(points) => {
                let count = points.points.len();
                let order = options.order.ok_or(WarpError::ControlPointsUnused { count })?;
                (points.crs.as_ref(), Placing::Polynomials { points: Arc::clone(points), order })
            }
        };
        let crs = crs.or(options.crs.as_ref()).ok_or(WarpError::NoCrs)?.clone();
        Ok(Self { size: (grid.width, grid.height), crs, placing })
    }

    /// The geotransform, unless control points place the image.
    pub fn geotransform(&self) -> Option<&[f64; 6]> {
        match &self.placing {
            Placing::Affine(geotransform) => Some(geotransform),
            Placing::Polynomials { .. } => None,
        }
    }

    /// Functions between its pixels and its coordinates.
    ///
    /// # Errors
    /// A geotransform that flattens the image, or control points that no polynomial fits.
    pub(super) fn placer(&self) -> Result<Placer, WarpError> {
        match &self.placing {
            Placing::Affine(forward) => {
                let inverse = inverted(forward).ok_or(WarpError::Flat)?;
                Ok(Placer::Affine { forward: *forward, inverse, longitudes: self.longitudes(forward) })
            }
            Placing::Polynomials { points, order } => PolynomialFit::new(&points.points, *order)
                .map(Placer::Polynomials)
                .ok_or(WarpError::NoFit { order: *order, count: points.points.len() }),
        }
    }

    /// West and east of an image whose columns are longitudes, wider by what rounding can do.
    fn longitudes(&self, g: &[f64; 6]) -> Option<(f64, f64)> {
        let ends = (g[0], g[0] + g[1] * self.size.0 as f64);
        let is_upright = g[2] == 0.0 && g[4] == 0.0;
        (is_upright && crs::is_geographic(&self.crs))
            .then(|| (ends.0.min(ends.1) - 1e-6 * g[1].abs(), ends.0.max(ends.1) + 1e-6 * g[1].abs()))
    }
}

/// Functions between pixels and coordinates of one image.
pub(super) enum Placer {
    Affine {
        forward: [f64; 6],
        inverse: [f64; 6],
        /// Where set, longitudes outside are moved by a whole turn towards the inside.
        longitudes: Option<(f64, f64)>,
    },
    Polynomials(PolynomialFit),
}

impl Placer {
    /// Pixels to coordinates, in place.
    pub(super) fn to_coordinates(&self, x: &mut [f64], y: &mut [f64]) {
        match self {
            Placer::Affine { forward, .. } => apply(forward, x, y),
            Placer::Polynomials(fit) => fit.apply(false, x, y),
        }
    }

    /// Coordinates to pixels, in place.
    pub(super) fn to_pixels(&self, x: &mut [f64], y: &mut [f64]) {
        match self {
            Placer::Affine { inverse, longitudes, .. } => {
                if let Some((west, east)) = *longitudes {
                    for x in x.iter_mut() {
                        *x = turned(*x, west, east);
                    }
                }
                apply(inverse, x, y);
            }
            Placer::Polynomials(fit) => fit.apply(true, x, y),
        }
    }
}

/// The same meridian, a whole turn away if that brings it into a range of longitudes.
fn turned(longitude: f64, west: f64, east: f64) -> f64 {
    let range = west..=east;
    let turned = longitude - 360.0 * ((longitude - f64::midpoint(west, east)) / 360.0).round();
    if range.contains(&turned) && !range.contains(&longitude) { turned } else { longitude }
}

/// Applies GDAL's six coefficients in place.
pub(super) fn apply(g: &[f64; 6], x: &mut [f64], y: &mut [f64]) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (g[0] + *x * g[1] + *y * g[2], g[3] + *x * g[4] + *y * g[5]);
    }
}

/// The inverse of GDAL's six coefficients; `None` where they flatten the plane.
pub(super) fn inverted(g: &[f64; 6]) -> Option<[f64; 6]> {
    // Upright grids divide once instead of multiplying two rounded figures.
    if g[2] == 0.0 && g[4] == 0.0 {
        let is_flat = g[1] == 0.0 || g[5] == 0.0;
        return (!is_flat).then(|| [-g[0] / g[1], 1.0 / g[1], 0.0, -g[3] / g[5], 0.0, 1.0 / g[5]]);
    }
    let determinant = g[1] * g[5] - g[2] * g[4];
    let magnitude = g[1].abs().max(g[2].abs()) * g[4].abs().max(g[5].abs());
    (determinant.abs() > 1e-10 * magnitude).then(|| {
        [
            (g[2] * g[3] - g[0] * g[5]) / determinant,
            g[5] / determinant,
            -g[2] / determinant,
            (g[0] * g[4] - g[1] * g[3]) / determinant,
            -g[4] / determinant,
            g[1] / determinant,
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_undoes_a_rotated_and_a_south_up_transform() {
        for g in [
            [5e5, 0.0, 10.0, 4e6, 10.0, 0.0],
            [5e5, 10.0, 0.0, 4e6, 0.0, 10.0],
            [1.0, 3.0, 4.0, 2.0, -4.0, 3.0],
        ] {
            let (mut x, mut y) = ([2.5], [7.25]);
            apply(&g, &mut x, &mut y);
            apply(&inverted(&g).unwrap(), &mut x, &mut y);
            assert!((x[0] - 2.5).abs() < 1e-9 && (y[0] - 7.25).abs() < 1e-9, "{g:?}");
        }
        assert_eq!(inverted(&[0.0, 1.0, 2.0, 0.0, 2.0, 4.0]), None);
    }

    #[test]
    fn longitudes_turn_into_the_image_and_stay_when_that_does_not_help() {
        assert_eq!(turned(-170.0, 0.0, 360.0), 190.0);
        assert_eq!(turned(185.0, -180.0, 180.0), -175.0);
        assert_eq!(turned(180.0, -180.0, 180.0), 180.0);
        assert_eq!(turned(-100.0, 170.0, 190.0), -100.0);
    }
}
