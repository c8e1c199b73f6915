//! One band: typed pixels, which of them are valid, and what the band says of itself.

use std::sync::Arc;

use ndarray::{ArcArray2, Array2};
use serde::{Deserialize, Serialize};

use super::DataType;

/// The pixels of one band, row × column; cloning shares them.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant holds pixels of the type it is named after")]
pub enum BandPixels {
    Uint8(ArcArray2<u8>),
    Int8(ArcArray2<i8>),
    Uint16(ArcArray2<u16>),
    Int16(ArcArray2<i16>),
    Uint32(ArcArray2<u32>),
    Int32(ArcArray2<i32>),
    Uint64(ArcArray2<u64>),
    Int64(ArcArray2<i64>),
    Float32(ArcArray2<f32>),
    Float64(ArcArray2<f64>),
}

/// Runs the same code on the typed array of every variant: `with_pixels!(pixels, array => …)`.
#[macro_export]
macro_rules! with_pixels {
    ($pixels:expr, $array:ident => $body:expr) => {
        match $pixels {
            $crate::raster::BandPixels::Uint8($array) => $body,
            $crate::raster::BandPixels::Int8($array) => $body,
            $crate::raster::BandPixels::Uint16($array) => $body,
            $crate::raster::BandPixels::Int16($array) => $body,
            $crate::raster::BandPixels::Uint32($array) => $body,
            $crate::raster::BandPixels::Int32($array) => $body,
            $crate::raster::BandPixels::Uint64($array) => $body,
            $crate::raster::BandPixels::Int64($array) => $body,
            $crate::raster::BandPixels::Float32($array) => $body,
            $crate::raster::BandPixels::Float64($array) => $body,
        }
    };
}

pub(crate) use with_pixels;

/// A Rust type that a pixel can have.
pub trait Pixel: Copy + PartialEq + PartialOrd + Send + Sync + Default + 'static {
    /// The type's name in the language.
    const DATA_TYPE: DataType;

    /// Wraps a typed array.
    fn wrap(array: ArcArray2<Self>) -> BandPixels;

    /// The nearest `f64`; exact but for 64-bit integers beyond 2^53.
    fn to_f64(self) -> f64;

    /// Rounds half away from zero and clamps to the type; NaN becomes zero in integer types.
    fn from_f64(value: f64) -> Self;
}

macro_rules! pixel {
    ($($rust:ty => $variant:ident, $float:literal);* $(;)?) => {$(
        impl Pixel for $rust {
            const DATA_TYPE: DataType = DataType::$variant;

            fn wrap(array: ArcArray2<Self>) -> BandPixels {
                BandPixels::$variant(array)
            }

            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline]
            fn from_f64(value: f64) -> Self {
                if $float { value as $rust } else { value.round() as $rust }
            }
        }
    )*};
}

pixel! {
    u8 => Uint8, false; i8 => Int8, false; u16 => Uint16, false; i16 => Int16, false;
    u32 => Uint32, false; i32 => Int32, false; u64 => Uint64, false; i64 => Int64, false;
    f32 => Float32, true; f64 => Float64, true;
}

impl BandPixels {
    /// The type of each pixel.
    pub fn data_type(&self) -> DataType {
        fn of<T: Pixel>(_: &ArcArray2<T>) -> DataType {
            T::DATA_TYPE
        }
        with_pixels!(self, array => of(array))
    }

    /// (rows, columns).
    pub fn dim(&self) -> (usize, usize) {
        with_pixels!(self, array => array.dim())
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        let (rows, columns) = self.dim();
        rows as u64 * columns as u64 * self.data_type().size()
    }
}

/// Which pixels of a band hold data. Where they do not, the pixel's value means nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Validity {
    /// All of them.
    All,
    /// Those that are not zero; row × column as the pixels. Bands of one file share one mask.
    Mask(Arc<Array2<u8>>),
}

impl Validity {
    /// Whether the pixel at (row, column) holds data.
    pub fn is_valid(&self, row: usize, column: usize) -> bool {
        match self {
            Validity::All => true,
            Validity::Mask(mask) => mask[(row, column)] != 0,
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        match self {
            Validity::All => 0,
            Validity::Mask(mask) => mask.len() as u64,
        }
    }
}

/// What a band says of itself, kept from `read` to `encode`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BandDescription {
    /// The name that later stages use.
    pub name: String,
    /// The value that marks missing pixels, as the source writes it. 64-bit integers are kept as text.
    pub nodata: Option<String>,
    /// The unit of the values.
    pub unit: Option<String>,
    /// Stored × scale + offset is the value in its unit; (1, 0) when nothing is said.
    pub scale: f64,
    /// See `scale`.
    pub offset: f64,
    /// RGBA entries of a colour table, by pixel value.
    pub color_table: Option<Vec<[u8; 4]>>,
    /// Class names, by pixel value.
    pub categories: Option<Vec<String>>,
    /// Further metadata of the band, in the file's order.
    pub tags: Vec<(String, String)>,
    /// Whether it tells how opaque the pixels of the other bands are; where it is 0 they are missing.
    #[serde(default)]
    pub is_alpha: bool,
}

impl BandDescription {
    /// A band that says nothing but its name.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            nodata: None,
            unit: None,
            scale: 1.0,
            offset: 0.0,
            color_table: None,
            categories: None,
            tags: Vec::new(),
            is_alpha: false,
        }
    }
}

/// One band of a raster's member.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// What it says of itself.
    pub description: BandDescription,
    /// Its pixels.
    pub pixels: BandPixels,
    /// Which of them are valid.
    pub validity: Validity,
}

impl Band {
    /// Bytes held by pixels and mask.
    pub fn bytes(&self) -> u64 {
        self.pixels.bytes() + self.validity.bytes()
    }
}
