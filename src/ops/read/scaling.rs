//! Turns stored values into values of their unit.

use ndarray::{ArcArray2, Zip};
use serde_json::Value as Json;

use crate::contract::Properties;
use crate::raster::with_pixels;
use crate::raster::{Band, BandPixels, DataType, Pixel, Validity};

/// What a catalogue says of a band.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Catalogued {
    /// Scale and offset, where one of them is stated.
    pub(super) scaling: Option<(f64, f64)>,
    /// The nodata value.
    pub(super) nodata: Option<String>,
}

impl Catalogued {
    /// Reads what an asset's metadata says of a band, counted from 1: `raster:bands` of the raster extension 1, or
    /// `raster:scale` and `raster:offset` of version 2 in `bands` or for the whole asset
    /// (<https://github.com/stac-extensions/raster>).
    pub(super) fn of(metadata: &Properties, band: usize) -> Self {
        let nth = |list: &str| metadata.get(list)?.as_array()?.get(band - 1)?.as_object();
        let places = [nth("raster:bands"), nth("bands"), Some(metadata)];
        let find = |keys: [&str; 2]| {
            let stated =
                places.iter().flatten().find_map(|place| keys.iter().find_map(|key| place.get(*key)));
            stated.filter(|value| !value.is_null()).cloned()
        };
        let scale = find(["scale", "raster:scale"]).and_then(|value| value.as_f64());
        let offset = find(["offset", "raster:offset"]).and_then(|value| value.as_f64());
        let is_stated = scale.is_some() || offset.is_some();
        Self {
            scaling: is_stated.then(|| (scale.unwrap_or(1.0), offset.unwrap_or(0.0))),
            nodata: find(["nodata", "nodata"]).and_then(|value| text_of(&value)),
        }
    }
}

fn text_of(value: &Json) -> Option<String> {
    match value {
        Json::Number(number) => Some(number.to_string()),
        Json::String(text) => Some(text.to_lowercase()),
        _ => None,
    }
}

/// The type of scaled values: the smallest float that holds every stored value.
pub(super) fn scaled_type(stored: DataType) -> DataType {
    match stored {
        DataType::Uint8 | DataType::Int8 | DataType::Uint16 | DataType::Int16 | DataType::Float32 => {
            DataType::Float32
        }
        _ => DataType::Float64,
    }
}

/// Stored × scale + offset, computed in float64; invalid pixels become NaN. The band's own scale is 1 from then on.
pub(super) fn scaled(band: Band, (scale, offset): (f64, f64)) -> Band {
    let Band { mut description, pixels, validity } = band;
    let pixels = match scaled_type(pixels.data_type()) {
        DataType::Float32 => {
            with_pixels!(&pixels, array => typed::<_, f32>(array, &validity, (scale, offset)))
        }
        _ => with_pixels!(&pixels, array => typed::<_, f64>(array, &validity, (scale, offset))),
    };
    description.scale = 1.0;
    description.offset = 0.0;
    description.nodata = Some("nan".to_owned());
    Band { description, pixels, validity }
}

fn typed<S: Pixel, T: Pixel>(
    stored: &ArcArray2<S>,
    validity: &Validity,
    (scale, offset): (f64, f64),
) -> BandPixels {
    let value = |pixel: S| T::from_f64(pixel.to_f64() * scale + offset);
    let values = match validity {
        Validity::All => stored.map(|pixel| value(*pixel)),
        Validity::Mask(mask) => Zip::from(stored)
            .and(mask.as_ref())
            .map_collect(|pixel, valid| if *valid == 0 { T::from_f64(f64::NAN) } else { value(*pixel) }),
    };
    T::wrap(values.into_shared())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ndarray::arr2;
    use serde_json::json;

    use super::*;
    use crate::raster::BandDescription;

    fn properties(value: &Json) -> Properties {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn both_versions_of_the_raster_extension_are_understood() {
        let one = properties(&json!({ "raster:bands": [{ "scale": 0.5 }, { "offset": -3, "nodata": 0 }] }));
        assert_eq!(Catalogued::of(&one, 1).scaling, Some((0.5, 0.0)));
        assert_eq!(
            Catalogued::of(&one, 2),
            Catalogued { scaling: Some((1.0, -3.0)), nodata: Some("0".into()) }
        );
        let two = properties(&json!({ "raster:scale": 0.1, "bands": [{ "raster:offset": 2 }] }));
        assert_eq!(Catalogued::of(&two, 1).scaling, Some((0.1, 2.0)));
        assert_eq!(Catalogued::of(&properties(&json!({})), 1), Catalogued::default());
    }

    #[test]
    fn nodata_stays_nodata_and_the_scale_is_used_up() {
        let stored = Band {
            description: BandDescription { scale: 0.0001, offset: -0.1, ..BandDescription::named("red") },
            pixels: BandPixels::Uint16(arr2(&[[0, 1000, 11000]]).into_shared()),
            validity: Validity::Mask(Arc::new(arr2(&[[0, 1, 1]]))),
        };
        let band = scaled(stored, (0.0001, -0.1));
        let BandPixels::Float32(values) = &band.pixels else { panic!("float32") };
        assert!(values[(0, 0)].is_nan());
        assert_eq!((values[(0, 1)], values[(0, 2)]), (0.0, 1.0));
        assert_eq!((band.description.scale, band.description.offset), (1.0, 0.0));
    }

    #[test]
    fn types_beyond_the_precision_of_float32_become_float64() {
        assert_eq!(scaled_type(DataType::Int16), DataType::Float32);
        assert_eq!(scaled_type(DataType::Int32), DataType::Float64);
    }
}
