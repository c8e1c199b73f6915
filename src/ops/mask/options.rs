//! The options of `mask`, and how they are checked.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Mask, Selector};
use crate::config::{Fault, Spanned, Value, codes, from_value};
use crate::contract::{Environment, Op};
use crate::ops::codes::CONFLICT;
use crate::ops::number::Number;
use crate::ops::polygons::PolygonFile;
use crate::raster::BandTest;
use crate::raster::polygons::Coverage;

/// The largest `grow`: beyond it a window would be mostly margin.
const LARGEST_GROW: u64 = 1024;

/// Makes pixels nodata in all bands: those that `drop` selects, or those that `keep` does not. Exactly one of the two.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::ops) struct MaskOptions {
    /// The pixels that become nodata.
    drop: Option<Spanned<MaskRule>>,
    /// The pixels that stay; all others become nodata.
    keep: Option<Spanned<MaskRule>>,
}

/// Which pixels: by a `band` and its `values`, a `band` and `any-bit`, a `band`, a `field` of its bits and the `values` of
/// that field, or by `polygons`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::ops) struct MaskRule {
    /// The band that says which. A pixel without data in it is dropped; it counts as selected where the band's nodata value
    /// is selected.
    band: Option<Spanned<String>>,
    /// The values of the band, or of the field of bits, that select a pixel.
    values: Option<Spanned<Vec<Spanned<Number>>>>,
    /// Selects pixels with any of these bits set; bit 0 is the lowest. The band has an integer type.
    any_bit: Option<Spanned<Vec<Spanned<u32>>>>,
    /// The first bit and the number of bits of a field, whose value is compared with `values`. The band has an integer type.
    field: Option<Spanned<[u32; 2]>>,
    /// A GeoPackage, GeoJSON, Shapefile or FlatGeobuf file with one layer of polygons, relative to the pipeline. Selects the
    /// pixels whose centre lies in one of them. Corners are brought to the raster's CRS, sides stay straight.
    polygons: Option<Spanned<PathBuf>>,
    /// Whether polygons select every pixel that they touch. Default false.
    all_touched: Option<Spanned<bool>>,
    /// Grows the selection by this many pixels, as a disc: to all pixels whose centre is no further from the centre of a
    /// selected one. 0 to 1024, default 0.
    grow: Option<Spanned<u64>>,
}

/// Checks the options and compiles the op.
pub(super) fn compile(value: &Value, environment: &Environment) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: MaskOptions = from_value(value)?;
    let (keeps, rule) = match (options.drop, options.keep) {
        (Some(rule), None) => (false, rule),
        (None, Some(rule)) => (true, rule),
        (Some(_), Some(keep)) => {
            let fault = Fault::error(CONFLICT, keep.span, "`drop` and `keep` exclude each other");
            return Err(vec![fault.help("use two `mask` stages")]);
        }
        (None, None) => {
            let fault = Fault::error(codes::MISSING_KEY, value.span.clone(), "expected `drop` or `keep`");
            return Err(vec![fault.help("write `drop = { band = \"scl\", values = [3, 8, 9] }`")]);
        }
    };
    match (selector(&rule, environment), grow(&rule)) {
        (Ok(selector), Ok(grow)) => Ok(Arc::new(Mask { keeps, selector, grow })),
        (selector, grow) => Err([selector.err(), grow.err()].into_iter().flatten().flatten().collect()),
    }
}

fn selector(rule: &Spanned<MaskRule>, environment: &Environment) -> Result<Selector, Vec<Fault>> {
    if let Some(path) = &rule.polygons {
        return polygons(rule, path, environment);
    }
    if let Some(touched) = &rule.all_touched {
        let message = "`all-touched` goes with `polygons`";
        return Err(vec![Fault::error(CONFLICT, touched.span.clone(), message)]);
    }
    let band = rule.band.clone().ok_or_else(|| {
        let message = "expected `band`, the band that says which pixels, or `polygons`";
        vec![Fault::error(codes::MISSING_KEY, rule.span.clone(), message)]
    });
    match (band, test(rule)) {
        (Ok(name), Ok(test)) => Ok(Selector::Band { name, test }),
        (band, test) => Err([band.err(), test.err()].into_iter().flatten().flatten().collect()),
    }
}

