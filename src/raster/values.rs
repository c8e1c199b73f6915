//! Pixels as numbers and numbers as pixels: `f64` with NaN for "no value" on one side, typed pixels with validity on
//! the other.

use std::ops::Range;

use ndarray::s;

use super::{Band, BandPixels, DataType, Pixel, Validity};
use crate::raster::with_pixels;

/// Runs the same code with the Rust type of a [`DataType`]: `with_pixel_type!(data_type, T => …)`.
macro_rules! with_pixel_type {
    ($data_type:expr, $rust:ident => $body:expr) => {
        $crate::raster::with_pixel_type!(@arms $data_type, $rust => $body;
            Uint8 u8, Int8 i8, Uint16 u16, Int16 i16, Uint32 u32, Int32 i32, Uint64 u64, Int64 i64,
            Float32 f32, Float64 f64)
    };
    (@arms $data_type:expr, $rust:ident => $body:expr; $($variant:ident $type:ty),*) => {
        match $data_type {
            $($crate::raster::DataType::$variant => {
                type $rust = $type;
                $body
            })*
        }
    };
}

pub(crate) use with_pixel_type;

/// The values next to a value of a pixel type.
pub trait Neighbour: Pixel {
    /// The next larger value; the largest stays.
    #[must_use]
    fn next_larger(self) -> Self;

    /// The next smaller value; the smallest stays.
    #[must_use]
    fn next_smaller(self) -> Self;
}

macro_rules! neighbours {
    ($($integer:ty),*; $($float:ty),*) => {
        $(impl Neighbour for $integer {
            fn next_larger(self) -> Self {
                self.saturating_add(1)
            }

            fn next_smaller(self) -> Self {
                self.saturating_sub(1)
            }
        })*
        $(impl Neighbour for $float {
            fn next_larger(self) -> Self {
                self.next_up().min(<$float>::MAX)
            }

            fn next_smaller(self) -> Self {
                self.next_down().max(<$float>::MIN)
            }
        })*
    };
}

neighbours!(u8, i8, u16, i16, u32, i32, u64, i64; f32, f64);

impl Band {
    /// The same band with its pixels and mask in row-major order, so that [`Band::load`] can read it; copies only
    /// what is not.
    #[must_use]
    pub fn in_row_order(mut self) -> Band {
        self.pixels = with_pixels!(self.pixels, array => Pixel::wrap(if array.is_standard_layout() {
            array
        } else {
            array.as_standard_layout().into_owned().into_shared()
        }));
        if let Validity::Mask(mask) = &self.validity
            && !mask.is_standard_layout()
        {
            self.validity = Validity::Mask(mask.as_standard_layout().into_owned().into());
        }
        self
    }

    /// The band of a rectangle of its pixels, which are shared; its mask is copied.
    ///
    /// # Panics
    /// When the rectangle reaches beyond the band.
    #[must_use]
    pub fn cut(self, rows: Range<usize>, columns: Range<usize>) -> Band {
        if (0..self.pixels.dim().0, 0..self.pixels.dim().1) == (rows.clone(), columns.clone()) {
            return self;
        }
        let part = s![rows, columns];
        let pixels = with_pixels!(self.pixels, array => Pixel::wrap(array.slice_move(part)));
        let validity = match &self.validity {
            Validity::All => Validity::All,
            Validity::Mask(mask) => Validity::Mask(mask.slice(part).to_owned().into()),
        };
        Band { pixels, validity, ..self }
    }

    /// Fills `out` with the values from pixel `start` on (counted row by row), NaN where a pixel is not valid or not
    /// finite. 64-bit integers beyond 2^53 are rounded. The band has to be in row order.
    pub fn load(&self, start: usize, out: &mut [f64]) {
        let range = start..start + out.len();
        let mask = self.mask(range.clone());
        with_pixels!(&self.pixels, array => convert(&row_order(array.as_slice())[range], mask, out));
    }

    /// The validity of a range of pixels, counted row by row; `None` where all are valid.
    pub fn mask(&self, range: Range<usize>) -> Option<&[u8]> {
        match &self.validity {
            Validity::All => None,
            Validity::Mask(mask) => Some(&row_order(mask.as_slice())[range]),
        }
    }
}

/// The pixels of an array that [`Band::in_row_order`] has seen.
///
/// # Panics
/// When it has not.
pub fn row_order<T>(slice: Option<&[T]>) -> &[T] {
    slice.expect("`in_row_order` was called before")
}

fn convert<T: Pixel>(pixels: &[T], mask: Option<&[u8]>, out: &mut [f64]) {
    let value = |pixel: T| {
        let value = pixel.to_f64();
        if T::DATA_TYPE.is_float() && value.is_infinite() { f64::NAN } else { value }
    };
    match mask {
        None => out.iter_mut().zip(pixels).for_each(|(out, &pixel)| *out = value(pixel)),
        Some(mask) => out.iter_mut().zip(pixels.iter().zip(mask)).for_each(|(out, (&pixel, &valid))| {
            *out = if valid == 0 { f64::NAN } else { value(pixel) };
        }),
    }
}

