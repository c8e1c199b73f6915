//! How a file marks missing pixels: decided from what bands declare, never from pixels, so that every window of a parent
//! decides alike.

use super::sample::Sample;
use crate::raster::BandDescription;

/// How a file marks missing pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Missing<T> {
    /// Not at all: every pixel is valid.
    Never,
    /// By one value in all bands.
    Nodata(T),
    /// By a mask that all bands share.
    Mask,
}

impl<T: Sample> Missing<T> {
    /// Decides for bands, each with whether it may miss pixels.
    ///
    /// Floats: the first declared nodata value, else NaN where a band may miss pixels. Integers: the first declared value
    /// of a band that may miss pixels, else a mask; where none may, the value that all bands declare alike. A declared
    /// value that the type cannot hold marks nothing.
    pub(super) fn decide(bands: &[(BandDescription, bool)]) -> Self {
        let declared: Vec<Option<T>> =
            bands.iter().map(|(band, _)| band.nodata.as_deref().and_then(T::parse)).collect();
        if T::DEFAULT_NODATA.is_some() {
            return Self::of_floats(bands, &declared);
        }
        let mut masked = bands.iter().zip(&declared).filter(|((_, may_miss), _)| *may_miss).peekable();
        if masked.peek().is_none() {
            return Self::declared_by_all(&declared);
        }
        masked.find_map(|(_, nodata)| *nodata).map_or(Self::Mask, Self::Nodata)
    }

    fn of_floats(bands: &[(BandDescription, bool)], declared: &[Option<T>]) -> Self {
        let may_miss = bands.iter().any(|(_, may_miss)| *may_miss);
        let first = declared.iter().find_map(|nodata| *nodata);
        first.or(T::DEFAULT_NODATA.filter(|_| may_miss)).map_or(Self::Never, Self::Nodata)
    }

    fn declared_by_all(declared: &[Option<T>]) -> Self {
        match declared[0] {
            Some(nodata) if declared.iter().all(|other| *other == Some(nodata)) => Self::Nodata(nodata),
            _ => Self::Never,
        }
    }

    /// What is written where a pixel is missing.
    pub(super) fn fill(self) -> T {
        match self {
            Self::Nodata(value) => value,
            Self::Never | Self::Mask => T::default(),
        }
    }

    /// Whether the file has a mask.
    pub(super) fn has_mask(self) -> bool {
        matches!(self, Self::Mask)
    }

    /// Whether a value by itself says that its pixel is missing; NaN always does.
    #[inline]
    pub(super) fn marks(self, value: T) -> bool {
        match self {
            Self::Nodata(nodata) => value == nodata || value.is_nan(),
            Self::Never | Self::Mask => value.is_nan(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(nodata: Option<&str>, may_miss: bool) -> (BandDescription, bool) {
        (BandDescription { nodata: nodata.map(str::to_owned), ..BandDescription::named("b") }, may_miss)
    }

    #[test]
    fn integers_take_the_declared_value_or_a_mask() {
        assert_eq!(Missing::<u8>::decide(&[band(Some("7"), true)]), Missing::Nodata(7));
        assert_eq!(Missing::<u8>::decide(&[band(None, true)]), Missing::Mask);
        assert_eq!(Missing::<u8>::decide(&[band(Some("-9999"), true)]), Missing::Mask);
        assert_eq!(Missing::<u8>::decide(&[band(Some("-9999"), false)]), Missing::Never);
        assert_eq!(Missing::<u8>::decide(&[band(Some("7"), false)]), Missing::Nodata(7));
        assert_eq!(Missing::<u8>::decide(&[band(None, false)]), Missing::Never);
    }

    #[test]
    fn bands_that_differ_share_the_value_of_the_first_that_may_miss_pixels() {
        let bands = [band(Some("7"), false), band(Some("8"), true), band(Some("9"), true)];
        assert_eq!(Missing::<u8>::decide(&bands), Missing::Nodata(8));
        let none_missing = [band(Some("7"), false), band(Some("8"), false)];
        assert_eq!(Missing::<u8>::decide(&none_missing), Missing::Never);
    }

    #[test]
    fn floats_take_the_declared_value_or_nan() {
        assert_eq!(Missing::<f32>::decide(&[band(Some("-9999"), true)]), Missing::Nodata(-9999.0));
        assert!(
            matches!(Missing::<f32>::decide(&[band(None, true)]), Missing::Nodata(value) if value.is_nan())
        );
        assert_eq!(Missing::<f32>::decide(&[band(None, false)]), Missing::Never);
    }
}
