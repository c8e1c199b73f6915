//! Rasters of any size and place, for tests of groups and tables.

use std::path::Path;

use gdal::DriverManager;
use gdal::raster::Buffer;
use gdal::spatial_ref::SpatialRef;

/// A raster of one band of 10 m pixels in EPSG:32633, with the nodata value 0.
pub(crate) struct Raster {
    /// The upper left corner.
    pub(crate) corner: (f64, f64),
    /// Columns × rows.
    pub(crate) size: (usize, usize),
    /// Row by row.
    pub(crate) values: Vec<u16>,
}

impl Raster {
    /// The same value everywhere.
    pub(crate) fn of(value: u16, corner: (f64, f64), size: (usize, usize)) -> Self {
        Self { corner, size, values: vec![value; size.0 * size.1] }
    }

    /// Writes it as a GeoTIFF.
    pub(crate) fn write(&self, path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
        let mut file = driver.create_with_band_type::<u16, _>(path, self.size.0, self.size.1, 1).unwrap();
        file.set_geo_transform(&[self.corner.0, 10.0, 0.0, self.corner.1, 0.0, -10.0]).unwrap();
        file.set_spatial_ref(&SpatialRef::from_epsg(32633).unwrap()).unwrap();
        let mut band = file.rasterband(1).unwrap();
        band.set_no_data_value(Some(0.0)).unwrap();
        band.write((0, 0), self.size, &mut Buffer::new(self.size, self.values.clone())).unwrap();
        file.close().unwrap();
    }
}

/// The upper left corner and the pixels of the first band of a file, row by row.
pub(crate) fn read(path: &Path) -> ((f64, f64), Vec<u16>) {
    let file = gdal::Dataset::open(path).unwrap();
    let geotransform = file.geo_transform().unwrap();
    let pixels = file.rasterband(1).unwrap().read_band_as::<u16>().unwrap();
    ((geotransform[0], geotransform[3]), pixels.data().to_vec())
}
