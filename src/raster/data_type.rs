//! The types a pixel can have.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The type of one pixel of a band, named as numpy and rasterio name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DataType {
    /// Unsigned, 8 bits.
    Uint8,
    /// Signed, 8 bits.
    Int8,
    /// Unsigned, 16 bits.
    Uint16,
    /// Signed, 16 bits.
    Int16,
    /// Unsigned, 32 bits.
    Uint32,
    /// Signed, 32 bits.
    Int32,
    /// Unsigned, 64 bits.
    Uint64,
    /// Signed, 64 bits.
    Int64,
    /// IEEE 754, 32 bits.
    Float32,
    /// IEEE 754, 64 bits.
    Float64,
}

impl DataType {
    /// Every type, in the order of the declaration.
    pub const ALL: [DataType; 10] = [
        DataType::Uint8,
        DataType::Int8,
        DataType::Uint16,
        DataType::Int16,
        DataType::Uint32,
        DataType::Int32,
        DataType::Uint64,
        DataType::Int64,
        DataType::Float32,
        DataType::Float64,
    ];

    /// Bytes of one pixel.
    pub const fn size(self) -> u64 {
        match self {
            DataType::Uint8 | DataType::Int8 => 1,
            DataType::Uint16 | DataType::Int16 => 2,
            DataType::Uint32 | DataType::Int32 | DataType::Float32 => 4,
            DataType::Uint64 | DataType::Int64 | DataType::Float64 => 8,
        }
    }

    /// Whether the type is a floating-point type, so that it can hold NaN.
    pub const fn is_float(self) -> bool {
        matches!(self, DataType::Float32 | DataType::Float64)
    }

    /// The smallest and the largest finite value, rounded to the nearest `f64` for 64-bit integers.
    pub const fn range(self) -> (f64, f64) {
        match self {
            DataType::Uint8 => (0.0, u8::MAX as f64),
            DataType::Int8 => (i8::MIN as f64, i8::MAX as f64),
            DataType::Uint16 => (0.0, u16::MAX as f64),
            DataType::Int16 => (i16::MIN as f64, i16::MAX as f64),
            DataType::Uint32 => (0.0, u32::MAX as f64),
            DataType::Int32 => (i32::MIN as f64, i32::MAX as f64),
            DataType::Uint64 => (0.0, u64::MAX as f64),
            DataType::Int64 => (i64::MIN as f64, i64::MAX as f64),
            DataType::Float32 => (f32::MIN as f64, f32::MAX as f64),
            DataType::Float64 => (f64::MIN, f64::MAX),
        }
    }

    /// The name as a pipeline writes it.
    pub const fn name(self) -> &'static str {
        match self {
            DataType::Uint8 => "uint8",
            DataType::Int8 => "int8",
            DataType::Uint16 => "uint16",
            DataType::Int16 => "int16",
            DataType::Uint32 => "uint32",
            DataType::Int32 => "int32",
            DataType::Uint64 => "uint64",
            DataType::Int64 => "int64",
            DataType::Float32 => "float32",
            DataType::Float64 => "float64",
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
