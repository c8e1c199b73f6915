//! Tables of rows and of files, over several runs.

use std::fs::{self, File};
use std::path::Path;

use gdal::vector::{
    Feature, FieldValue, Geometry, LayerAccess, LayerOptions, OGRFieldType, OGRwkbGeometryType,
};
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::job::Job;
use crate::rasters::Raster;

const CORNER: (f64, f64) = (500_000.0, 4_000_000.0);

/// The pipeline for people, on small windows.
fn job(table: &str) -> Job {
    let job = Job::new("");
    let pipeline = include_str!("../../pipelines/window-statistics.toml");
    let pipeline = pipeline.replace("default = 512", "default = 16").replace("out/windows.parquet", table);
    fs::write(job.path("job.toml"), pipeline).unwrap();
    job
}

/// The columns 0, 1, 2 … of 24 columns and 16 rows: windows of 16 and 8 columns, and nodata where the column is 0.
fn columns() -> Raster {
    Raster { corner: CORNER, size: (24, 16), values: (0..24).collect::<Vec<u16>>().repeat(16) }
}

/// A table without its column `std`, and the values of that.
fn without_deviations(table: &str) -> (String, Vec<f64>) {
    let (mut rest, mut deviations) = (String::new(), Vec::new());
    for line in table.lines() {
        let mut cells: Vec<&str> = line.split(',').collect();
        deviations.extend(cells.remove(10).parse::<f64>());
        rest.extend([cells.join(",").as_str(), "\n"]);
    }
    (rest, deviations)
}

fn record(path: &Path) -> crate::record::Run {
    crate::record::Run::read(path)
}

#[test]
fn window_statistics_stand_in_one_table_over_all_runs() {
    let job = job("out/windows.csv");
    let run = || {
        job.run().expect_exit(0);
        let (table, deviations) =
            without_deviations(&fs::read_to_string(job.path("out/windows.csv")).unwrap());
        // The variance of 1 to 15 is (15² − 1) / 12 = 56 / 3, that of 16 to 23 (8² − 1) / 12 = 5.25.
        let expected = [(56.0f64 / 3.0).sqrt(), 5.25f64.sqrt()];
        let last_two = &deviations[deviations.len() - 2..];
        assert!(last_two.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{deviations:?}");
        table
    };
    columns().write(&job.path("in/b.tif"));
    // Columns 1 to 15 in 16 rows have the mean 8, columns 16 to 23 the mean 19.5.
    let head = "id,parent,row,col,band,count,total,min,max,mean,p50\n";
    let of_b = "b/0/0,b,0,0,value,240,256,1.0,15.0,8.0,8.0\nb/0/1,b,0,1,value,128,128,16.0,23.0,19.5,19.5\n";
    assert_eq!(run(), format!("{head}{of_b}"));

    let first = run();
    assert_eq!(first, format!("{head}{of_b}"), "a second run keeps the rows");
    let ledger = job.path(".gisrun/window-statistics.run.jsonl");
    assert_eq!((record(&ledger).finished(), record(&ledger).skipped()), (vec![], vec!["b".to_owned()]));

    Raster::of(5, CORNER, (16, 16)).write(&job.path("in/a.tif"));
    let of_a = "a/0/0,a,0,0,value,256,256,5.0,5.0,5.0,5.0\n";
    assert_eq!(run(), format!("{head}{of_a}{of_b}"), "a new item's rows stand where its id belongs");
    assert_eq!(record(&ledger).finished(), ["a"]);
}

#[test]
fn rows_of_a_failed_item_are_in_no_table() {
    let job = job("out/windows.csv");
    Raster::of(5, CORNER, (16, 16)).write(&job.path("in/a.tif"));
    fs::write(job.path("in/b.tif"), "no raster").unwrap();
    job.run().expect_exit(1);
    let table = fs::read_to_string(job.path("out/windows.csv")).unwrap();
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(table.lines().nth(1).unwrap().starts_with("a/0/0,"), "{table}");
}

#[test]
fn a_table_that_somebody_else_wrote_is_not_replaced() {
    let job = job("out/windows.csv");
    Raster::of(5, CORNER, (16, 16)).write(&job.path("in/a.tif"));
    fs::create_dir_all(job.path("out")).unwrap();
    fs::write(job.path("out/windows.csv"), "mine").unwrap();
    let ended = job.run().expect_exit(3);
    ended.line_with(&["out/windows.csv` is there and no earlier run of this pipeline wrote it"]);
    assert_eq!(fs::read_to_string(job.path("out/windows.csv")).unwrap(), "mine");
}

/// (name, type) of the columns of a Parquet file, and its rows as text.
fn parquet(path: &Path) -> (Vec<String>, Vec<String>) {
    let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let fields = file.metadata().file_metadata().schema().get_fields().to_vec();
    let columns = fields.iter().map(|field| format!("{}:{}", field.name(), field.get_physical_type()));
    let rows = file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string());
    (columns.collect(), rows.collect())
}

