//! Pixel types as samples: exact sums of a chunk, and keys that sort as the values do.

use super::{ExactSum, Moments};
use crate::raster::Pixel;

/// Values of a chunk: short enough that the sums of 16-bit integers and the squares of 32-bit floats' mantissas cannot
/// overflow 64 bits.
pub const CHUNK: usize = 1 << 15;

/// A pixel type that statistics are made of.
pub trait Sample: Pixel {
    /// Bits of a key.
    const KEY_BITS: u32;

    /// Whether the value counts; NaN and infinities do not.
    fn is_counted(self) -> bool;

    /// Adds the sum of at most [`CHUNK`] values, and the sum of their squares.
    fn add_sums(values: &[Self], sum: &mut ExactSum, squares: &mut ExactSum);

    /// A number that sorts as the value does; both zeros have the same.
    fn key(self) -> u64;

    /// The value of a key.
    fn of_key(key: u64) -> Self;
}

/// Integers whose chunk sums fit 64 bits: of the values in `$sum`, of the squares in `$square`.
macro_rules! integers {
    ($($rust:ty, $bits:literal, $sign:expr, $sum:ty, $square:ty);* $(;)?) => {
        $(impl Sample for $rust {
            const KEY_BITS: u32 = $bits;

            fn is_counted(self) -> bool {
                true
            }

            fn add_sums(values: &[Self], sum: &mut ExactSum, squares: &mut ExactSum) {
                sum.add_integer(values.iter().map(|&value| value as $sum).sum::<$sum>() as i128);
                let square = |&value: &Self| (value.abs_diff(0) as $square).pow(2);
                squares.add_scaled(values.iter().map(square).sum::<$square>() as u128, 0, false);
            }

            fn key(self) -> u64 {
                (self as u64 ^ $sign) & (u64::MAX >> (64 - $bits))
            }

            fn of_key(key: u64) -> Self {
                (key ^ $sign) as Self
            }
        })*
    };
}

integers! {
    u8, 8, 0, u32, u32;
    i8, 8, 1 << 7, i32, u32;
    u16, 16, 0, u32, u64;
    i16, 16, 1 << 15, i32, u64;
    u32, 32, 0, u64, u128;
    i32, 32, 1 << 31, i64, u128;
}

/// Integers whose squares take all of 128 bits.
macro_rules! long_integers {
    ($($rust:ty, $sign:expr);*) => {
        $(impl Sample for $rust {
            const KEY_BITS: u32 = 64;

            fn is_counted(self) -> bool {
                true
            }

            fn add_sums(values: &[Self], sum: &mut ExactSum, squares: &mut ExactSum) {
                sum.add_integer(values.iter().map(|&value| value as i128).sum());
                for &value in values {
                    squares.add_scaled((value.abs_diff(0) as u128).pow(2), 0, false);
                }
            }

            fn key(self) -> u64 {
                self as u64 ^ $sign
            }

            fn of_key(key: u64) -> Self {
                (key ^ $sign) as Self
            }
        })*
    };
}

long_integers!(u64, 0; i64, 1 << 63);

impl Sample for f32 {
    const KEY_BITS: u32 = 32;

    fn is_counted(self) -> bool {
        self.is_finite()
    }

    /// Mantissas are summed as integers, apart for each exponent; that pays off for long lists.
    fn add_sums(values: &[Self], sum: &mut ExactSum, squares: &mut ExactSum) {
        if values.len() < 256 {
            return values.iter().map(|&value| f64::from(value)).for_each(|value| {
                sum.add(value);
                squares.add_square(value);
            });
        }
        let (mut sums, mut square_sums) = ([0_i64; 256], [0_u64; 256]);
        for &value in values {
            let bits = value.to_bits();
            let biased = (bits >> 23 & 0xff) as usize;
            let mantissa = i64::from(bits & 0x7f_ffff | u32::from(biased != 0) << 23);
            sums[biased] += if value.is_sign_negative() { -mantissa } else { mantissa };
            square_sums[biased] += (mantissa * mantissa) as u64;
        }
        for (biased, (&values, &of_squares)) in sums.iter().zip(&square_sums).enumerate() {
            // IEEE 754 binary32; subnormal numbers have the exponent of the smallest normal ones.
            let exponent = biased.max(1) as i32 - 150;
            sum.add_scaled(u128::from(values.unsigned_abs()), exponent, values < 0);
            squares.add_scaled(u128::from(of_squares), 2 * exponent, false);
        }
    }

    fn key(self) -> u64 {
        let bits = (self + 0.0).to_bits();
        u64::from(if bits >> 31 == 0 { bits | 1 << 31 } else { !bits })
    }

    fn of_key(key: u64) -> Self {
        let key = key as u32;
        f32::from_bits(if key >> 31 == 0 { !key } else { key & !(1 << 31) })
    }
}

impl Sample for f64 {
    const KEY_BITS: u32 = 64;

    fn is_counted(self) -> bool {
        self.is_finite()
    }

