//! The ten jobs of `../shared/jobs`, as they stand there, on small scenes of known values. The servers that a job names are
//! replaced by one on loopback, and the objects of a store by files; nothing else is.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use gdal::raster::{Buffer, GdalType};
use gdal::spatial_ref::SpatialRef;
use gdal::{Dataset, DatasetOptions, DriverManager, GdalOpenFlags};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::bench::{Ended, program, python, shared};

/// The upper left corner of all scenes in EPSG:32632: 8.5276° east, 47.4938° north lie 320 m from it each way, which is
/// (4210000, 2710000) in EPSG:3035.
const CORNER: (f64, f64) = (464_110.0, 5_260_460.0);
const SIZE: usize = 64;

/// A folder with one job.
struct Job {
    folder: TempDir,
    name: &'static str,
}

impl Job {
    fn new(name: &'static str) -> Self {
        let job = Self { folder: tempfile::tempdir().unwrap(), name };
        fs::copy(shared().join(format!("jobs/{name}.toml")), job.path("job.toml")).unwrap();
        job
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn replace(&self, old: &str, new: &str) {
        let text = fs::read_to_string(self.path("job.toml")).unwrap();
        assert!(text.contains(old), "{} has no `{old}`", self.name);
        fs::write(self.path("job.toml"), text.replace(old, new)).unwrap();
    }

    /// Runs it to a good end.
    fn run(&self) {
        let mut command = Command::new(program());
        command.arg("job.toml").current_dir(self.folder.path()).env("TOKEN", "secret");
        Ended::of(&command.output().unwrap()).expect_exit(0);
    }

    /// The value of a band where the scenes have their middle, or that many pixels east of it; NaN for none.
    fn value(&self, file: &str, band: usize, east: f64) -> f64 {
        let file = Dataset::open(self.path(file)).unwrap();
        let g = file.geo_transform().unwrap();
        let middle = match file.spatial_ref().unwrap().auth_code().unwrap() {
            3035 => (4_210_000.0, 2_710_000.0),
            _ => (CORNER.0 + 320.0, CORNER.1 - 320.0),
        };
        let (col, row) = ((middle.0 + east * 10.0 - g[0]) / g[1], (middle.1 - g[3]) / g[5]);
        let band = file.rasterband(band).unwrap();
        let pixel =
            band.read_as::<f64>((col as isize, row as isize), (1, 1), (1, 1), None).unwrap().data()[0];
        if band.no_data_value().is_some_and(|nodata| nodata == pixel) { f64::NAN } else { pixel }
    }

    /// The rows of a Parquet file, read by another library than the one that wrote them.
    fn rows(&self, file: &str) -> Vec<Json> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/rows.py");
        let told = told(Command::new(python()).arg(script).arg(self.path(file)));
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The catalogue behind a STAC API, in place of the server with this address.
    fn served(&self, address: &str, token: Option<&str>) -> Api {
        self.catalogue("items.json");
        let area = json!({ "type": "Polygon", "coordinates": [[[8.4, 47.3], [8.7, 47.3], [8.7, 47.7], [8.4, 47.3]]] });
        fs::write(self.path("aoi.geojson"), area.to_string()).unwrap();
        let api = Api::start(self.folder.path(), token);
        self.replace(address, &format!("http://127.0.0.1:{}", api.port));
        // The catalogue of the small scenes lies elsewhere than that of the job.
        let text = fs::read_to_string(self.path("job.toml")).unwrap();
        fs::write(self.path("job.toml"), text.replace("[10.0, 47.0, 11.0, 48.0]", "[8.0, 47.0, 9.0, 48.0]"))
            .unwrap();
        api
    }

    /// A catalogue of two clear scenes and a cloudy one, each of four reflectances, classes and whatever else is asked for.
    fn catalogue(&self, at: &str) {
        let scenes = [
            ("a", "2024-06-05T10:00:00Z", 10, 1000),
            ("b", "2024-06-20T10:00:00Z", 15, 2000),
            ("cloudy", "2024-06-25T10:00:00Z", 90, 9000),
        ];
        let features: Vec<Json> = scenes.iter().map(|scene| self.item(*scene)).collect();
        let items = json!({ "type": "FeatureCollection", "features": features });
        fs::create_dir_all(self.path(at).parent().unwrap()).unwrap();
        fs::write(self.path(at), items.to_string()).unwrap();
    }

    fn item(&self, (id, datetime, clouds, red): (&str, &str, u32, u16)) -> Json {
        let bands: [(&str, u16, f64, f64); 8] = [
            ("red", red, 0.0001, 0.0),
            ("green", 500, 0.0001, 0.0),
            ("blue", 400, 0.0001, 0.0),
            ("nir", 3 * red, 0.0001, 0.0),
            // Vegetation, and clouds in the cloudy scene.
            ("scl", if clouds > 50 { 9 } else { 4 }, 1.0, 0.0),
            ("lwir11", 40_000, 0.00341802, 149.0),
            ("qa_pixel", if clouds > 50 { 8 } else { 64 }, 1.0, 0.0),
            ("visual", 77, 1.0, 0.0),
        ];
        let asset = |(name, value, scale, offset): &(&str, u16, f64, f64)| {
            let path = self.path(&format!("scenes/{id}_{name}.tif"));
            match *name {
                "visual" => write(&path, *value as u8, 3),
                _ => write(&path, *value, 1),
            }
            let band = json!({ "scale": scale, "offset": offset });
            let href = format!("BASE/scenes/{id}_{name}.tif");
            ((*name).to_owned(), json!({ "href": href, "raster:bands": [band] }))
        };
        let assets: serde_json::Map<String, Json> = bands.iter().map(asset).collect();
        let ring = [[8.5, 47.4], [8.6, 47.4], [8.6, 47.6], [8.5, 47.6], [8.5, 47.4]];
        json!({
            "type": "Feature", "stac_version": "1.0.0", "id": id, "collection": "sentinel-2-l2a", "links": [],
            "geometry": { "type": "Polygon", "coordinates": [ring] }, "bbox": [8.5, 47.4, 8.6, 47.6],
            "properties": { "datetime": datetime, "eo:cloud_cover": clouds, "proj:epsg": 32632 },
            "assets": assets,
        })
    }
}

/// A STAC API over a folder; it ends with the value.
struct Api {
    server: Child,
    port: u16,
}

impl Api {
    fn start(folder: &Path, token: Option<&str>) -> Self {
        let mut command = Command::new(python());
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/stac_api.py")).arg(folder);
        match token {
            Some(token) => command.env("TOKEN", token),
            None => command.env_remove("TOKEN"),
        };
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { server, port: line.trim().parse().unwrap() }
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        self.server.wait().unwrap();
    }
}

/// What a program says that must end well.
#[track_caller]
fn told(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A raster of one value.
fn write<T: GdalType + Copy>(path: &Path, value: T, bands: usize) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
    let mut file = driver.create_with_band_type::<T, _>(path, SIZE, SIZE, bands).unwrap();
    file.set_geo_transform(&[CORNER.0, 10.0, 0.0, CORNER.1, 0.0, -10.0]).unwrap();
    file.set_spatial_ref(&SpatialRef::from_epsg(32632).unwrap()).unwrap();
    for band in 1..=bands {
        let mut band = file.rasterband(band).unwrap();
        band.set_no_data_value(Some(0.0)).unwrap();
        band.write((0, 0), (SIZE, SIZE), &mut Buffer::new((SIZE, SIZE), vec![value; SIZE * SIZE])).unwrap();
    }
    file.close().unwrap();
}

/// A raster of one band of floats, by the places of its pixels.
fn write_values(path: &Path, value: impl Fn(usize) -> f32) {
    write(path, 0_f32, 1);
    let options = DatasetOptions { open_flags: GdalOpenFlags::GDAL_OF_UPDATE, ..DatasetOptions::default() };
    let file = Dataset::open_ex(path, options).unwrap();
    let values = (0..SIZE * SIZE).map(value).collect();
    file.rasterband(1).unwrap().write((0, 0), (SIZE, SIZE), &mut Buffer::new((SIZE, SIZE), values)).unwrap();
    file.close().unwrap();
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-5, "{found}, expected {expected}");
}

