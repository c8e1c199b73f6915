//! What a search asks for, in the two forms of the API: a JSON document that is posted, and a query.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use super::StacOptions;
use super::interval::widened;
use crate::config::{Fault, Spanned};
use crate::ops::codes::BAD_SEARCH;
use crate::ops::filter::complaint;

/// How many items a page has where the pipeline does not say.
const PAGE_SIZE: u64 = 100;

/// A checked search.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// All that is known before the run: the body of a POST.
    body: Map<String, Json>,
    /// The condition as text, for a GET.
    filter: Option<String>,
    /// `sortby` as written, for a GET.
    sortby: Vec<String>,
    /// A file with the area to intersect.
    area: Option<PathBuf>,
}

impl Search {
    /// Checks the options of a search.
    pub(super) fn new(options: &StacOptions, folder: &Path) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut body = Map::new();
        let limit = options.page_size.unwrap_or(PAGE_SIZE).min(options.max_items.unwrap_or(u64::MAX)).max(1);
        body.insert("limit".into(), limit.into());
        if let Some(collections) = &options.collections {
            body.insert("collections".into(), json!(collections));
        }
        if let Some(ids) = &options.ids {
            body.insert("ids".into(), json!(ids));
        }
        take(&mut body, &mut faults, "bbox", options.bbox.as_ref(), |bbox| {
            check_bbox(bbox).map(|()| json!(bbox))
        });
        take(&mut body, &mut faults, "datetime", options.datetime.as_ref(), |text| {
            widened(text).map(Json::from)
        });
        take(&mut body, &mut faults, "filter", options.filter.as_ref(), |text| condition(text));
        if body.contains_key("filter") {
            body.insert("filter-lang".into(), "cql2-json".into());
        }
        let sortby: Vec<_> = options.sortby.iter().flat_map(|keys| keys.iter().cloned()).collect();
        if !sortby.is_empty() {
            body.insert("sortby".into(), sortby.iter().map(|key| sort_key(key)).collect());
        }
        if faults.is_empty() {
            let area = options.intersects.as_ref().map(|file| folder.join(&file.value));
            let filter = options.filter.as_ref().map(|filter| filter.value.clone());
            Ok(Self { body, filter, sortby, area })
        } else {
            Err(faults)
        }
    }

    /// The document to post; reads the file with the area.
    pub(super) async fn body(&self) -> Result<Json, String> {
        let mut body = self.body.clone();
        if let Some(file) = &self.area {
            let read = async {
                let text = tokio::fs::read_to_string(file).await.map_err(|error| error.to_string())?;
                area_of(&serde_json::from_str(&text).map_err(|error| error.to_string())?)
            };
            let area = read.await.map_err(|error| format!("`intersects`: `{}`: {error}", file.display()))?;
            body.insert("intersects".into(), area);
        }
        Ok(Json::Object(body))
    }

    /// The names and values of the query that asks for the same as `body`.
    pub(super) fn query(&self, body: &Json) -> Vec<(String, String)> {
        let mut query = Vec::new();
        for (name, value) in body.as_object().into_iter().flatten() {
            let text = match (name.as_str(), value) {
                ("filter", _) => self.filter.clone().unwrap_or_default(),
                ("filter-lang", _) => "cql2-text".to_owned(),
                ("sortby", _) => self.sortby.join(","),
                ("intersects", area) => area.to_string(),
                (_, Json::Array(list)) => list.iter().map(plain).collect::<Vec<_>>().join(","),
                (_, other) => plain(other),
            };
            query.push((name.clone(), text));
        }
        query
    }
}

fn take<T>(
    body: &mut Map<String, Json>,
    faults: &mut Vec<Fault>,
    name: &str,
    option: Option<&Spanned<T>>,
    check: impl Fn(&T) -> Result<Json, String>,
) {
    let Some(option) = option else { return };
    match check(&option.value) {
        Ok(value) => drop(body.insert(name.into(), value)),
        Err(message) => faults.push(Fault::error(BAD_SEARCH, option.span.clone(), message)),
    }
}

