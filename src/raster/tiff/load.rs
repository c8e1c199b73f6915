//! Pixels of a raster's bands as a block: missing ones replaced by what marks them in the file, valid ones checked.

use std::borrow::Cow;
use std::sync::Arc;

use ndarray::ArrayView1;

use super::form::Form;
use super::missing::Missing;
use super::sample::Sample;
use super::{Block, Part, TiffError};
use crate::raster::{Band, Member, Validity};

/// Bands of one type that hold a part of an image.
pub(super) struct Source<T> {
    bands: Vec<Band>,
    missing: Missing<T>,
    /// Where the bands' first pixel lies in the image, for messages.
    origin: (u64, u64),
    masks_differ: bool,
}

impl<T: Sample> Source<T> {
    /// The bands of a member that the form writes; they share their pixels with it.
    pub(super) fn new(form: &Form, member: &Member, missing: Missing<T>) -> Self {
        let mut bands: Vec<Band> = form.chosen.iter().map(|at| member.bands[*at].clone()).collect();
        let_alpha_miss_what_others_miss(&mut bands);
        let masks_differ = missing.has_mask() && bands.iter().any(|band| !share_mask(&bands[0], band));
        Self { bands, missing, origin: (member.window.col, member.window.row), masks_differ }
    }

    /// A part of the pixels, in rows and columns of the arrays.
    pub(super) fn load(&self, part: Part) -> Result<Block<T>, TiffError> {
        let mut pixels = Vec::with_capacity(self.bands.len() * part.pixels());
        for band in &self.bands {
            self.load_band(band, part, &mut pixels)?;
        }
        let mask = if self.missing.has_mask() { Some(self.load_mask(part)?) } else { None };
        Ok(Block { width: part.width, height: part.height, bands: self.bands.len(), pixels, mask })
    }

    fn load_band(&self, band: &Band, part: Part, out: &mut Vec<T>) -> Result<(), TiffError> {
        let array = T::array(&band.pixels).expect("the form checked that all bands are of this type");
        for row in part.row..part.row + part.height {
            let start = out.len();
            extend(out, &array.row(row), part);
            let mask = mask_row(&band.validity, row, part);
            if let Some(col) = self.mark(&mut out[start..], mask.as_deref()) {
                return Err(self.refuse(band, part.col + col, row));
            }
        }
        Ok(())
    }

    /// Marks the missing pixels of a row, NaN among them; gives back the first pixel that cannot be written.
    fn mark(&self, row: &mut [T], mask: Option<&[u8]>) -> Option<usize> {
        match (self.missing, mask) {
            (Missing::Never | Missing::Mask, None) => None,
            (Missing::Never, Some(mask)) => {
                row.iter().zip(mask).position(|(value, mask)| *mask == 0 && !value.is_nan())
            }
            (Missing::Mask, Some(mask)) => {
                fill(row, mask, T::default());
                None
            }
            (Missing::Nodata(nodata), mask) => {
                let collision = collision(row, mask, nodata);
                if let Some(mask) = mask {
                    fill(row, mask, nodata);
                }
                row.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = nodata);
                collision
            }
        }
    }

    fn refuse(&self, band: &Band, col: usize, row: usize) -> TiffError {
        let (col, row) = (self.origin.0 + col as u64, self.origin.1 + row as u64);
        let name = band.description.name.clone();
        match self.missing {
            Missing::Nodata(nodata) => TiffError::Collision { band: name, value: nodata.text(), col, row },
            _ => TiffError::UnexpectedMissing { band: name, col, row },
        }
    }

    fn load_mask(&self, part: Part) -> Result<Vec<u8>, TiffError> {
        let mut out = Vec::with_capacity(part.pixels());
        for row in part.row..part.row + part.height {
            for col in part.col..part.col + part.width {
                let is_valid = self.bands[0].validity.is_valid(row, col);
                if self.masks_differ {
                    self.check_mask(row, col, is_valid)?;
                }
                out.push(if is_valid { 255 } else { 0 });
            }
        }
        Ok(out)
    }

    fn check_mask(&self, row: usize, col: usize, is_valid: bool) -> Result<(), TiffError> {
        match self.bands.iter().find(|band| band.validity.is_valid(row, col) != is_valid) {
            None => Ok(()),
            Some(other) => Err(TiffError::MasksDiffer {
                first: self.bands[0].description.name.clone(),
                other: other.description.name.clone(),
                col: self.origin.0 + col as u64,
                row: self.origin.1 + row as u64,
            }),
        }
    }
}

/// Where a pixel is transparent its other bands are missing, so one mask is right for all.
fn let_alpha_miss_what_others_miss(bands: &mut [Band]) {
    let Some(other) = bands.iter().find(|band| !band.description.is_alpha) else { return };
    let validity = other.validity.clone();
    for alpha in bands.iter_mut().filter(|band| band.description.is_alpha) {
        alpha.validity = validity.clone();
    }
}

/// Whether two bands certainly miss the same pixels, without looking.
fn share_mask(one: &Band, other: &Band) -> bool {
    match (&one.validity, &other.validity) {
        (Validity::All, Validity::All) => true,
        (Validity::Mask(one), Validity::Mask(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

/// The first valid pixel that equals the value that marks missing ones.
fn collision<T: Sample>(row: &[T], mask: Option<&[u8]>, nodata: T) -> Option<usize> {
    let is_valid = |col: usize| mask.is_none_or(|mask| mask[col] != 0);
    // Without an early end the compiler compares many pixels at once.
    let found = |found: usize, value: &T| found + usize::from(*value == nodata);
    let is_found = row.iter().fold(0, found) > 0;
    if is_found { (0..row.len()).find(|col| row[*col] == nodata && is_valid(*col)) } else { None }
}

fn fill<T: Sample>(row: &mut [T], mask: &[u8], missing: T) {
    for (value, mask) in row.iter_mut().zip(mask) {
        *value = if *mask == 0 { missing } else { *value };
    }
}

fn mask_row(validity: &Validity, row: usize, part: Part) -> Option<Cow<'_, [u8]>> {
    let Validity::Mask(mask) = validity else { return None };
    let columns = part.col..part.col + part.width;
    Some(match mask.as_slice() {
        Some(all) => Cow::Borrowed(&all[row * mask.ncols()..][columns]),
        None => Cow::Owned(columns.map(|col| mask[(row, col)]).collect()),
    })
}

fn extend<T: Sample>(out: &mut Vec<T>, row: &ArrayView1<'_, T>, part: Part) {
    match row.as_slice() {
        Some(row) => out.extend_from_slice(&row[part.col..part.col + part.width]),
        None => out.extend((part.col..part.col + part.width).map(|col| row[col])),
    }
}