#[test]
fn j01_ndvi_of_clear_pixels() {
    let job = Job::new("01-ndvi-sentinel2");
    let _api = job.served("https://stac.example/v1", None);
    job.run();
    // (3 − 1) / (3 + 1) whatever the scale; the search leaves the cloudy scene out.
    near(job.value("out/2024/06/a_ndvi.tif", 1, 0.0), 0.5);
    near(job.value("out/2024/06/b_ndvi.tif", 1, 0.0), 0.5);
    assert!(!job.path("out/2024/06/cloudy_ndvi.tif").exists());
}

#[test]
fn j02_the_median_of_a_month() {
    let job = Job::new("02-monthly-median");
    let _api = job.served("https://stac.example/v1", None);
    job.run();
    // Red is 1000 and 2000, nir three times that, and the cloudy day does not count.
    assert_eq!(
        [1, 2, 3, 4].map(|band| job.value("out/2024-06.tif", band, 0.0)),
        [1500.0, 500.0, 400.0, 4500.0]
    );
    assert!(job.value("out/2024-06.tif", 1, 500.0).is_nan());
}

#[test]
fn j03_elevations_on_tiles_of_a_grid() {
    let job = Job::new("03-dem-batch");
    write(&job.path("dem/north/one.tif"), 700_i16, 1);
    job.run();
    let index = job.rows("out/index.parquet");
    let [tile] = index.as_slice() else { panic!("one tile: {index:?}") };
    // 30 m × 2048 pixels: the tile holds (4210000, 2710000).
    near(job.value(tile["location"].as_str().unwrap(), 1, 0.0), 700.0);
    assert_eq!(tile["crs"], "EPSG:3035");
}

