//! Which pixels hold data: one representation for nodata, NaN, masks and alpha.

use std::sync::Arc;

use ndarray::{ArcArray2, Array2};

use super::nodata::Parse;
use super::{BandPixels, Validity};
use crate::raster::with_pixels;

/// A mask of the pixels that are not zero; `None` when none is zero.
pub(super) fn of_nonzero(pixels: &BandPixels) -> Option<Array2<u8>> {
    fn typed<T: Parse>(pixels: &ArcArray2<T>) -> Option<Array2<u8>> {
        mask_where(pixels, |pixel| pixel != T::default())
    }
    with_pixels!(pixels, array => typed(array))
}

/// What two masks both let through.
pub(super) fn both(one: Option<Array2<u8>>, other: Option<Array2<u8>>) -> Option<Array2<u8>> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            one.zip_mut_with(&other, |one, other| *one &= other);
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

/// The validity of a band: its nodata value and NaN, and what holds for the whole file.
///
/// Bands that miss no more than the file's mask share it.
pub(super) fn of_band(
    pixels: &BandPixels,
    nodata: Option<&str>,
    shared: Option<&Arc<Array2<u8>>>,
) -> Validity {
    let own = with_pixels!(pixels, array => of_values(array, nodata));
    match (own, shared) {
        (None, None) => Validity::All,
        (None, Some(shared)) => Validity::Mask(Arc::clone(shared)),
        (Some(own), None) => Validity::Mask(Arc::new(own)),
        (Some(mut own), Some(shared)) => {
            own.zip_mut_with(shared, |own, shared| *own &= shared);
            if own == **shared { Validity::Mask(Arc::clone(shared)) } else { Validity::Mask(Arc::new(own)) }
        }
    }
}

/// A mask of the values that are neither nodata nor NaN; `None` when all are.
fn of_values<T: Parse>(pixels: &ArcArray2<T>, nodata: Option<&str>) -> Option<Array2<u8>> {
    // NaN alone differs from itself; it never equals a nodata value either.
    let is_number = |pixel: T| pixel.partial_cmp(&pixel).is_some();
    match nodata.and_then(T::parse) {
        Some(nodata) => mask_where(pixels, |pixel| pixel != nodata && is_number(pixel)),
        None if T::DATA_TYPE.is_float() => mask_where(pixels, is_number),
        None => None,
    }
}

/// 1 where the condition holds and 0 elsewhere; `None`, without a buffer, when it holds everywhere.
fn mask_where<T: Copy>(pixels: &ArcArray2<T>, holds: impl Fn(T) -> bool) -> Option<Array2<u8>> {
    if pixels.iter().all(|pixel| holds(*pixel)) {
        return None;
    }
    Some(pixels.map(|pixel| u8::from(holds(*pixel))))
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;

    fn mask_of(validity: &Validity) -> Array2<u8> {
        match validity {
            Validity::All => panic!("some pixel is invalid"),
            Validity::Mask(mask) => mask.as_ref().clone(),
        }
    }

    #[test]
    fn nan_is_invalid_whatever_the_nodata_value_is() {
        let pixels = BandPixels::Float32(arr2(&[[1.0, f32::NAN, -9999.0]]).into_shared());
        assert_eq!(mask_of(&of_band(&pixels, Some("-9999"), None)), arr2(&[[1, 0, 0]]));
        assert_eq!(mask_of(&of_band(&pixels, Some("nan"), None)), arr2(&[[1, 0, 1]]));
        assert_eq!(mask_of(&of_band(&pixels, None, None)), arr2(&[[1, 0, 1]]));
    }

    #[test]
    fn a_nodata_value_that_the_type_cannot_have_masks_nothing() {
        let pixels = BandPixels::Uint8(arr2(&[[0, 241, 255]]).into_shared());
        assert_eq!(of_band(&pixels, Some("-9999"), None), Validity::All);
        assert_eq!(mask_of(&of_band(&pixels, Some("241"), None)), arr2(&[[1, 0, 1]]));
    }

    #[test]
    fn neighbours_beyond_the_precision_of_floats_are_told_apart() {
        let pixels = BandPixels::Uint64(arr2(&[[u64::MAX, u64::MAX - 1]]).into_shared());
        assert_eq!(mask_of(&of_band(&pixels, Some("18446744073709551615"), None)), arr2(&[[0, 1]]));
    }

    #[test]
    fn bands_without_holes_of_their_own_share_the_mask_of_the_file() {
        let shared = Arc::new(arr2(&[[1, 0]]));
        let pixels = BandPixels::Int16(arr2(&[[5, 0]]).into_shared());
        let Validity::Mask(mask) = of_band(&pixels, Some("0"), Some(&shared)) else { panic!("a mask") };
        assert!(Arc::ptr_eq(&mask, &shared));
    }
}