/// How computed values become pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoding {
    /// The type of a pixel.
    pub data_type: DataType,
    /// The pixel value that stands for "no value", representable in the type.
    pub nodata: Option<f64>,
    /// A value is divided by it before it is rounded.
    pub scale: f64,
    /// Subtracted before the division.
    pub offset: f64,
}

impl Encoding {
    /// Pixels that are the values themselves.
    pub fn plain(data_type: DataType, nodata: Option<f64>) -> Self {
        Self { data_type, nodata, scale: 1.0, offset: 0.0 }
    }

    /// Turns values into pixels of the type `T`, which has to be that of the encoding, and fills `valid`.
    ///
    /// A pixel is `(value - offset) / scale`, rounded half away from zero in integer types and clamped to the finite
    /// range of the type, never wrapped. NaN becomes nodata. A value that would become nodata is moved to the
    /// neighbour of nodata on the value's own side (upwards where it is nodata exactly, inwards at the ends of the
    /// range), so that a valid pixel stays valid.
    pub fn store<T: Neighbour>(&self, values: &[f64], pixels: &mut [T], valid: &mut [u8]) {
        debug_assert_eq!(T::DATA_TYPE, self.data_type);
        let nodata = self.nodata.map(T::from_f64);
        let fill = nodata.unwrap_or_default();
        let (low, high) = self.data_type.range();
        let is_plain = self.scale == 1.0 && self.offset == 0.0;
        for ((&value, pixel), valid) in values.iter().zip(pixels).zip(valid) {
            let stored = if is_plain { value } else { (value - self.offset) / self.scale };
            let is_valid = !stored.is_nan();
            let rounded = T::from_f64(stored.clamp(low, high));
            *pixel = if is_valid { rounded } else { fill };
            *valid = u8::from(is_valid);
            if is_valid && nodata == Some(rounded) {
                *pixel = beside(rounded, stored);
            }
        }
    }
}

/// The neighbour of `nodata` for a value that was rounded to it.
fn beside<T: Neighbour>(nodata: T, exact: f64) -> T {
    let is_below = exact < nodata.to_f64();
    let (smaller, larger) = (nodata.next_smaller(), nodata.next_larger());
    let (near, far) = if is_below { (smaller, larger) } else { (larger, smaller) };
    if near == nodata { far } else { near }
}

/// A nodata value for pixels of a type: the value, and the text by which bands carry it.
///
/// # Errors
/// In words, why the text is no value of the type.
pub fn nodata_of_type(text: &str, data_type: DataType) -> Result<(f64, String), String> {
    if data_type.is_float() {
        return float_nodata(text, data_type);
    }
    let value = integer(text)
        .ok_or_else(|| format!("`{text}` is no whole number, and `{data_type}` holds no other"))?;
    let misfit = || format!("`{text}` does not fit into `{data_type}`");
    let (kept, kept_text) = with_pixel_type!(data_type, T => nodata_pixel::<T>(value as f64));
    if kept_text.parse() == Ok(value) { Ok((kept, kept_text)) } else { Err(misfit()) }
}

/// A whole number, also written as `255.0` or `1e3`.
fn integer(text: &str) -> Option<i128> {
    let float = || text.parse::<f64>().ok().filter(|value| value.fract() == 0.0 && value.abs() < 1e18);
    text.parse().ok().or_else(|| float().map(|value| value as i128))
}

/// The value as the type keeps it, with its text.
fn nodata_pixel<T: Pixel + std::fmt::Display>(value: f64) -> (f64, String) {
    let pixel = T::from_f64(value);
    (pixel.to_f64(), pixel.to_string())
}

fn float_nodata(text: &str, data_type: DataType) -> Result<(f64, String), String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if value.is_nan() {
        return Ok((f64::NAN, "nan".into()));
    }
    let kept = with_pixel_type!(data_type, T => T::from_f64(value).to_f64());
    if kept.is_finite() {
        Ok((kept, kept.to_string()))
    } else {
        Err(format!("`{text}` does not fit into `{data_type}`"))
    }
}

impl BandPixels {
    /// Pixels of a type from a row-major list.
    ///
    /// # Panics
    /// When the list has another length than rows × columns.
    pub fn from_rows<T: Pixel>(pixels: Vec<T>, (rows, columns): (usize, usize)) -> BandPixels {
        let array = ndarray::Array2::from_shape_vec((rows, columns), pixels);
        T::wrap(array.expect("the caller counted rows × columns pixels").into_shared())
    }
}