fn polygons(
    rule: &MaskRule,
    path: &Spanned<PathBuf>,
    environment: &Environment,
) -> Result<Selector, Vec<Fault>> {
    if rule.band.is_some() || rule.values.is_some() || rule.any_bit.is_some() || rule.field.is_some() {
        let message = "`polygons` and a `band` exclude each other";
        return Err(vec![Fault::error(CONFLICT, path.span.clone(), message).help("use two `mask` stages")]);
    }
    let is_touched = rule.all_touched.as_ref().is_some_and(|touched| touched.value);
    let coverage = if is_touched { Coverage::Touched } else { Coverage::Center };
    Ok(Selector::Polygons { file: PolygonFile::new(&environment.folder, path, None), coverage })
}

fn grow(rule: &MaskRule) -> Result<u64, Vec<Fault>> {
    match &rule.grow {
        Some(grow) if grow.value > LARGEST_GROW => {
            let message = format!("expected at most `{LARGEST_GROW}` pixels, found `{}`", grow.value);
            Err(vec![Fault::error(codes::OUT_OF_RANGE, grow.span.clone(), message)])
        }
        grow => Ok(grow.as_ref().map_or(0, |grow| grow.value)),
    }
}

fn test(rule: &Spanned<MaskRule>) -> Result<BandTest, Vec<Fault>> {
    match (&rule.values, &rule.any_bit, &rule.field) {
        (Some(values), None, None) => {
            Ok(BandTest::Values(values.iter().map(|value| value.as_str().to_owned()).collect()))
        }
        (None, Some(bits), None) => any_bit(bits),
        (Some(values), None, Some(field)) => field_values(field, values),
        (None, None, Some(field)) => {
            let message = "`field` goes with `values`, the values of these bits";
            Err(vec![Fault::error(codes::MISSING_KEY, field.span.clone(), message)])
        }
        (_, Some(bits), _) => {
            let message = "`any-bit` excludes `values` and `field`";
            Err(vec![Fault::error(CONFLICT, bits.span.clone(), message).help("use two `mask` stages")])
        }
        (None, None, None) => {
            let message = "expected `values`, `any-bit`, or `field` with `values`";
            Err(vec![Fault::error(codes::MISSING_KEY, rule.span.clone(), message)])
        }
    }
}

fn any_bit(bits: &[Spanned<u32>]) -> Result<BandTest, Vec<Fault>> {
    let one = |bit: &Spanned<u32>| {
        1_u64.checked_shl(bit.value).ok_or_else(|| {
            let message = format!("expected a bit from 0 to 63, found `{}`", bit.value);
            vec![Fault::error(codes::OUT_OF_RANGE, bit.span.clone(), message)]
        })
    };
    let mask = bits.iter().try_fold(0, |mask, bit| one(bit).map(|bit| mask | bit))?;
    Ok(BandTest::AnyBit(mask))
}

fn field_values(field: &Spanned<[u32; 2]>, values: &[Spanned<Number>]) -> Result<BandTest, Vec<Fault>> {
    let [start, length] = field.value;
    if length == 0 || start.saturating_add(length) > 64 {
        let message =
            format!("expected a first bit and a number of bits within 64, found `[{start}, {length}]`");
        return Err(vec![Fault::error(codes::OUT_OF_RANGE, field.span.clone(), message)]);
    }
    let mask = u64::MAX >> (64 - length);
    let value = |value: &Spanned<Number>| {
        value.as_str().parse::<u64>().ok().filter(|value| value & !mask == 0).ok_or_else(|| {
            let message = format!("`{}` is no value of {length} bits", value.as_str());
            vec![Fault::error(codes::OUT_OF_RANGE, value.span.clone(), message)]
        })
    };
    Ok(BandTest::Field { start, mask, values: values.iter().map(value).collect::<Result<_, _>>()? })
}
