//! A test of single pixels by their value or their bits.

use serde::Serialize;

use super::{BandPixels, Pixel};

/// What a pixel has to be to be selected.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BandTest {
    /// One of these numbers, in decimal text; those that the band's type cannot hold are never met.
    Values(Vec<String>),
    /// Has any of the bits of this mask.
    AnyBit(u64),
    /// The bits from `start` on, as many as `mask` has, are one of these numbers.
    Field {
        /// The lowest bit.
        start: u32,
        /// As many ones as the field has bits.
        mask: u64,
        /// The numbers.
        values: Vec<u64>,
    },
}

/// An integer type as bits; negative numbers in two's complement.
trait Bits: Pixel + std::str::FromStr {
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($integer:ty),*) => {
        $(impl Bits for $integer {
            fn bits(self) -> u64 {
                self as u64
            }
        })*
    };
}

bits!(u8, i8, u16, i16, u32, i32, u64, i64);

impl BandTest {
    /// Whether it can only be made on integer types.
    pub fn needs_bits(&self) -> bool {
        !matches!(self, BandTest::Values(_))
    }

    /// Tests the pixels from `start` on, counted row by row, into `out`: 1 where the test holds, else 0. The pixels have to
    /// be in row order. In floating-point types only `Values` can hold.
    pub fn run(&self, pixels: &BandPixels, start: usize, out: &mut [u8]) {
        match pixels {
            BandPixels::Uint8(array) => self.run_bits(row_order(array.as_slice(), start), out),
            BandPixels::Int8(array) => self.run_bits(row_order(array.as_slice(), start), out),
            BandPixels::Uint16(array) => self.run_bits(row_order(array.as_slice(), start), out),
            BandPixels::Int16(array) => self.run_bits(row_order(array.as_slice(), start), out),
            BandPixels::Uint32(array) => self.run_bits(row_order(array.as_slice(), start), out),
            BandPixels::Int32(array) => self.run_bits(row_order(array.as_slice(), start), out),
            BandPixels::Uint64(array) => self.run_bits(row_order(array.as_slice(), start), out),
            BandPixels::Int64(array) => self.run_bits(row_order(array.as_slice(), start), out),
            BandPixels::Float32(array) => self.run_float(row_order(array.as_slice(), start), out),
            BandPixels::Float64(array) => self.run_float(row_order(array.as_slice(), start), out),
        }
    }

    /// Whether it holds for a number in decimal text.
    pub fn holds_for(&self, text: &str) -> bool {
        match (self, text.parse::<i128>()) {
            (BandTest::Values(values), _) => {
                let number = text.parse::<f64>();
                values.iter().any(|value| value == text || number.is_ok() && value.parse::<f64>() == number)
            }
            (_, Ok(number)) => self.holds_for_bits(number as u64),
            (_, Err(_)) => false,
        }
    }

    fn holds_for_bits(&self, bits: u64) -> bool {
        match self {
            BandTest::Values(_) => false,
            BandTest::AnyBit(mask) => bits & mask != 0,
            BandTest::Field { start, mask, values } => values.contains(&(bits >> start & mask)),
        }
    }

    fn run_bits<T: Bits>(&self, pixels: &[T], out: &mut [u8]) {
        match self {
            BandTest::Values(values) => {
                let values: Vec<T> = values.iter().filter_map(|value| whole(value)?.parse().ok()).collect();
                test(pixels, out, |pixel| values.contains(&pixel));
            }
            BandTest::AnyBit(mask) => test(pixels, out, |pixel| pixel.bits() & mask != 0),
            BandTest::Field { start, mask, values } => {
                test(pixels, out, |pixel| values.contains(&(pixel.bits() >> start & mask)));
            }
        }
    }

    fn run_float<T: Pixel>(&self, pixels: &[T], out: &mut [u8]) {
        let BandTest::Values(values) = self else { return out.fill(0) };
        let values: Vec<T> = values.iter().filter_map(|value| value.parse().ok()).map(T::from_f64).collect();
        test(pixels, out, |pixel| values.contains(&pixel));
    }
}

/// The digits of a whole number that may be written `3.0`; `None` for other numbers.
fn whole(text: &str) -> Option<&str> {
    let (digits, fraction) = text.split_once('.').unwrap_or((text, ""));
    fraction.chars().all(|c| c == '0').then_some(digits)
}

/// The pixels from `start` on.
fn row_order<T>(slice: Option<&[T]>, start: usize) -> &[T] {
    &slice.expect("`in_row_order` was called before")[start..]
}

fn test<T: Copy>(pixels: &[T], out: &mut [u8], holds: impl Fn(T) -> bool) {
    out.iter_mut().zip(pixels).for_each(|(out, &pixel)| *out = u8::from(holds(pixel)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tested<T: Pixel>(test: &BandTest, pixels: &[T]) -> Vec<u8> {
        let mut out = vec![7; pixels.len()];
        test.run(&BandPixels::from_rows(pixels.to_vec(), (1, pixels.len())), 0, &mut out);
        out
    }

    fn values(texts: &[&str]) -> BandTest {
        BandTest::Values(texts.iter().map(|&text| text.into()).collect())
    }

    #[test]
    fn values_are_compared_in_the_type_of_the_band() {
        // 259 is 3 in eight bits, and 2^53 + 1 is 2^53 as a double.
        assert_eq!(tested(&values(&["259", "-1", "4.0"]), &[3_u8, 255, 4]), [0, 0, 1]);
        assert_eq!(
            tested(&values(&["9007199254740993"]), &[9_007_199_254_740_992_u64, 9_007_199_254_740_993]),
            [0, 1]
        );
        assert_eq!(tested(&values(&["0.1", "-3"]), &[0.1_f32, 3.0, -3.0, f32::NAN]), [1, 0, 1, 0]);
        assert_eq!(tested(&values(&["1.5"]), &[1_i16, 2]), [0, 0]);
    }

    #[test]
    fn bits_are_those_of_the_twos_complement() {
        assert_eq!(tested(&BandTest::AnyBit(0b1010), &[0b0010_u16, 0b0101, 0b1000]), [1, 0, 1]);
        assert_eq!(tested(&BandTest::AnyBit(1 << 15), &[-1_i16, 1]), [1, 0]);
        let confidence = BandTest::Field { start: 8, mask: 0b11, values: vec![2, 3] };
        assert_eq!(tested(&confidence, &[0x0100_u16, 0x0200, 0x0300, 0x0400]), [0, 1, 1, 0]);
        assert!(!tested(&confidence, &[768.0_f32]).contains(&1));
    }

    #[test]
    fn texts_of_nodata_values_are_tested_alike() {
        assert!(values(&["0"]).holds_for("0.0"));
        assert!(!values(&["0"]).holds_for("nan"));
        assert!(BandTest::AnyBit(1).holds_for("1"));
        assert!(!BandTest::AnyBit(1).holds_for("nan"));
    }
}
