//! Small raster files for tests, written by GDAL from values that the test states.

use std::path::{Path, PathBuf};

use gdal::raster::{Buffer, ColorInterpretation, GdalType, RasterCreationOptions};
use gdal::spatial_ref::SpatialRef;
use gdal::{Dataset, DriverManager, Metadata};

/// A GeoTIFF to be written: `height` × `width` values a band, row by row.
pub(crate) struct Sample<T> {
    /// Columns and rows.
    pub(crate) size: (usize, usize),
    /// Values of each band.
    pub(crate) bands: Vec<Vec<T>>,
    /// Edge of a pixel in metres; the upper left corner is at (500000, 4000000) of EPSG:32632 or `epsg`.
    pub(crate) pixel: f64,
    /// The code of the CRS.
    pub(crate) epsg: u32,
    /// GDAL's creation options.
    pub(crate) options: Vec<(&'static str, &'static str)>,
    /// The nodata value of all bands.
    pub(crate) nodata: Option<f64>,
    /// The mask of the file: 0 or 255.
    pub(crate) mask: Option<Vec<u8>>,
    /// Scale and offset of all bands.
    pub(crate) scaling: Option<(f64, f64)>,
    /// What bands are called.
    pub(crate) descriptions: Vec<&'static str>,
    /// The last band is alpha.
    pub(crate) has_alpha: bool,
    /// Levels of overviews.
    pub(crate) overviews: Vec<i32>,
}

impl<T: GdalType + Copy> Sample<T> {
    /// Bands of 10 m pixels and nothing else.
    pub(crate) fn new(size: (usize, usize), bands: Vec<Vec<T>>) -> Self {
        Self {
            size,
            bands,
            pixel: 10.0,
            epsg: 32632,
            options: Vec::new(),
            nodata: None,
            mask: None,
            scaling: None,
            descriptions: Vec::new(),
            has_alpha: false,
            overviews: Vec::new(),
        }
    }

    /// In tiles of 16 × 16 pixels, with these further options.
    pub(crate) fn tiled(mut self, options: &[(&'static str, &'static str)]) -> Self {
        self.options = vec![("TILED", "YES"), ("BLOCKXSIZE", "16"), ("BLOCKYSIZE", "16")];
        self.options.extend(options);
        self
    }

    /// Writes the file into a folder.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> PathBuf {
        super::init::ready();
        let path = folder.join(name);
        gdal::config::set_thread_local_config_option("GDAL_TIFF_INTERNAL_MASK", "YES").unwrap();
        let mut options = RasterCreationOptions::new();
        self.options.iter().for_each(|(key, value)| options.set_name_value(key, value).unwrap());
        let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
        let (width, height) = self.size;
        let mut dataset = driver
            .create_with_band_type_with_options::<T, _>(&path, width, height, self.bands.len(), &options)
            .unwrap();
        self.fill(&mut dataset);
        dataset.close().unwrap();
        path
    }

    fn fill(&self, dataset: &mut Dataset) {
        dataset.set_geo_transform(&[500_000.0, self.pixel, 0.0, 4_000_000.0, 0.0, -self.pixel]).unwrap();
        dataset.set_spatial_ref(&SpatialRef::from_epsg(self.epsg).unwrap()).unwrap();
        if self.mask.is_some() {
            dataset.rasterband(1).unwrap().create_mask_band(true).unwrap();
        }
        for (index, values) in self.bands.iter().enumerate() {
            let mut band = dataset.rasterband(index + 1).unwrap();
            if self.nodata.is_some() {
                band.set_no_data_value(self.nodata).unwrap();
            }
            if let Some((scale, offset)) = self.scaling {
                band.set_scale(scale).unwrap();
                band.set_offset(offset).unwrap();
            }
            if let Some(description) = self.descriptions.get(index) {
                band.set_description(description).unwrap();
            }
            if self.has_alpha && index + 1 == self.bands.len() {
                band.set_color_interpretation(ColorInterpretation::AlphaBand).unwrap();
            }
            band.write((0, 0), self.size, &mut Buffer::new(self.size, values.clone())).unwrap();
        }
        if let Some(mask) = &self.mask {
            let band = dataset.rasterband(1).unwrap();
            let mut mask_band = band.open_mask_band().unwrap();
            mask_band.write((0, 0), self.size, &mut Buffer::new(self.size, mask.clone())).unwrap();
        }
        if !self.overviews.is_empty() {
            dataset.flush_cache().unwrap();
            dataset.build_overviews("NEAREST", &self.overviews, &[]).unwrap();
        }
    }
}
