//! Reads the polygons of a vector file with GDAL.

use std::path::{Path, PathBuf};

use gdal::vector::{FieldValue, Geometry, Layer, LayerAccess, OGRwkbGeometryType, geometry_type_flatten};
use gdal::{Dataset, DatasetOptions, GdalOpenFlags};
use serde_json::Value as Json;

use super::{GridPolygon, Ring};
use crate::raster::{Crs, Grid, NoOperation, Transformer, crs};

/// The formats that are opened.
const DRIVERS: &[&str] = &["GPKG", "GeoJSON", "ESRI Shapefile", "FlatGeobuf"];

/// All polygons of a vector file.
#[derive(Clone, Debug)]
pub struct PolygonLayer {
    path: PathBuf,
    crs: Option<Crs>,
    polygons: Vec<Polygon>,
}

/// One feature.
#[derive(Clone, Debug)]
pub struct Polygon {
    /// The value of the id field, or the number of the feature in the file, from 0.
    pub id: Json,
    /// Its rings in the coordinates of the file.
    rings: Vec<Ring>,
}

/// The polygons of a layer on one grid, in the layer's order.
pub type GridPolygons = Vec<GridPolygon>;

/// Why polygons cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PolygonError {
    /// The file is missing, or of a format that is not read.
    #[error("cannot open `{path}` as polygons (GPKG, GeoJSON, Shapefile or FlatGeobuf): {source}")]
    Open {
        /// The file.
        path: PathBuf,
        /// What GDAL says.
        source: gdal::errors::GdalError,
    },
    /// A feature that cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What GDAL says.
        source: gdal::errors::GdalError,
    },
    /// No layer or several.
    #[error("`{path}` has {found} layers, expected one")]
    Layers {
        /// The file.
        path: PathBuf,
        /// How many.
        found: usize,
    },
    /// The id field is missing.
    #[error("`{path}` has no field `{field}`; its fields are {}", .fields.join(", "))]
    Field {
        /// The file.
        path: PathBuf,
        /// The name asked for.
        field: String,
        /// Those that there are, in backquotes.
        fields: Vec<String>,
    },
    /// Points, lines or curves.
    #[error("feature {feature} of `{path}` is a {found}, expected a polygon")]
    Geometry {
        /// The file.
        path: PathBuf,
        /// Its number, from 0.
        feature: usize,
        /// What it is.
        found: String,
    },
    /// One side states no CRS.
    #[error("`{path}` and the raster cannot be brought together: {which} states no CRS")]
    NoCrs {
        /// The file.
        path: PathBuf,
        /// The file or the raster.
        which: &'static str,
    },
    /// No operation between the two systems.
    #[error("`{path}`: {source}")]
    NoOperation {
        /// The file.
        path: PathBuf,
        /// Between which.
        source: NoOperation,
    },
    /// A grid whose transform has no inverse.
    #[error("the raster's geotransform has no inverse")]
    Degenerate,
    /// A corner that has no place in the raster's system.
    #[error("polygon {id} of `{path}` reaches beyond where {crs} is defined")]
    Outside {
        /// The file.
        path: PathBuf,
        /// Of the polygon.
        id: Json,
        /// The raster's system.
        crs: String,
    },
}

impl PolygonLayer {
    /// Reads all polygons of a file with one layer; ids are taken from `id_field`.
    ///
    /// # Errors
    /// Another format, other geometries, no such field.
    pub fn read(path: &Path, id_field: Option<&str>) -> Result<PolygonLayer, PolygonError> {
        let options = DatasetOptions {
            open_flags: GdalOpenFlags::GDAL_OF_VECTOR | GdalOpenFlags::GDAL_OF_READONLY,
            allowed_drivers: Some(DRIVERS),
            ..DatasetOptions::default()
        };
        let path = path.to_owned();
        let dataset = Dataset::open_ex(&path, options)
            .map_err(|source| PolygonError::Open { path: path.clone(), source })?;
        if dataset.layer_count() != 1 {
            return Err(PolygonError::Layers { path, found: dataset.layer_count() });
        }
        let mut layer =
            dataset.layer(0).map_err(|source| PolygonError::Read { path: path.clone(), source })?;
        let field = id_field.map(|field| field_index(&layer, field, &path)).transpose()?;
        let crs = layer.spatial_ref().and_then(|reference| reference.to_wkt().ok()).map(Crs::from_wkt);
        let polygons = polygons(&mut layer, field, &path)?;
        Ok(PolygonLayer { path, crs, polygons })
    }

