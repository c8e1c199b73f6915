//! What the writer needs of a pixel type: exact text, means, bytes and the differences of predictors.

use ndarray::ArcArray2;

use crate::raster::{BandPixels, Pixel};

/// A pixel type as the writer sees it.
pub(super) trait Sample: Pixel {
    /// Bytes of one pixel.
    const SIZE: usize;
    /// The value that marks missing pixels where none is declared: NaN, for floats.
    const DEFAULT_NODATA: Option<Self>;

    /// The typed array, if it is of this type.
    fn array(pixels: &BandPixels) -> Option<&ArcArray2<Self>>;

    /// The value that a nodata text stands for; `None` where the type cannot hold it.
    fn parse(text: &str) -> Option<Self>;

    /// The value as exact decimal text.
    fn text(self) -> String;

    /// Whether it is not a number.
    fn is_nan(self) -> bool;

    /// The mean of one to four values; integers are rounded half away from zero.
    fn mean(values: &[Self]) -> Self;

    /// A value beside this one.
    fn neighbour(self) -> Self;

    /// Writes little-endian bytes; `out` has `SIZE` bytes a pixel.
    fn write(row: &[Self], out: &mut [u8]);

    /// Reads little-endian bytes; `bytes` has `SIZE` bytes a pixel.
    fn read(bytes: &[u8], out: &mut [Self]);

    /// Writes each pixel's difference from the one `stride` before it, wrapping, as little-endian bytes
    /// (TIFF 6.0, section 14).
    fn write_differences(row: &[Self], stride: usize, out: &mut [u8]);

    /// Writes all most significant bytes, then all second ones, and so on (TIFF Technical Note 3).
    fn write_planes(row: &[Self], out: &mut [u8]);
}

macro_rules! bytes_of {
    ($rust:ty, $bits:ty, $to_bits:expr) => {
        const SIZE: usize = size_of::<$rust>();

        fn write(row: &[Self], out: &mut [u8]) {
            for (bytes, value) in out.as_chunks_mut::<{ size_of::<$rust>() }>().0.iter_mut().zip(row) {
                *bytes = value.to_le_bytes();
            }
        }

        fn read(bytes: &[u8], out: &mut [Self]) {
            for (value, bytes) in out.iter_mut().zip(bytes.as_chunks::<{ size_of::<$rust>() }>().0) {
                *value = <$rust>::from_le_bytes(*bytes);
            }
        }

        fn write_differences(row: &[Self], stride: usize, out: &mut [u8]) {
            let to_bits: fn($rust) -> $bits = $to_bits;
            let (first, rest) = out.split_at_mut(stride * Self::SIZE);
            Self::write(&row[..stride], first);
            let pairs = row[stride..].iter().zip(row);
            for (bytes, (value, before)) in
                rest.as_chunks_mut::<{ size_of::<$rust>() }>().0.iter_mut().zip(pairs)
            {
                *bytes = to_bits(*value).wrapping_sub(to_bits(*before)).to_le_bytes();
            }
        }

        fn write_planes(row: &[Self], out: &mut [u8]) {
            for (significance, plane) in out.chunks_exact_mut(row.len()).enumerate() {
                for (byte, value) in plane.iter_mut().zip(row) {
                    *byte = value.to_be_bytes()[significance];
                }
            }
        }
    };
}

macro_rules! array_of {
    ($variant:ident) => {
        fn array(pixels: &BandPixels) -> Option<&ArcArray2<Self>> {
            match pixels {
                BandPixels::$variant(array) => Some(array),
                _ => None,
            }
        }
    };
}

macro_rules! integer {
    ($($rust:ty => $variant:ident, $wide:ty);* $(;)?) => {$(
        impl Sample for $rust {
            const DEFAULT_NODATA: Option<Self> = None;

            array_of!($variant);
            bytes_of!($rust, $rust, |value| value);

            fn parse(text: &str) -> Option<Self> {
                parse_integer(text).and_then(|value| value.try_into().ok())
            }

            fn text(self) -> String {
                self.to_string()
            }

            fn is_nan(self) -> bool {
                false
            }

            #[inline]
            fn mean(values: &[Self]) -> Self {
                let count = values.len() as $wide;
                let sum: $wide = values.iter().map(|value| *value as $wide).sum();
                let half = if sum < 0 { -(count / 2) } else { count / 2 };
                ((sum + half) / count) as $rust
            }

            fn neighbour(self) -> Self {
                self.checked_add(1).unwrap_or(self - 1)
            }
        }
    )*};
}

integer! {
    u8 => Uint8, i32; i8 => Int8, i32; u16 => Uint16, i32; i16 => Int16, i32;
    u32 => Uint32, i64; i32 => Int32, i64; u64 => Uint64, i128; i64 => Int64, i128;
}

