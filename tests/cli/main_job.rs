//! `pipelines/ndvi.toml` on served scenes, against the same sums done by hand in this file.

use std::fs;
use std::path::Path;

use gdal::Dataset;
use gdal::spatial_ref::{AxisMappingStrategy, CoordTransform, SpatialRef};

use crate::job::{Job, sample};
use crate::server::Server;

/// The warp's coordinates are off by this many source pixels at most, on each axis.
const REACH: f64 = 1.0 / 64.0;

#[test]
fn the_warped_index_is_what_bilinear_interpolation_at_exact_places_gives() {
    for scene in ["scene-a.tif", "scene-d.tif"] {
        let job = Job::new("");
        let server = Server::start(sample(scene).parent().unwrap()).unwrap();
        fs::write(job.path("scenes.txt"), server.url(scene)).unwrap();
        let pipeline = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/ndvi.toml");
        fs::create_dir(job.path("pipelines")).unwrap();
        fs::copy(pipeline, job.path("pipelines/ndvi.toml")).unwrap();

        job.gisrun(&["pipelines/ndvi.toml", "--set", "list=scenes.txt", "--set", "out=out"]).expect_exit(0);

        let output = job.path("out").join(scene.replace(".tif", "_ndvi.tif"));
        let compared = Source::open(&sample(scene)).compare(&Dataset::open(output).unwrap());
        assert!(
            compared > 30_000,
            "{scene}: {compared} pixels compared, of 256 × 256 of which 6 in 7 hold data"
        );
    }
}

/// The index of a scene before the warp: `None` where the scene has no data.
struct Source {
    width: isize,
    height: isize,
    index: Vec<Option<f64>>,
    geotransform: [f64; 6],
    crs: SpatialRef,
}

impl Source {
    fn open(path: &Path) -> Self {
        let file = Dataset::open(path).unwrap();
        let stored = |band| file.rasterband(band).unwrap().read_band_as::<u16>().unwrap().data().to_vec();
        let index = stored(3).into_iter().zip(stored(4)).map(|(red, nir)| {
            let (red, nir) = (f64::from(red), f64::from(nir));
            (red != 0.0 && nir != 0.0).then(|| f64::from(((nir - red) / (nir + red)) as f32))
        });
        let (width, height) = file.raster_size();
        Self {
            width: width as isize,
            height: height as isize,
            index: index.collect(),
            geotransform: file.geo_transform().unwrap(),
            crs: file.spatial_ref().unwrap(),
        }
    }

    /// Compares every pixel of the output that stands well inside or outside the data; how many had data.
    fn compare(&self, output: &Dataset) -> usize {
        let mut target = output.spatial_ref().unwrap();
        assert_eq!(target.auth_code().unwrap(), 3857);
        target.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
        let to_source = CoordTransform::new(&target, &self.crs).unwrap();
        let (width, height) = output.raster_size();
        let values = output.rasterband(1).unwrap().read_band_as::<f32>().unwrap().data().to_vec();
        let [west, across, _, north, _, down] = output.geo_transform().unwrap();
        let mut compared = 0;
        for row in 0..height {
            let mut x: Vec<f64> = (0..width).map(|col| west + (col as f64 + 0.5) * across).collect();
            let mut y = vec![north + (row as f64 + 0.5) * down; width];
            to_source.transform_coords(&mut x, &mut y, &mut []).unwrap();
            for col in 0..width {
                let got = f64::from(values[row * width + col]);
                let place = self.pixel_at(x[col], y[col]);
                if self.is_clear_cut(place) {
                    compared += usize::from(self.assert_is(got, place));
                }
            }
        }
        compared
    }

    /// A place in source pixels.
    fn pixel_at(&self, x: f64, y: f64) -> (f64, f64) {
        let [west, across, _, north, _, down] = self.geotransform;
        ((x - west) / across, (y - north) / down)
    }

    fn value(&self, col: isize, row: isize) -> Option<f64> {
        let is_inside = (0..self.width).contains(&col) && (0..self.height).contains(&row);
        if is_inside { self.index[(row * self.width + col) as usize] } else { None }
    }

    /// Whether the pixel beneath is the same anywhere in reach, so that it is clear whether there is data.
    fn is_clear_cut(&self, (u, v): (f64, f64)) -> bool {
        let is_inner = |at: f64| (at - at.round()).abs() > REACH;
        is_inner(u) && is_inner(v)
    }

    /// Fails unless the value is that of the place; whether there is one.
    fn assert_is(&self, got: f64, (u, v): (f64, f64)) -> bool {
        let Some(_) = self.value(u.floor() as isize, v.floor() as isize) else {
            assert!(got.is_nan(), "{got} at ({u}, {v}), where there is no data");
            return false;
        };
        let (expected, range) = self.bilinear(u, v);
        // A weight moves by the reach on each axis; the pixel beneath has at least a quarter of all weights, so that the
        // sum of the valid ones, by which they are divided, is no smaller.
        let tolerance = 1e-6 + 4.0 * 2.0 * REACH * range;
        assert!((got - expected).abs() <= tolerance, "{got} for {expected} ± {tolerance} at ({u}, {v})");
        true
    }

    /// The mean of the four nearest pixels that have data, weighted by nearness, and how far those around differ.
    fn bilinear(&self, u: f64, v: f64) -> (f64, f64) {
        let (left, top) = ((u - 0.5).floor(), (v - 0.5).floor());
        let (right_part, lower_part) = (u - 0.5 - left, v - 0.5 - top);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (row, down) in [(0, 1.0 - lower_part), (1, lower_part)] {
            for (col, across) in [(0, 1.0 - right_part), (1, right_part)] {
                if let Some(value) = self.value(left as isize + col, top as isize + row) {
                    sum += down * across * value;
                    weights += down * across;
                }
            }
        }
        (sum / weights, self.range_around(left as isize, top as isize))
    }

    fn range_around(&self, left: isize, top: isize) -> f64 {
        let around = (-1..=2).flat_map(|row| (-1..=2).map(move |col| (left + col, top + row)));
        let values = around.filter_map(|(col, row)| self.value(col, row));
        let (low, high) =
            values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        high - low
    }
}
