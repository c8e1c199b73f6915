//! What a raster file says before any pixel is read.

use std::sync::Arc;

use bytes::Bytes;

use super::{BandDescription, ControlPoints, DataType, Grid, Placement};

/// The bytes of a file that are at hand: all of them, or the ranges that an item needs.
#[derive(Clone, Debug)]
pub struct FileBytes {
    /// What messages call the file; its suffix tells drivers what it may be.
    pub name: Arc<str>,
    /// The size of the whole file.
    pub size: u64,
    /// Ranges at hand, by offset, not overlapping.
    pub segments: Vec<(u64, Bytes)>,
}

impl FileBytes {
    /// A whole file.
    pub fn whole(name: impl Into<Arc<str>>, bytes: Bytes) -> Self {
        Self { name: name.into(), size: bytes.len() as u64, segments: vec![(0, bytes)] }
    }

    /// Bytes held.
    pub fn held(&self) -> u64 {
        self.segments.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }
}

/// What a raster file says of itself.
#[derive(Clone, Debug)]
pub struct Header {
    /// GDAL's short driver name: `GTiff`, `JP2OpenJPEG`, …
    pub driver: String,
    /// The pixel grid. With GCPs or RPCs alone, or without any georeference, it has no CRS and the identity transform.
    pub grid: Arc<Grid>,
    /// How the file says where it lies.
    pub georeference: Georeference,
    /// The control points, where it has any.
    pub control_points: Option<Arc<ControlPoints>>,
    /// The bands, in file order.
    pub bands: Vec<BandHeader>,
    /// Metadata of the whole file: (domain or empty, key, value).
    pub tags: Arc<Vec<(String, String, String)>>,
}

impl Header {
    /// The number of the alpha band, counted from 1.
    pub fn alpha_band(&self) -> Option<usize> {
        self.bands.iter().position(|band| band.is_alpha).map(|index| index + 1)
    }

    /// How the image is placed where its grid does not tell.
    pub fn placement(&self) -> Placement {
        match (self.georeference, &self.control_points) {
            (Georeference::ControlPoints, Some(points)) => Placement::ControlPoints(Arc::clone(points)),
            (Georeference::RationalPolynomials, _) => Placement::RationalPolynomials,
            _ => Placement::Affine,
        }
    }
}

/// How a file says where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Georeference {
    /// An affine transform.
    Affine,
    /// Ground control points only.
    ControlPoints,
    /// Rational polynomial coefficients only.
    RationalPolynomials,
    /// Nothing.
    None,
}

/// What may say of a pixel that it is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Nothing: every pixel is valid.
    Never,
    /// The band's own values: nodata, or NaN.
    ByValue,
    /// A mask or an alpha band of the file, which is read beside the band.
    ByMask,
}

/// What one band says of itself.
#[derive(Clone, Debug)]
pub struct BandHeader {
    /// The type of a pixel.
    pub data_type: DataType,
    /// Whether pixels are complex; those are refused by `read`, `data_type` being that of a part.
    pub is_complex: bool,
    /// Whether it is the alpha band of the others.
    pub is_alpha: bool,
    /// What may say of a pixel that it is invalid.
    pub gaps: Gaps,
    /// Columns × rows of a block.
    pub block: (u64, u64),
    /// Sizes of the overviews, in file order; none where the file has a mask and its overviews have not.
    pub overviews: Vec<(u64, u64)>,
    /// Name, nodata, unit, scale, colours.
    pub description: BandDescription,
}
