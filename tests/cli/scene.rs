//! Small rasters made for a test.

use std::path::Path;

use gdal::DriverManager;
use gdal::raster::{Buffer, RasterCreationOptions};
use gdal::spatial_ref::SpatialRef;

/// A raster of pixels of 10 m, its upper left corner at (500000, 4000000), in tiles of 16 × 16.
pub(crate) struct Scene {
    /// Columns, and rows.
    pub(crate) size: usize,
    /// The values of each band, row by row.
    pub(crate) bands: Vec<Vec<u16>>,
    /// The EPSG code of its CRS, if it has one.
    pub(crate) epsg: Option<u32>,
}

impl Scene {
    /// Red 1000 everywhere and near-infrared 3000: an NDVI of (3000 − 1000) / 4000 = 0.5.
    pub(crate) fn meadow() -> Self {
        Self::meadow_of(32)
    }

    /// The same with so many columns and rows.
    pub(crate) fn meadow_of(size: usize) -> Self {
        Self { size, bands: vec![vec![1000; size * size], vec![3000; size * size]], epsg: Some(32633) }
    }

    /// Writes it as a tiled GeoTIFF.
    pub(crate) fn write(&self, path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
        let options = RasterCreationOptions::from_iter(["TILED=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=16"]);
        let mut file = driver
            .create_with_band_type_with_options::<u16, _>(
                path,
                self.size,
                self.size,
                self.bands.len(),
                &options,
            )
            .unwrap();
        file.set_geo_transform(&[500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0]).unwrap();
        if let Some(epsg) = self.epsg {
            file.set_spatial_ref(&SpatialRef::from_epsg(epsg).unwrap()).unwrap();
        }
        for (index, values) in self.bands.iter().enumerate() {
            let mut buffer = Buffer::new((self.size, self.size), values.clone());
            file.rasterband(index + 1).unwrap().write((0, 0), (self.size, self.size), &mut buffer).unwrap();
        }
        file.close().unwrap();
    }
}

/// The pixels of the first band of a file.
pub(crate) fn pixels(path: &Path) -> Vec<f32> {
    let file = gdal::Dataset::open(path).unwrap();
    file.rasterband(1).unwrap().read_band_as::<f32>().unwrap().data().to_vec()
}