macro_rules! float {
    ($($rust:ty => $variant:ident, $bits:ty);* $(;)?) => {$(
        impl Sample for $rust {
            const DEFAULT_NODATA: Option<Self> = Some(<$rust>::NAN);

            array_of!($variant);
            bytes_of!($rust, $bits, <$rust>::to_bits);

            fn parse(text: &str) -> Option<Self> {
                parse_float(text, <$rust>::MAX as f64).map(|value| value as $rust)
            }

            fn text(self) -> String {
                float_text(self as f64)
            }

            fn is_nan(self) -> bool {
                self.is_nan()
            }

            #[inline]
            fn mean(values: &[Self]) -> Self {
                (values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64) as $rust
            }

            fn neighbour(self) -> Self {
                self.next_up()
            }
        }
    )*};
}

float! { f32 => Float32, u32; f64 => Float64, u64 }

/// A whole number, written as such or as a float (`255.0`, `-1e3`) that is one.
fn parse_integer(text: &str) -> Option<i128> {
    let text = text.trim();
    text.parse().ok().or_else(|| {
        let value: f64 = text.parse().ok()?;
        (value.fract() == 0.0 && value.abs() < 2f64.powi(100)).then_some(value as i128)
    })
}

/// A float that is finite in a type that ends at `max`, NaN or infinite. Text rounded just past the end, as ESRI
/// writes `-3.40282346638529e+38` for the smallest float32, means the end.
fn parse_float(text: &str, max: f64) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    if value.is_finite() && value.abs() > max {
        return (value.abs() <= max * (1.0 + 1e-9)).then_some(max.copysign(value));
    }
    Some(value)
}

/// The shortest text that reads back as the same float, with an exponent where digits would be many.
fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodata_text_is_exact_or_refused() {
        assert_eq!(u64::parse("18446744073709551615"), Some(u64::MAX));
        assert_eq!(u64::MAX.text(), "18446744073709551615");
        assert_eq!(i64::parse("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(u8::parse("255.0"), Some(255));
        assert_eq!(u8::parse("-9999"), None);
        assert_eq!(u8::parse("256"), None);
        assert_eq!(i16::parse("0.5"), None);
        assert_eq!(i16::parse("nan"), None);
    }

    #[test]
    fn float_nodata_keeps_its_meaning() {
        assert_eq!(f32::parse("-3.40282346638529e+38"), Some(f32::MIN));
        assert_eq!(f32::parse("1e39"), None);
        assert_eq!(f64::parse("1e39"), Some(1e39));
        assert!(f32::parse("NaN").is_some_and(f32::is_nan));
        assert_eq!((-9999f32).text(), "-9999");
        assert_eq!(f32::NAN.text(), "nan");
        assert_eq!(f32::MIN.text(), "-3.4028234663852886e38");
    }

    #[test]
    fn means_round_half_away_from_zero() {
        assert_eq!(u8::mean(&[1, 2]), 2);
        assert_eq!(u8::mean(&[1, 2, 2, 2]), 2);
        assert_eq!(u8::mean(&[0, 0, 0, 1]), 0);
        assert_eq!(u8::mean(&[1, 1, 2]), 1);
        assert_eq!(i16::mean(&[-1, -2]), -2);
        assert_eq!(i16::mean(&[-1, 0, 0, 0]), 0);
        assert_eq!(i16::mean(&[-2, -1, -1]), -1);
        assert_eq!(u64::mean(&[u64::MAX; 4]), u64::MAX);
        assert_eq!(i64::mean(&[i64::MIN; 3]), i64::MIN);
        assert_eq!(f32::mean(&[f32::MAX; 4]), f32::MAX);
        assert_eq!(f32::mean(&[1.0, 2.0, 2.0, 2.0]), 1.75);
    }

    #[test]
    fn differences_wrap_and_keep_the_first_pixels() {
        let mut out = [0; 4];
        u8::write_differences(&[250, 5, 4, 4], 1, &mut out);
        assert_eq!(out, [250, 11, 255, 0]);
        let mut out = [0; 8];
        u16::write_differences(&[1, 0x0203, 2, 0x0202], 2, &mut out);
        assert_eq!(out, [1, 0, 3, 2, 1, 0, 0xff, 0xff]);
    }

    #[test]
    fn planes_hold_the_most_significant_bytes_first() {
        let mut out = [0; 8];
        f32::write_planes(&[f32::from_bits(0x0102_0304), f32::from_bits(0x0506_0708)], &mut out);
        assert_eq!(out, [1, 5, 2, 6, 3, 7, 4, 8]);
    }
}