#[test]
fn j04_statistics_of_windows() {
    let job = Job::new("04-window-statistics");
    job.replace("s3://scenes/big.tif", "big.tif");
    write(&job.path("big.tif"), 12_u16, 1);
    job.run();
    let rows = job.rows("out/windows.parquet");
    let row = &rows[0];
    assert_eq!((rows.len(), &row["count"], &row["total"]), (1, &json!(4096), &json!(4096)));
    assert_eq!((&row["mean"], &row["std"], &row["min"]), (&json!(12.0), &json!(0.0), &json!(12.0)));
}

#[test]
fn j05_statistics_of_fields() {
    let job = Job::new("05-fields");
    let _api = job.served("https://stac.example/v1", None);
    // 20 × 10 pixels of the scene in its own system.
    let (west, north) = (CORNER.0 + 100.0, CORNER.1 - 100.0);
    let (east, south) = (west + 200.0, north - 100.0);
    let ring = [[west, south], [east, south], [east, north], [west, north], [west, south]];
    let field = json!({ "type": "Feature", "properties": { "field_id": "f7" }, "geometry": { "type": "Polygon", "coordinates": [ring] } });
    let crs = json!({ "type": "name", "properties": { "name": "EPSG:32632" } });
    let fields = json!({ "type": "FeatureCollection", "crs": crs, "features": [field] });
    fs::write(job.path("fields.geojson"), fields.to_string()).unwrap();
    told(Command::new("ogr2ogr").arg(job.path("fields.gpkg")).arg(job.path("fields.geojson")));
    job.run();
    let rows = job.rows("out/fields.parquet");
    // A row for each of the two clear days.
    assert_eq!(rows.len(), 2, "{rows:?}");
    for row in &rows {
        assert_eq!((&row["zone"], &row["count"], &row["total"]), (&json!("f7"), &json!(200), &json!(200)));
        near(row["mean"].as_f64().unwrap(), 0.5);
        near(row["p90"].as_f64().unwrap(), 0.5);
    }
}

#[test]
fn j06_degrees_celsius_of_clear_pixels() {
    let job = Job::new("06-landsat-temperature");
    let _api = job.served("https://stac.example/v1", None);
    job.replace("landsat-c2l2-st", "sentinel-2-l2a");
    job.replace("2024-07-01/2024-07-31", "2024-06-01/2024-06-30");
    job.run();
    near(job.value("out/a_celsius.tif", 1, 0.0), 40_000.0 * 0.003_418_02 + 149.0 - 273.15);
    assert!(job.value("out/cloudy_celsius.tif", 1, 0.0).is_nan(), "bit 3 is a cloud");
}