    /// The polygons, in the file's order.
    pub fn polygons(&self) -> &[Polygon] {
        &self.polygons
    }

    /// Every polygon in the pixel coordinates of a grid. Corners are transformed, sides stay straight.
    ///
    /// # Errors
    /// Systems that cannot be brought together.
    pub fn on_grid(&self, grid: &Grid) -> Result<GridPolygons, PolygonError> {
        let transformer = self.transformer(grid)?;
        let inverse = inverse(&grid.geotransform).ok_or(PolygonError::Degenerate)?;
        self.polygons
            .iter()
            .map(|polygon| self.place(polygon, grid, transformer.as_ref(), &inverse))
            .collect()
    }

    fn transformer(&self, grid: &Grid) -> Result<Option<Transformer>, PolygonError> {
        let missing = |which| PolygonError::NoCrs { path: self.path.clone(), which };
        match (&self.crs, &grid.crs) {
            (None, None) => Ok(None),
            (Some(_), None) => Err(missing("the raster")),
            (None, Some(_)) => Err(missing("the file")),
            (Some(from), Some(to)) => Transformer::between(from, to)
                .map(Some)
                .map_err(|source| PolygonError::NoOperation { path: self.path.clone(), source }),
        }
    }

    fn place(
        &self,
        polygon: &Polygon,
        grid: &Grid,
        transformer: Option<&Transformer>,
        inverse: &[f64; 6],
    ) -> Result<GridPolygon, PolygonError> {
        let mut rings = polygon.rings.clone();
        for ring in &mut rings {
            if let Some(transformer) = transformer {
                transformer.points(&mut ring.corners);
            }
            for (x, y) in &mut ring.corners {
                let (column, row) = (
                    inverse[0] + *x * inverse[1] + *y * inverse[2],
                    inverse[3] + *x * inverse[4] + *y * inverse[5],
                );
                (*x, *y) = (column, row);
            }
            if ring.corners.iter().any(|(x, y)| !(x.is_finite() && y.is_finite())) {
                let crs = grid.crs.as_ref().map_or_else(|| "the grid".into(), crs::describe);
                return Err(PolygonError::Outside { path: self.path.clone(), id: polygon.id.clone(), crs });
            }
        }
        Ok(GridPolygon::new(&rings, grid.width))
    }
}

/// The transform from coordinates to (column, row), in the order of GDAL's coefficients.
fn inverse(geotransform: &[f64; 6]) -> Option<[f64; 6]> {
    let [x, a, b, y, c, d] = *geotransform;
    let determinant = a * d - b * c;
    if determinant == 0.0 || !determinant.is_finite() {
        return None;
    }
    let [a, b, c, d] = [d / determinant, -b / determinant, -c / determinant, a / determinant];
    Some([-(x * a + y * b), a, b, -(x * c + y * d), c, d])
}

fn field_index(layer: &Layer, field: &str, path: &Path) -> Result<usize, PolygonError> {
    let names: Vec<String> = layer.defn().fields().map(|field| field.name()).collect();
    names.iter().position(|name| name == field).ok_or_else(|| PolygonError::Field {
        path: path.to_owned(),
        field: field.into(),
        fields: names.iter().map(|name| format!("`{name}`")).collect(),
    })
}

fn polygons(layer: &mut Layer, field: Option<usize>, path: &Path) -> Result<Vec<Polygon>, PolygonError> {
    let mut polygons = Vec::new();
    for (number, feature) in layer.features().enumerate() {
        let read = |source| PolygonError::Read { path: path.to_owned(), source };
        let id = match field {
            Some(field) => feature.field(field).map_err(read)?.map_or(Json::Null, id),
            None => number.into(),
        };
        let mut rings = Vec::new();
        if let Some(geometry) = feature.geometry() {
            add_rings(geometry, &mut rings).map_err(|found| PolygonError::Geometry {
                path: path.to_owned(),
                feature: number,
                found,
            })?;
        }
        polygons.push(Polygon { id, rings });
    }
    Ok(polygons)
}

fn id(value: FieldValue) -> Json {
    match value {
        FieldValue::IntegerValue(value) => value.into(),
        FieldValue::Integer64Value(value) => value.into(),
        FieldValue::RealValue(value) => value.into(),
        FieldValue::StringValue(value) => value.into(),
        FieldValue::DateValue(value) => value.to_string().into(),
        FieldValue::DateTimeValue(value) => value.to_rfc3339().into(),
        _ => Json::Null,
    }
}

