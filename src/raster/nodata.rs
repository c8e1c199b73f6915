//! Nodata values as text, and as values of a pixel type: exact, without a detour through `f64` for integers.

use super::{DataType, Pixel};

/// A pixel type whose values can be read from text.
pub(super) trait Parse: Pixel {
    /// The value that the text states, if this type has it.
    fn parse(text: &str) -> Option<Self>;
}

macro_rules! parse_integer {
    ($($type:ty),*) => {$(
        impl Parse for $type {
            fn parse(text: &str) -> Option<Self> {
                text.parse().ok().or_else(|| Self::try_from(whole_number(text)?).ok())
            }
        }
    )*};
}
parse_integer!(u8, i8, u16, i16, u32, i32, u64, i64);

/// An integer written as a float: `255.0`, `1e3`.
fn whole_number(text: &str) -> Option<i128> {
    let value: f64 = text.parse().ok()?;
    (value.fract() == 0.0 && value.abs() < 1e19).then_some(value as i128)
}

impl Parse for f64 {
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Parse for f32 {
    /// A text rounded to a little beyond the largest value means the largest value.
    fn parse(text: &str) -> Option<Self> {
        /// 3.403e38, what the largest value becomes when it is rounded to four digits.
        const ROUNDED_MAX: f64 = 3.403e38;
        let value: f64 = text.parse().ok()?;
        let near = value as f32;
        if value.is_infinite() || near.is_finite() || near.is_nan() {
            Some(near)
        } else if value.abs() <= ROUNDED_MAX {
            Some(f32::MAX.copysign(near))
        } else {
            None
        }
    }
}

/// Whether a pixel of the type can have the value that the text states.
pub fn is_representable(text: &str, data_type: DataType) -> bool {
    match data_type {
        DataType::Uint8 => u8::parse(text).is_some(),
        DataType::Int8 => i8::parse(text).is_some(),
        DataType::Uint16 => u16::parse(text).is_some(),
        DataType::Int16 => i16::parse(text).is_some(),
        DataType::Uint32 => u32::parse(text).is_some(),
        DataType::Int32 => i32::parse(text).is_some(),
        DataType::Uint64 => u64::parse(text).is_some(),
        DataType::Int64 => i64::parse(text).is_some(),
        DataType::Float32 => f32::parse(text).is_some(),
        DataType::Float64 => f64::parse(text).is_some(),
    }
}

/// The shortest text that reads back as the value: `nan`, `-9999`, `0.5`, `-3.4028235e38`.
pub(super) fn text_of(value: f64, data_type: DataType) -> String {
    let single = value as f32;
    let is_single = data_type == DataType::Float32 && single.is_finite();
    let is_plain = value.abs() < 1e16 && (value == 0.0 || value.abs() >= 1e-5);
    match (value.is_nan(), is_single, is_plain) {
        (true, ..) => "nan".to_owned(),
        (_, true, true) => single.to_string(),
        (_, true, false) => format!("{single:e}"),
        (_, false, true) => value.to_string(),
        (_, false, false) => format!("{value:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_beyond_the_precision_of_floats() {
        assert_eq!(u64::parse("18446744073709551615"), Some(u64::MAX));
        assert_eq!(i64::parse("9007199254740993"), Some(9_007_199_254_740_993));
        assert_eq!(u8::parse("255.0"), Some(255));
    }

    #[test]
    fn what_the_type_cannot_hold_is_no_value() {
        for (text, data_type) in [
            ("-9999", DataType::Uint8),
            ("256", DataType::Uint8),
            ("0.5", DataType::Int16),
            ("nan", DataType::Uint16),
            ("1e39", DataType::Float32),
        ] {
            assert!(!is_representable(text, data_type), "{text}");
        }
        for (text, data_type) in [
            ("-128", DataType::Int8),
            ("255", DataType::Uint8),
            ("nan", DataType::Float32),
            ("-inf", DataType::Float64),
            ("1e39", DataType::Float64),
        ] {
            assert!(is_representable(text, data_type), "{text}");
        }
    }

    #[test]
    fn text_rounded_past_the_largest_float_means_the_largest() {
        assert_eq!(f32::parse("-3.40282346638529e38"), Some(f32::MIN));
        assert_eq!(f32::parse("3.403e+38"), Some(f32::MAX));
        assert_eq!(f32::parse("-3.4e+38"), Some(-3.4e38));
    }

    #[test]
    fn writes_what_reads_back() {
        assert_eq!(text_of(-9999.0, DataType::Int16), "-9999");
        assert_eq!(text_of(f64::from(f32::MIN), DataType::Float32), "-3.4028235e38");
        assert_eq!(text_of(f64::from(0.1_f32), DataType::Float32), "0.1");
        assert_eq!(text_of(f64::NAN, DataType::Float64), "nan");
    }
}
