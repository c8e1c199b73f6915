//! Footprints: the box around a raster or a window in longitude and latitude, as well-known text and binary.

use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use crate::contract::{Failure, Lineage, Row, blocking};
use crate::raster::warp::{Footprint, SourceImage, SourceOptions};
use crate::raster::{Grid, Placement, crs};

/// The column of footprints.
pub(super) const FOOTPRINT: &str = "footprint";

/// WKB's codes of geometries (OGC 06-103r4, 8.2.8), and of little-endian numbers.
const POLYGON: u32 = 3;
const MULTI_POLYGON: u32 = 6;
const LITTLE_ENDIAN: u8 = 1;

/// The rows of a window with its footprint; null where the item is no window, or lies nowhere.
pub(super) async fn with_footprints(
    lineage: Lineage,
    mut rows: Vec<Row>,
    cancel: &CancellationToken,
) -> Result<Vec<Row>, Failure> {
    let grid = lineage.grid.map(|grid| match &lineage.window {
        Some(window) => grid.of_window(window),
        None => (*grid).clone(),
    });
    let footprint = match grid {
        Some(grid) => blocking::run(cancel, (), move || Ok(of(&grid, &Placement::Affine))).await?,
        None => None,
    };
    for row in &mut rows {
        row.push((FOOTPRINT.into(), footprint.clone().map_or(Json::Null, Json::from)));
    }
    Ok(rows)
}

/// The box around an image as well-known text in WGS 84; `None` for one that lies nowhere.
pub(super) fn of(grid: &Grid, placement: &Placement) -> Option<String> {
    let image = SourceImage::new(grid, placement, &SourceOptions::default()).ok()?;
    let degrees = crs::parse("EPSG:4326").ok()?;
    Footprint::of(&image, &degrees).ok().map(|footprint| to_wkt(footprint.bounds))
}

/// A polygon, or two where the box crosses the antimeridian (RFC 7946, 3.1.9).
fn to_wkt([west, south, east, north]: [f64; 4]) -> String {
    let ring = |west: f64, east: f64| {
        format!("(({west} {south}, {east} {south}, {east} {north}, {west} {north}, {west} {south}))")
    };
    if east > 180.0 && west < 180.0 {
        format!("MULTIPOLYGON ({}, {})", ring(west, 180.0), ring(-180.0, east - 360.0))
    } else {
        format!("POLYGON {}", ring(west, east))
    }
}

/// The well-known binary of a text as `to_wkt` writes it.
pub(super) fn to_wkb(text: &str) -> Option<Vec<u8>> {
    let mut rings = Vec::new();
    for part in text.split("((").filter(|part| part.contains("))")) {
        rings.push(positions(part.trim_start_matches('(').split("))").next()?)?);
    }
    match rings.as_slice() {
        [ring] => Some(polygon(ring)),
        [] => None,
        rings => {
            let mut bytes = head(MULTI_POLYGON, rings.len());
            for ring in rings {
                bytes.extend(polygon(ring));
            }
            Some(bytes)
        }
    }
}

fn positions(text: &str) -> Option<Vec<(f64, f64)>> {
    let position = |text: &str| {
        let (x, y) = text.trim().split_once(' ')?;
        Some((x.parse().ok()?, y.parse().ok()?))
    };
    text.split(',').map(position).collect()
}

/// The order of bytes, the code, and how many parts follow.
fn head(code: u32, parts: usize) -> Vec<u8> {
    let mut bytes = vec![LITTLE_ENDIAN];
    bytes.extend(code.to_le_bytes());
    bytes.extend((parts as u32).to_le_bytes());
    bytes
}

fn polygon(ring: &[(f64, f64)]) -> Vec<u8> {
    let mut bytes = head(POLYGON, 1);
    bytes.extend((ring.len() as u32).to_le_bytes());
    for (x, y) in ring {
        bytes.extend(x.to_le_bytes());
        bytes.extend(y.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_one_polygon_in_binary_too() {
        let text = to_wkt([10.0, 47.0, 11.5, 48.0]);
        assert_eq!(text, "POLYGON ((10 47, 11.5 47, 11.5 48, 10 48, 10 47))");
        let bytes = to_wkb(&text).unwrap();
        // 1 + 4 + 4 for the head, 4 for the ring's length, 5 positions of 16.
        assert_eq!(bytes.len(), 9 + 4 + 80);
        assert_eq!(bytes[..13], [1, 3, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(bytes[13..29], [10f64.to_le_bytes(), 47f64.to_le_bytes()].concat());
    }

    #[test]
    fn a_box_across_the_antimeridian_is_two() {
        let text = to_wkt([179.0, 0.0, 181.0, 1.0]);
        let expected = "MULTIPOLYGON (((179 0, 180 0, 180 1, 179 1, 179 0)), ((-180 0, -179 0, -179 1, -180 1, -180 0)))";
        assert_eq!(text, expected);
        let bytes = to_wkb(&text).unwrap();
        assert_eq!(bytes.len(), 9 + 2 * 93);
        assert_eq!(bytes[..9], [1, 6, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(bytes[9 + 93 + 13..][..8], (-180f64).to_le_bytes());
    }
}