/// The rings of a polygon or of several; another geometry by its name.
fn add_rings(geometry: &Geometry, rings: &mut Vec<Ring>) -> Result<(), String> {
    let parts = || (0..geometry.geometry_count()).map(|index| geometry.get_geometry(index));
    match geometry_type_flatten(geometry.geometry_type()) {
        OGRwkbGeometryType::wkbPolygon => {
            rings.extend(
                parts().enumerate().map(|(index, part)| Ring { corners: corners(&part), is_hole: index > 0 }),
            );
            Ok(())
        }
        OGRwkbGeometryType::wkbMultiPolygon | OGRwkbGeometryType::wkbGeometryCollection => {
            parts().try_for_each(|part| add_rings(&part, rings))
        }
        _ => Err(geometry.geometry_name()),
    }
}

fn corners(ring: &Geometry) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    ring.get_points(&mut points);
    points.into_iter().map(|(x, y, _)| (x, y)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Coverage;
    use super::*;

    const SQUARES: &str = r#"{
        "type": "FeatureCollection",
        "crs": { "type": "name", "properties": { "name": "urn:ogc:def:crs:EPSG::32632" } },
        "features": [
            { "type": "Feature", "properties": { "name": "west" }, "geometry": { "type": "Polygon", "coordinates":
                [[[500000, 4000000], [500020, 4000000], [500020, 3999980], [500000, 3999980], [500000, 4000000]]] } },
            { "type": "Feature", "properties": { "name": "east" }, "geometry": { "type": "MultiPolygon", "coordinates":
                [[[[500020, 4000000], [500030, 4000000], [500030, 3999980], [500020, 3999980], [500020, 4000000]]]] } }
        ]
    }"#;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fields.geojson");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn grid(code: &str) -> Grid {
        Grid {
            crs: Some(crs::parse(code).unwrap()),
            geotransform: [500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0],
            width: 4,
            height: 3,
        }
    }

    #[test]
    fn polygons_are_read_with_their_ids_and_placed_on_the_grid() {
        let (_folder, path) = file(SQUARES);
        let layer = PolygonLayer::read(&path, Some("name")).unwrap();
        let ids: Vec<_> = layer.polygons().iter().map(|polygon| polygon.id.clone()).collect();
        assert_eq!(ids, ["west", "east"]);
        let grid = grid("EPSG:32632");
        let placed = layer.on_grid(&grid).unwrap();
        let columns = |polygon: &GridPolygon| {
            let spans = polygon.spans(&grid.whole(), Coverage::Center);
            spans.into_iter().map(|span| (span.row, span.columns)).collect::<Vec<_>>()
        };
        assert_eq!(columns(&placed[0]), [(0, 0..2), (1, 0..2)]);
        assert_eq!(columns(&placed[1]), [(0, 2..3), (1, 2..3)]);
    }

    #[test]
    fn coordinates_of_another_system_are_transformed() {
        // 9° east is the meridian of zone 32, x = 500 km; at 36.14° north 0.0002° are 18 m.
        let (_folder, path) = file(
            r#"{ "type": "Feature", "properties": {}, "geometry": { "type": "Polygon", "coordinates":
                [[[9, 36], [9.0002, 36], [9.0002, 37], [9, 37], [9, 36]]] } }"#,
        );
        let layer = PolygonLayer::read(&path, None).unwrap();
        let grid = grid("EPSG:32632");
        let spans = layer.on_grid(&grid).unwrap()[0].spans(&grid.whole(), Coverage::Center);
        assert_eq!(spans.iter().map(|span| span.columns.clone()).collect::<Vec<_>>(), vec![0..2; 3]);
        let error = layer.on_grid(&Grid { crs: None, ..grid }).unwrap_err();
        assert!(error.to_string().contains("the raster states no CRS"), "{error}");
        assert_eq!(layer.polygons()[0].id, 0);
    }

    #[test]
    fn what_is_no_polygon_is_refused_by_name() {
        let (_folder, path) = file(SQUARES);
        let error = PolygonLayer::read(&path, Some("nme")).unwrap_err().to_string();
        assert!(error.ends_with("has no field `nme`; its fields are `name`"), "{error}");
        let (_folder, path) = file(
            r#"{ "type": "Feature", "properties": {}, "geometry": { "type": "Point", "coordinates": [1, 2] } }"#,
        );
        let error = PolygonLayer::read(&path, None).unwrap_err().to_string();
        assert!(error.contains("is a POINT, expected a polygon"), "{error}");
        let (_folder, path) = file("no json");
        assert!(matches!(PolygonLayer::read(&path, None), Err(PolygonError::Open { .. })));
    }
}
