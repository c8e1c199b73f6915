//! One window of what a member holds.

use std::sync::Arc;

use ndarray::s;

use super::TiffError;
use super::form::with_sample;
use super::sample::Sample;
use crate::raster::{Band, BandPixels, Member, Validity, Window};

/// The part of a member that lies in `wanted`, a window of the whole grid. Pixels are shared, masks are copied.
///
/// # Errors
/// A window that reaches beyond what the member holds.
pub fn cut(member: &Member, wanted: Window) -> Result<Member, TiffError> {
    let held = member.window;
    let is_within = wanted.col >= held.col
        && wanted.row >= held.row
        && wanted.col + wanted.width <= held.col + held.width
        && wanted.row + wanted.height <= held.row + held.height;
    if !is_within {
        let reason = format!("the pixels at hand are {held}");
        return Err(TiffError::BadWindow { window: wanted.to_string(), reason });
    }
    let first = ((wanted.row - held.row) as usize, (wanted.col - held.col) as usize);
    let size = (wanted.height as usize, wanted.width as usize);
    let bands = member.bands.iter().map(|band| cut_band(band, first, size)).collect();
    Ok(Member {
        id: member.id.clone(),
        grid: member.grid.clone(),
        window: wanted,
        bands,
        tags: member.tags.clone(),
    })
}

fn cut_band(band: &Band, (top, left): (usize, usize), (height, width): (usize, usize)) -> Band {
    let part = s![top..top + height, left..left + width];
    let validity = match &band.validity {
        Validity::All => Validity::All,
        Validity::Mask(mask) => Validity::Mask(Arc::new(mask.slice(part).to_owned())),
    };
    let pixels = with_sample!(band.pixels.data_type(), T => cut_pixels::<T>(&band.pixels, part));
    Band { description: band.description.clone(), pixels, validity }
}

type Rectangle = ndarray::SliceInfo<[ndarray::SliceInfoElem; 2], ndarray::Ix2, ndarray::Ix2>;

fn cut_pixels<T: Sample>(pixels: &BandPixels, part: Rectangle) -> BandPixels {
    let array = T::array(pixels).expect("the type was asked of these pixels");
    T::wrap(array.clone().slice_move(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::tiff::tests::{band, masked, member};

    #[test]
    fn a_window_of_a_window_keeps_its_place_in_the_grid() {
        let all = member(vec![masked(
            band("b", 3, &[1u8, 2, 3, 4, 5, 6, 7, 8, 9]),
            &[1, 1, 1, 1, 0, 1, 1, 1, 1],
            None,
        )]);
        let lower = cut(&all, Window { col: 0, row: 1, width: 3, height: 2 }).unwrap();
        let corner = cut(&lower, Window { col: 1, row: 1, width: 2, height: 1 }).unwrap();
        assert_eq!(corner.bands[0].pixels, band("b", 2, &[5u8, 6]).pixels);
        assert!(!corner.bands[0].validity.is_valid(0, 0) && corner.bands[0].validity.is_valid(0, 1));
        assert!(cut(&corner, Window { col: 0, row: 1, width: 2, height: 1 }).is_err());
    }
}