impl Validity {
    /// A mask from a row-major list; [`Validity::All`] where every pixel is valid.
    ///
    /// # Panics
    /// When the list has another length than rows × columns.
    pub fn from_rows(valid: Vec<u8>, (rows, columns): (usize, usize)) -> Validity {
        if valid.iter().all(|&valid| valid != 0) {
            return Validity::All;
        }
        let mask = ndarray::Array2::from_shape_vec((rows, columns), valid);
        Validity::Mask(mask.expect("the caller counted rows × columns pixels").into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::BandDescription;
    use super::*;

    fn stored<T: Neighbour>(encoding: &Encoding, values: &[f64]) -> (Vec<T>, Vec<u8>) {
        let (mut pixels, mut valid) = (vec![T::default(); values.len()], vec![0; values.len()]);
        encoding.store(values, &mut pixels, &mut valid);
        (pixels, valid)
    }

    #[test]
    fn values_are_rounded_and_clamped_and_kept_apart_from_nodata() {
        let bytes = Encoding::plain(DataType::Uint8, Some(255.0));
        let values = [-5.0, 300.0, 1.5, 2.5, f64::NAN, 254.4, 0.49999999999999994];
        assert_eq!(
            stored::<u8>(&bytes, &values),
            (vec![0, 254, 2, 3, 255, 254, 0], vec![1, 1, 1, 1, 0, 1, 1])
        );
    }

    #[test]
    fn a_value_that_would_be_nodata_moves_to_its_own_side() {
        let shorts = Encoding::plain(DataType::Int16, Some(0.0));
        assert_eq!(stored::<i16>(&shorts, &[-0.4, 0.0, 0.4, 1.0]).0, [-1, 1, 1, 1]);
        let lowest = Encoding::plain(DataType::Int16, Some(-32768.0));
        assert_eq!(stored::<i16>(&lowest, &[-1e9]).0, [-32767]);
        let floats = Encoding::plain(DataType::Float32, Some(-9999.0));
        assert_eq!(stored::<f32>(&floats, &[-9999.0, f64::NAN]), (vec![-9998.999, -9999.0], vec![1, 0]));
        let largest = Encoding::plain(DataType::Uint64, Some(u64::MAX as f64));
        assert_eq!(stored::<u64>(&largest, &[1e30]).0, [u64::MAX - 1]);
    }

    #[test]
    fn scale_and_offset_are_taken_out_before_rounding() {
        let encoding =
            Encoding { scale: 0.0001, offset: -0.1, ..Encoding::plain(DataType::Int16, Some(-32768.0)) };
        // (0.12344 + 0.1) / 0.0001 = 2234.4
        assert_eq!(stored::<i16>(&encoding, &[0.12344, 1e6, -1e6]).0, [2234, 32767, -32767]);
    }

    #[test]
    fn floats_stay_finite() {
        let encoding = Encoding::plain(DataType::Float32, Some(f64::NAN));
        assert_eq!(stored::<f32>(&encoding, &[1e300, -1e300]), (vec![f32::MAX, f32::MIN], vec![1, 1]));
    }

    #[test]
    fn invalid_and_infinite_pixels_are_loaded_as_nan() {
        let band = Band {
            description: BandDescription::named("a"),
            pixels: BandPixels::from_rows(vec![1.0_f32, f32::INFINITY, f32::NAN, 4.0, 5.0, 6.0], (2, 3)),
            validity: Validity::from_rows(vec![1, 1, 1, 0, 1, 1], (2, 3)),
        };
        let mut out = [0.0; 5];
        band.load(0, &mut out);
        assert_eq!((out[0], out[4]), (1.0, 5.0));
        assert!(out[1..4].iter().all(|value| value.is_nan()));
    }

    #[test]
    fn bands_are_brought_into_row_order() {
        let array = ndarray::arr2(&[[1_u8, 2], [3, 4]]).reversed_axes().into_shared();
        let band = Band {
            description: BandDescription::named("a"),
            pixels: BandPixels::Uint8(array),
            validity: Validity::All,
        };
        let mut out = [0.0; 4];
        band.in_row_order().load(0, &mut out);
        assert_eq!(out, [1.0, 3.0, 2.0, 4.0]);
    }

    #[test]
    fn nodata_has_to_fit_the_type() {
        use DataType::{Float32, Float64, Int16, Uint8, Uint64};
        let kept = |text, data_type| nodata_of_type(text, data_type).map(|(_, text)| text).ok();
        assert_eq!(kept("255", Uint8).as_deref(), Some("255"));
        assert_eq!(kept("255.0", Uint8).as_deref(), Some("255"));
        assert_eq!(kept("18446744073709551615", Uint64).as_deref(), Some("18446744073709551615"));
        assert_eq!(kept("-9999", Float32).as_deref(), Some("-9999"));
        assert_eq!(kept("NaN", Float64).as_deref(), Some("nan"));
        for (text, data_type) in
            [("-1", Uint8), ("256", Uint8), ("1.5", Int16), ("nan", Int16), ("1e39", Float32)]
        {
            assert_eq!(kept(text, data_type), None, "{text} in {data_type}");
        }
        // 2^53 + 1 is what no computed value can be compared with.
        assert_eq!(kept("9007199254740993", Uint64), None);
    }
}