#[test]
fn parquet_has_typed_columns() {
    let job = job("out/windows.parquet");
    columns().write(&job.path("in/b.tif"));
    job.run().expect_exit(0);
    let (columns, rows) = parquet(&job.path("out/windows.parquet"));
    let expected = [
        "id:BYTE_ARRAY",
        "parent:BYTE_ARRAY",
        "row:INT64",
        "col:INT64",
        "band:BYTE_ARRAY",
        "count:INT64",
        "total:INT64",
        "min:DOUBLE",
        "max:DOUBLE",
        "mean:DOUBLE",
        "std:DOUBLE",
        "p50:DOUBLE",
    ];
    assert_eq!(columns, expected);
    assert_eq!(rows.len(), 2);
    assert!(rows[1].contains("count: 128, total: 128, min: 16.0, max: 23.0, mean: 19.5"), "{}", rows[1]);
}

#[test]
fn an_index_of_files_says_where_each_lies() {
    let job = Job::new(
        r#"
[stages]
rasters = { glob = { paths = ["in/*.tif"] } }
bands   = { from = "rasters", read = { bands = { value = 1 } } }
encoded = { from = "bands", encode = { format = "gtiff" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
index   = { from = "written", table = { path = "index.geoparquet" } }
"#,
    );
    for name in ["b", "a"] {
        Raster::of(7, CORNER, (16, 16)).write(&job.path(&format!("in/{name}.tif")));
    }
    job.run().expect_exit(0);
    let path = job.path("index.geoparquet");
    let (columns, rows) = parquet(&path);
    assert_eq!(
        columns,
        ["id:BYTE_ARRAY", "location:BYTE_ARRAY", "size:INT64", "footprint:BYTE_ARRAY", "crs:BYTE_ARRAY"]
    );
    assert!(rows[0].contains("id: \"a\"") && rows[1].contains("id: \"b\""), "{rows:?}");
    assert!(rows[0].contains("crs: \"EPSG:32633\""), "{rows:?}");
    let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let metadata = file.metadata().file_metadata().key_value_metadata().unwrap().clone();
    let geo = metadata.iter().find(|entry| entry.key == "geo").and_then(|entry| entry.value.clone()).unwrap();
    let geo: serde_json::Value = serde_json::from_str(&geo).unwrap();
    assert_eq!((&geo["version"], &geo["primary_column"]), (&"1.0.0".into(), &"footprint".into()));
    assert_eq!(geo["columns"]["footprint"]["encoding"], "WKB");
}

/// A polygon over 5 whole columns and a quarter of the sixth, in 16 rows; its windows of one raster are one row.
#[test]
fn zonal_statistics_count_pixels_by_the_part_inside() {
    let job = Job::new("");
    let pipeline = include_str!("../../pipelines/zonal-statistics.toml");
    let pipeline = pipeline.replace("size = 2048", "size = 4").replace("zones.gpkg", "zones.geojson");
    fs::write(job.path("job.toml"), pipeline).unwrap();
    columns().write(&job.path("in/b.tif"));
    let (west, north) = (CORNER.0 + 10.0, CORNER.1);
    let (east, south) = (west + 52.5, north - 160.0);
    let ring =
        format!("[[{west},{south}],[{east},{south}],[{east},{north}],[{west},{north}],[{west},{south}]]");
    let zones = format!(
        r#"{{"type":"FeatureCollection","crs":{{"type":"name","properties":{{"name":"EPSG:32633"}}}},"features":
        [{{"type":"Feature","properties":{{"id":"z"}},"geometry":{{"type":"Polygon","coordinates":[{ring}]}}}}]}}"#
    );
    fs::write(job.path("zones.geojson"), zones).unwrap();
    job.run().expect_exit(0);
    let table = fs::read_to_string(job.path("out/zones.csv")).unwrap();
    let cells: Vec<&str> = table.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(&cells[..3], ["b", "value", "z"]);
    let numbers: Vec<f64> = cells[3..].iter().map(|cell| cell.parse().unwrap()).collect();
    // 16 rows of (1 + 2 + 3 + 4 + 5) + 6 / 4 over 5.25 pixels.
    let expected = [84.0, 1.0, 6.0, 16.5 / 5.25];
    assert!(numbers.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{table}");
}

/// GDAL opens a GeoPackage with its own SQLite and that of SpatiaLite, of which the program links another.
#[test]
fn zones_and_masks_come_from_a_geopackage() {
    let job = Job::new(
        r#"
[stages]
files   = { list = { uris = ["in/scene.tif"] } }
bands   = { from = "files", read = { bands = { a = 1 } } }
kept    = { from = "bands", mask = { keep = { polygons = "zones.gpkg" } } }
whole   = { from = "kept", stats = { statistics = ["count", "sum"] } }
sums    = { from = "whole", table = { path = "out/whole.csv" } }
rows    = { from = "bands", stats = { zones = "zones.gpkg", zone-id = "name", statistics = ["count", "sum"] } }
table   = { from = "rows", table = { path = "out/zones.csv" } }
"#,
    );
    let (west, north) = (500_000.0, 4_000_000.0);
    Raster::of(3, (west, north), (10, 8)).write(&job.path("in/scene.tif"));
    // Columns 2 to 4 of rows 1 to 2.
    let (left, right, top, bottom) = (west + 20.0, west + 50.0, north - 10.0, north - 30.0);
    write_geopackage(
        &job.path("zones.gpkg"),
        &format!("POLYGON (({left} {top}, {right} {top}, {right} {bottom}, {left} {bottom}, {left} {top}))"),
    );

    job.run().expect_exit(0);

    let table = |name: &str| fs::read_to_string(job.path(name)).unwrap();
    assert_eq!(table("out/zones.csv"), "id,band,zone,count,sum\nscene,a,field,6,18.0\n");
    assert_eq!(table("out/whole.csv"), "id,band,count,sum\nscene,a,6,18.0\n");
}

/// One polygon in EPSG:32633 with the name `field`.
fn write_geopackage(path: &Path, polygon: &str) {
    let driver = gdal::DriverManager::get_driver_by_name("GPKG").unwrap();
    let mut file = driver.create_vector_only(path).unwrap();
    let srs = gdal::spatial_ref::SpatialRef::from_epsg(32633).unwrap();
    let (name, ty) = ("zones", OGRwkbGeometryType::wkbPolygon);
    {
        let layer = file.create_layer(LayerOptions { name, srs: Some(&srs), ty, options: None }).unwrap();
        layer.create_defn_fields(&[("name", OGRFieldType::OFTString)]).unwrap();
        let mut feature = Feature::new(layer.defn()).unwrap();
        feature.set_geometry(Geometry::from_wkt(polygon).unwrap()).unwrap();
        feature.set_field(0, &FieldValue::StringValue("field".into())).unwrap();
        feature.create(&layer).unwrap();
    }
    file.close().unwrap();
}