/// West, south, east, north in degrees; with two heights between them six numbers. West of a box that crosses the
/// antimeridian is larger than its east (RFC 7946, 5.2).
fn check_bbox(bbox: &[f64]) -> Result<(), String> {
    let (south, north, longitudes) = match bbox {
        [west, south, east, north] | [west, south, _, east, north, _] => (*south, *north, [*west, *east]),
        _ => return Err(format!("a box has 4 or 6 numbers, and this one has {}", bbox.len())),
    };
    if !longitudes.iter().all(|longitude| longitude.abs() <= 180.0)
        || south.abs() > 90.0
        || north.abs() > 90.0
    {
        return Err("a box is in degrees: west, south, east, north".into());
    }
    if south > north {
        return Err(format!("the box's south {south} lies north of its north {north}"));
    }
    Ok(())
}

fn condition(text: &str) -> Result<Json, String> {
    let expression = cql2::parse_text(text).map_err(|error| complaint(&error).1)?;
    expression.to_value().map_err(|error| complaint(&error).1)
}

/// `-properties.datetime` as the API posts it.
fn sort_key(key: &str) -> Json {
    let (direction, field) = match key.split_at_checked(1) {
        Some(("-", field)) => ("desc", field),
        Some(("+", field)) => ("asc", field),
        _ => ("asc", key),
    };
    json!({ "field": field, "direction": direction })
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The one geometry of a GeoJSON document; the polygons of several features become one.
fn area_of(document: &Json) -> Result<Json, String> {
    let kind = document.get("type").and_then(Json::as_str);
    match kind {
        Some("FeatureCollection") => {
            let features = document.get("features").and_then(Json::as_array).ok_or("it has no `features`")?;
            match features.as_slice() {
                [] => Err("it has no feature".into()),
                [one] => area_of(one),
                several => several
                    .iter()
                    .map(polygons)
                    .collect::<Result<Vec<_>, _>>()
                    .map(|polygons| json!({ "type": "MultiPolygon", "coordinates": polygons.concat() })),
            }
        }
        Some("Feature") => area_of(document.get("geometry").ok_or("its feature has no `geometry`")?),
        Some(
            "Point" | "MultiPoint" | "LineString" | "MultiLineString" | "Polygon" | "MultiPolygon"
            | "GeometryCollection",
        ) => Ok(document.clone()),
        _ => Err("it is no GeoJSON geometry, feature or feature collection".into()),
    }
}

fn polygons(feature: &Json) -> Result<Vec<Json>, String> {
    let geometry = area_of(feature)?;
    let coordinates = geometry.get("coordinates").cloned().unwrap_or_default();
    match (geometry.get("type").and_then(Json::as_str), coordinates) {
        (Some("Polygon"), one) => Ok(vec![one]),
        (Some("MultiPolygon"), Json::Array(several)) => Ok(several),
        _ => Err("of several features, all have to be polygons".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_polygons_become_one_area() {
        let feature = |kind: &str, coordinates: Json| json!({"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}});
        let of = |features: Vec<Json>| area_of(&json!({"type": "FeatureCollection", "features": features}));
        let several =
            of(vec![feature("Polygon", json!([[1]])), feature("MultiPolygon", json!([[[2]], [[3]]]))]);
        assert_eq!(
            several.expect("polygons"),
            json!({"type": "MultiPolygon", "coordinates": [[[1]], [[2]], [[3]]]})
        );
        assert_eq!(
            of(vec![feature("Point", json!([1, 2]))]).expect("one"),
            json!({"type": "Point", "coordinates": [1, 2]})
        );
        assert!(of(vec![]).is_err());
        assert!(of(vec![feature("Point", json!([1, 2])), feature("Polygon", json!([[1]]))]).is_err());
    }

    #[test]
    fn boxes_are_checked() {
        for bbox in [
            vec![10.0, 47.0, 11.0, 48.0],
            vec![170.0, -10.0, -170.0, 10.0],
            vec![0.0, 0.0, 0.0, 1.0, 1.0, 9.0],
        ] {
            assert_eq!(check_bbox(&bbox), Ok(()), "{bbox:?}");
        }
        for bbox in [
            vec![1.0, 2.0, 3.0],
            vec![0.0, 5.0, 1.0, 4.0],
            vec![500_000.0, 0.0, 600_000.0, 1.0],
            vec![f64::NAN, 0.0, 1.0, 1.0],
        ] {
            assert!(check_bbox(&bbox).is_err(), "{bbox:?}");
        }
    }
}
