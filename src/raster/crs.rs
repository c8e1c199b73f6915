//! Coordinate reference systems: read from names, compared by meaning, x always before y.

use gdal::spatial_ref::{AxisMappingStrategy, SpatialRef};

use super::Crs;
use super::ffi::Quiet;

/// What is wrong with the name of a coordinate reference system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrsError {
    /// The text has none of the forms that are read.
    #[error("`{0}` is no CRS: expected a name like `EPSG:32632`, a PROJ string or well-known text")]
    Form(String),
    /// The form is right and the system is not known.
    #[error("the CRS `{0}` is not known")]
    Unknown(String),
}

/// Reads `EPSG:32632`, a PROJ string, PROJJSON or well-known text.
///
/// No other form of GDAL's is read, because some of them open files or addresses.
///
/// # Errors
/// Another form, or a system that PROJ does not know.
pub fn parse(text: &str) -> Result<Crs, CrsError> {
    let text = text.trim();
    if !has_known_form(text) {
        return Err(CrsError::Form(shortened(text)));
    }
    let _quiet = Quiet::new();
    SpatialRef::from_definition(text)
        .ok()
        .filter(is_defined)
        .and_then(|reference| reference.to_wkt().ok())
        .map(Crs::from_wkt)
        .ok_or_else(|| CrsError::Unknown(shortened(text)))
}

fn has_known_form(text: &str) -> bool {
    let is_proj = text.starts_with("+proj=") || text.starts_with("+init=");
    let is_wkt = text.contains('[') && text.starts_with(|c: char| c.is_ascii_alphabetic());
    is_proj || is_wkt || text.starts_with('{') || text.starts_with("urn:ogc:def:crs:") || is_code(text)
}

/// `AUTHORITY:CODE`, as in `EPSG:4326` or `OGC:CRS84`.
fn is_code(text: &str) -> bool {
    text.split_once(':').is_some_and(|(authority, code)| {
        let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric());
        is_word(authority) && code.split(['.', '_', '+']).all(is_word)
    })
}

fn is_defined(reference: &SpatialRef) -> bool {
    reference.is_geographic() || reference.is_projected() || reference.is_local() || reference.is_compound()
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= 60 { text.to_owned() } else { text.chars().take(60).chain(['…']).collect() }
}

/// GDAL's object for a system, in traditional axis order.
pub(super) fn spatial_reference(crs: &Crs) -> Option<SpatialRef> {
    let _quiet = Quiet::new();
    let mut reference = SpatialRef::from_definition(crs.wkt()).ok()?;
    reference.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
    Some(reference)
}

/// Whether two systems mean the same, however their texts are written.
pub fn is_same(one: &Crs, other: &Crs) -> bool {
    one == other
        || spatial_reference(one)
            .zip(spatial_reference(other))
            .is_some_and(|(one, other)| one == other || has_same_code(&one, &other))
}

fn has_same_code(one: &SpatialRef, other: &SpatialRef) -> bool {
    one.authority().ok().is_some_and(|code| other.authority().ok() == Some(code))
}

/// Whether the coordinates are longitude and latitude.
pub fn is_geographic(crs: &Crs) -> bool {
    spatial_reference(crs).is_some_and(|reference| reference.is_geographic())
}

/// The system's code, `EPSG:32632`, or else its name.
pub fn describe(crs: &Crs) -> String {
    let reference = spatial_reference(crs);
    let code = reference.as_ref().and_then(|reference| reference.authority().ok());
    code.or_else(|| reference.and_then(|reference| reference.name())).unwrap_or_else(|| shortened(crs.wkt()))
}

/// Whether the projection is a Mercator on the equator, which cannot show the poles.
pub(super) fn is_mercator(crs: &Crs) -> bool {
    spatial_reference(crs)
        .and_then(|reference| reference.get_attr_value("PROJECTION", 0).ok().flatten())
        .is_some_and(|name| name.starts_with("Mercator"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_strings_and_well_known_text_of_one_system_mean_the_same() {
        let name = parse("EPSG:32632").unwrap();
        let string = parse("+proj=utm +zone=32 +datum=WGS84 +units=m").unwrap();
        let text = parse(name.wkt()).unwrap();
        assert!(is_same(&name, &text));
        assert!(is_same(&name, &string));
        assert!(!is_same(&name, &parse("EPSG:32633").unwrap()));
        assert_eq!(describe(&name), "EPSG:32632");
    }

    #[test]
    fn files_and_addresses_are_no_systems() {
        for text in ["/etc/hostname", "http://127.0.0.1:9/crs", "https://x.example/y", "", "EPSG:", "32632"] {
            assert!(matches!(parse(text), Err(CrsError::Form(_))), "{text}");
        }
        assert_eq!(parse("EPSG:999999"), Err(CrsError::Unknown("EPSG:999999".into())));
    }

    #[test]
    fn only_mercator_on_the_equator_is_mercator() {
        assert!(is_mercator(&parse("EPSG:3857").unwrap()));
        assert!(is_mercator(&parse("EPSG:3395").unwrap()));
        assert!(!is_mercator(&parse("EPSG:32632").unwrap()));
        assert!(!is_mercator(&parse("EPSG:4326").unwrap()));
    }
}