/// Splits a tile at a threshold, with numpy.
const SEGMENT: &str = r#"
import sys
import numpy, rasterio
with rasterio.open(sys.argv[1]) as tile:
    profile, values = tile.profile, tile.read(1)
with rasterio.open(sys.argv[2], "w", **profile) as segments:
    segments.write(numpy.where(values > 6, 2, 1).astype(values.dtype), 1)
"#;

#[test]
fn j07_a_program_of_the_user_s_on_each_tile() {
    let job = Job::new("07-own-script");
    job.replace("\"python\"", &format!("\"{}\"", python().display()));
    fs::write(job.path("segment.py"), SEGMENT).unwrap();
    fs::write(job.path("model.pt"), "weights").unwrap();
    for (tile, value) in [("p", 5_u8), ("q", 7)] {
        write(&job.path(&format!("in/{tile}.tif")), value, 1);
    }
    job.run();
    assert_eq!(["p", "q"].map(|tile| job.value(&format!("out/{tile}_segments.tif"), 1, 0.0)), [1.0, 2.0]);
}

/// The three products by GDAL.
const TERRAIN: &str = r#"set -e
gdaldem hillshade -q -az 315 -alt 45 "$1" "$2"
gdaldem slope -q "$1" "$3"
gdaldem roughness -q "$1" "$4"
"#;

#[test]
fn j08_three_programs_on_one_read() {
    let job = Job::new("08-terrain");
    // Three bands of bytes and floats do not go into one file, so the hillshade becomes a float as well.
    fs::write(
        job.path("terrain.sh"),
        format!("{TERRAIN}gdal_translate -q -ot Float32 \"$2\" \"$2.tif\"\nmv \"$2.tif\" \"$2\"\n"),
    )
    .unwrap();
    // A plane that rises 10 m to the east in each pixel of 10 m.
    write_values(&job.path("dem/t.tif"), |place| 100.0 + 10.0 * (place % SIZE) as f32);
    job.run();
    let value = |band| job.value("out/t_terrain.tif", band, 0.0);
    // Light from the north-west at 45°, on a slope of 45° towards the west: 1 + 254 × (sin 45° + cos 45° × sin 45°) / √2.
    let light = (0.5_f64.sqrt() + 0.5_f64.sqrt() * 0.5_f64.sqrt()) * 0.5_f64.sqrt();
    assert!((value(1) - (1.0 + 254.0 * light)).abs() <= 1.0, "{} {light}", value(1));
    near(value(2), 45.0);
    near(value(3), 20.0);
}

#[test]
fn j09_previews_of_a_catalogue() {
    let job = Job::new("09-previews");
    job.catalogue("catalogue/items.json");
    let items = fs::read_to_string(job.path("catalogue/items.json")).unwrap();
    let api = Api::start(job.folder.path(), None);
    fs::write(
        job.path("catalogue/items.json"),
        items.replace("BASE", &format!("http://127.0.0.1:{}", api.port)),
    )
    .unwrap();
    job.run();
    let picture = Dataset::open(job.path("previews/b.png")).unwrap();
    assert_eq!((picture.raster_size(), picture.raster_count()), ((SIZE, SIZE), 3));
    let pixels = picture.rasterband(2).unwrap().read_band_as::<u8>().unwrap();
    assert!(pixels.data().iter().all(|byte| *byte == 77));
}

#[test]
fn j10_every_night_what_is_new() {
    let job = Job::new("10-nightly");
    let api = job.served("https://provider.example/stac", Some("secret"));
    let text = fs::read_to_string(job.path("job.toml")).unwrap();
    fs::write(
        job.path("job.toml"),
        text.replace("https://provider.example", &format!("http://127.0.0.1:{}", api.port)),
    )
    .unwrap();
    job.replace("\"scenes\"]", "\"sentinel-2-l2a\"]");
    job.run();
    // 0.5 divided by the scale of 0.0001.
    near(job.value("out/a.tif", 1, 0.0), 5000.0);
    assert_eq!(job.rows("out/index.parquet").len(), 3);
    let before = fs::metadata(job.path("out/a.tif")).unwrap().modified().unwrap();
    job.run();
    assert_eq!(fs::metadata(job.path("out/a.tif")).unwrap().modified().unwrap(), before, "nothing is new");
}