    fn add_sums(values: &[Self], sum: &mut ExactSum, squares: &mut ExactSum) {
        for &value in values {
            sum.add(value);
            squares.add_square(value);
        }
    }

    fn key(self) -> u64 {
        let bits = (self + 0.0).to_bits();
        if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
    }

    fn of_key(key: u64) -> Self {
        f64::from_bits(if key >> 63 == 0 { !key } else { key & !(1 << 63) })
    }
}

/// Appends the values of `pixels` that count: valid and finite. Without a mask all are valid.
pub fn keep_counted<T: Sample>(pixels: &[T], mask: Option<&[u8]>, kept: &mut Vec<T>) {
    match mask {
        None if !T::DATA_TYPE.is_float() => kept.extend_from_slice(pixels),
        None => kept.extend(pixels.iter().filter(|pixel| pixel.is_counted())),
        Some(mask) => {
            let counted = |&(&pixel, &valid): &(&T, &u8)| valid != 0 && pixel.is_counted();
            kept.extend(pixels.iter().zip(mask).filter(counted).map(|(&pixel, _)| pixel));
        }
    }
}

impl Moments {
    /// Adds values that count.
    pub fn add<T: Sample>(&mut self, values: &[T]) {
        for chunk in values.chunks(CHUNK) {
            let Some(&first) = chunk.first() else { continue };
            let low = chunk.iter().fold(first, |low, &value| if value < low { value } else { low });
            let high = chunk.iter().fold(first, |high, &value| if value > high { value } else { high });
            self.widen(low.to_f64(), high.to_f64());
            self.count_weight(chunk.len() as u64, chunk.len() as u64);
            let (sum, squares) = self.sums_mut();
            T::add_sums(chunk, sum, squares);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums<T: Sample>(values: &[T]) -> (f64, f64) {
        let (mut sum, mut squares) = (ExactSum::default(), ExactSum::default());
        T::add_sums(values, &mut sum, &mut squares);
        (sum.value(), squares.value())
    }

    #[test]
    fn chunk_sums_do_not_overflow() {
        let count = CHUNK as f64;
        assert_eq!(sums(&vec![255_u8; CHUNK]), (count * 255.0, count * 65025.0));
        assert_eq!(sums(&vec![-128_i8; CHUNK]), (count * -128.0, count * 16384.0));
        assert_eq!(sums(&vec![65535_u16; CHUNK]), (count * 65535.0, count * 4294836225.0));
        assert_eq!(sums(&vec![-32768_i16; CHUNK]), (count * -32768.0, count * 1073741824.0));
        assert_eq!(sums(&vec![i32::MIN; CHUNK]), (-f64::powi(2.0, 46), f64::powi(2.0, 77)));
        assert_eq!(sums(&[i64::MIN; 4]), (-f64::powi(2.0, 65), f64::powi(2.0, 128)));
        assert_eq!(sums(&[u64::MAX, 1]).0, f64::powi(2.0, 64));
        assert_eq!(sums(&vec![f32::from_bits(0x4b7f_ffff); CHUNK]).0, count * 16777215.0);
    }

    #[test]
    fn floats_are_summed_exactly_whatever_their_exponents() {
        let values = [1.0e30_f32, 0.1, -1.0e30, 1.0e-44, -2.5, 0.0, -0.0].repeat(50);
        let mut expected = (ExactSum::default(), ExactSum::default());
        for value in values.iter().copied().map(f64::from) {
            expected.0.add(value);
            expected.1.add_square(value);
        }
        assert_eq!(sums(&values), (expected.0.value(), expected.1.value()));
    }

    #[test]
    fn keys_sort_as_values_and_lead_back() {
        fn check<T: Sample + std::fmt::Debug>(ascending: &[T]) {
            assert!(ascending.windows(2).all(|pair| pair[0].key() < pair[1].key()), "{ascending:?}");
            assert!(ascending.iter().all(|&value| T::of_key(value.key()) == value), "{ascending:?}");
            assert!(
                ascending.iter().all(|&value| value.key().leading_zeros() >= 64 - T::KEY_BITS),
                "{ascending:?}"
            );
        }
        check(&[0_u8, 1, 255]);
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[i16::MIN, -1, 0, i16::MAX]);
        check(&[i32::MIN, -1, 0, i32::MAX]);
        check(&[i64::MIN, -1, 0, i64::MAX]);
        check(&[0, u64::MAX]);
        check(&[f32::MIN, -1.5, -1e-45, 0.0, 1e-45, 2.5, f32::MAX]);
        check(&[f64::MIN, -1.5, 0.0, 5e-324, f64::MAX]);
        assert_eq!((-0.0_f32).key(), 0.0_f32.key());
    }

    #[test]
    fn only_valid_and_finite_values_count() {
        let mut kept = Vec::new();
        keep_counted(&[1.0_f32, f32::NAN, 3.0, f32::INFINITY, 5.0], None, &mut kept);
        keep_counted(&[7.0, f32::NAN, 9.0], Some(&[1, 1, 0]), &mut kept);
        assert_eq!(kept, [1.0, 3.0, 5.0, 7.0]);
    }
}
