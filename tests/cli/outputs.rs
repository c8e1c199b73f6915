//! The files that come out, seen by GDAL's own reader.

use std::fs;

use gdal::Dataset;
use gdal::Metadata as _;

use crate::job::{Job, sample};

const PIPELINE: &str = r#"
[stages]
scenes  = { glob = { paths = ["in/*.tif"] } }
bands   = { from = "scenes", read = { bands = { red = 3, nir = 4 } } }
ndvi    = { from = "bands", calc = { bands = { ndvi = "(nir - red) / (nir + red)" }, dtype = "float32" } }
encoded = { from = "ndvi", encode = { format = "cog", blocksize = 128 } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
"#;

#[test]
fn gdal_reads_the_outputs_as_cloud_optimised_files_with_the_right_pixels() {
    let job = Job::new(PIPELINE);
    fs::create_dir(job.path("in")).unwrap();
    fs::copy(sample("scene-a.tif"), job.path("in/scene-a.tif")).unwrap();
    job.run().expect_exit(0);

    let output = Dataset::open(job.path("out/scene-a.tif")).unwrap();
    assert_eq!(output.metadata_item("LAYOUT", "IMAGE_STRUCTURE").as_deref(), Some("COG"));
    assert_eq!(output.raster_size(), (256, 256));
    let band = output.rasterband(1).unwrap();
    assert_eq!((band.block_size(), band.overview_count().unwrap()), ((128, 128), 1));
    assert!(band.no_data_value().unwrap().is_nan());

    let input = Dataset::open(job.path("in/scene-a.tif")).unwrap();
    assert_eq!(output.geo_transform().unwrap(), input.geo_transform().unwrap());
    assert_eq!(output.spatial_ref().unwrap(), input.spatial_ref().unwrap());
    let stored = |band| input.rasterband(band).unwrap().read_band_as::<u16>().unwrap().data().to_vec();
    let made = band.read_band_as::<f32>().unwrap();
    for ((red, nir), ndvi) in stored(3).into_iter().zip(stored(4)).zip(made.data()) {
        let (red, nir) = (f64::from(red), f64::from(nir));
        // Both are stored as 0 where the scene has no data.
        let expected = ((nir - red) / (nir + red)) as f32;
        assert!(*ndvi == expected || (ndvi.is_nan() && expected.is_nan()), "{red} {nir}: {ndvi}");
    }
}
