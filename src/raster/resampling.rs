//! How pixels of one grid become pixels of another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the value of a target pixel is made of source pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resampling {
    /// The pixel under the target's centre: exact values, for classes and bit fields.
    #[default]
    Nearest,
    /// Weighted by distance over 2 × 2 pixels; smooth.
    Bilinear,
    /// Catmull-Rom spline over 4 × 4 pixels; sharper than bilinear, can overshoot.
    Cubic,
    /// B-spline over 4 × 4 pixels; smoother than bilinear, never overshoots.
    CubicSpline,
    /// Windowed sinc over 6 × 6 pixels; the sharpest, can overshoot.
    Lanczos,
    /// The mean of the pixels that a target pixel covers, weighted by the part covered.
    Average,
    /// The value that covers most of a target pixel; the smallest of equals.
    Mode,
    /// The smallest of the pixels that a target pixel covers.
    Min,
    /// The largest of the pixels that a target pixel covers.
    Max,
    /// The median of the pixels that a target pixel covers; the lower one of an even number.
    Med,
    /// The first quartile of the pixels that a target pixel covers.
    Q1,
    /// The third quartile of the pixels that a target pixel covers.
    Q3,
    /// The sum of the pixels that a target pixel covers, each times the part covered.
    Sum,
}

impl Resampling {
    /// Every method, in the order of the declaration.
    pub const ALL: [Resampling; 13] = [
        Resampling::Nearest,
        Resampling::Bilinear,
        Resampling::Cubic,
        Resampling::CubicSpline,
        Resampling::Lanczos,
        Resampling::Average,
        Resampling::Mode,
        Resampling::Min,
        Resampling::Max,
        Resampling::Med,
        Resampling::Q1,
        Resampling::Q3,
        Resampling::Sum,
    ];

    /// How far from a target's centre a source pixel can count, in source pixels at equal resolution.
    pub const fn radius(self) -> f64 {
        match self {
            Resampling::Bilinear => 1.0,
            Resampling::Cubic | Resampling::CubicSpline => 2.0,
            Resampling::Lanczos => 3.0,
            _ => 0.5,
        }
    }

    /// Whether it works on the area that a target pixel covers rather than on its centre.
    pub const fn is_areal(self) -> bool {
        !matches!(
            self,
            Resampling::Nearest
                | Resampling::Bilinear
                | Resampling::Cubic
                | Resampling::CubicSpline
                | Resampling::Lanczos
        )
    }
}
