//! PNG and JPEG, seen by GDAL's own reader.

use gdal::Dataset;

use crate::job::Job;
use crate::rasters::Raster;

const CORNER: (f64, f64) = (500_000.0, 4_000_000.0);

/// A job that makes a picture of 100, 200, 300 and a missing pixel.
fn job(options: &str) -> Job {
    let job = Job::new(&format!(
        r#"
[stages]
files   = {{ list = {{ uris = ["in/scene.tif"] }} }}
bands   = {{ from = "files", read = {{ bands = {{ a = 1 }} }} }}
picture = {{ from = "bands", encode = {{ {options} }} }}
written = {{ from = "picture", write = {{ path = "out/picture" }} }}
"#
    ));
    let values = vec![100, 200, 300, 0];
    Raster { corner: CORNER, size: (4, 1), values }.write(&job.path("in/scene.tif"));
    job
}

fn bands(job: &Job) -> Vec<Vec<u8>> {
    let picture = Dataset::open(job.path("out/picture")).unwrap();
    let band = |number| picture.rasterband(number).unwrap().read_band_as::<u8>().unwrap().data().to_vec();
    (1..=picture.raster_count()).map(band).collect()
}

/// 200 lies in the middle of 100 and 300: 127.5, which rounds up.
#[test]
fn a_png_is_stretched_and_transparent_where_pixels_are_missing() {
    for stretch in ["[100, 300]", "\"min-max\""] {
        let job = job(&format!("format = \"png\", stretch = {stretch}"));
        job.run().expect_exit(0);
        assert_eq!(bands(&job), [[0, 128, 255, 0], [255, 255, 255, 0]], "{stretch}");
    }
}

#[test]
fn a_jpeg_does_not_miss_pixels_unless_they_get_a_colour() {
    let refused = job("format = \"jpeg\", stretch = [100, 300]").run().expect_exit(1);
    refused.line_with(&["1 pixels are missing, which JPEG cannot mark", "background"]);
    let job = job("format = \"jpeg\", stretch = [100, 300], background = [255, 255, 255], quality = 100");
    job.run().expect_exit(0);
    let [band] = bands(&job).try_into().unwrap();
    assert!(band[0] < 20 && band[3] > 235, "{band:?}");
}

#[test]
fn values_that_are_no_bytes_need_a_stretch() {
    job("format = \"png\"").run().expect_exit(1).line_with(&["band `a` is `uint16`; add `stretch"]);
}

#[test]
fn options_of_the_other_formats_are_refused_with_their_place() {
    let of_tiff = job("format = \"png\", compress = \"zstd\"").gisrun(&["check", "job.toml"]).expect_exit(2);
    assert!(of_tiff.stdout.contains("`compress` is an option of a TIFF"), "{}", of_tiff.stdout);
    let of_picture = job("format = \"cog\", stretch = [0, 1]").gisrun(&["check", "job.toml"]).expect_exit(2);
    assert!(of_picture.stdout.contains("`stretch` is an option of a picture"), "{}", of_picture.stdout);
}

#[test]
fn previews_are_small_and_show_what_most_pixels_have() {
    let job = Job::new("");
    let pipeline = include_str!("../../pipelines/previews.toml");
    std::fs::write(job.path("job.toml"), pipeline).unwrap();
    // The columns 1 to 1000, the ends of which are stretched away; 16 rows shrink like 1000 columns do.
    let values = (1..=1000).collect::<Vec<u16>>().repeat(16);
    Raster { corner: CORNER, size: (1000, 16), values }.write(&job.path("in/scene.tif"));
    job.run().expect_exit(0);
    let picture = Dataset::open(job.path("previews/scene.png")).unwrap();
    assert_eq!((picture.raster_size(), picture.raster_count()), ((512, 8), 1));
    let pixels = picture.rasterband(1).unwrap().read_band_as::<u8>().unwrap();
    let row = &pixels.data()[..512];
    assert_eq!((row[0], row[511]), (0, 255));
    assert!(row[255].abs_diff(127) <= 1 && row.is_sorted(), "{row:?}");
}
