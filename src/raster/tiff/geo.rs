//! Where the image lies: the affine transform as TIFF fields, and the keys of its system as GDAL writes them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use gdal::DriverManager;
use gdal::errors::GdalError;

use super::TiffError;
use super::check::Reader;
use super::directory::{Field, Value};
use crate::raster::{Crs, Grid};

/// Transform and keys of one grid.
#[derive(Debug)]
pub(super) struct GeoFields {
    transform: Vec<Field>,
    keys: Arc<Vec<Field>>,
}

/// Keys by system; a run knows few.
static KEYS: LazyLock<Mutex<HashMap<Crs, Arc<Vec<Field>>>>> = LazyLock::new(Mutex::default);

/// How many systems are remembered.
const REMEMBERED: usize = 64;

impl GeoFields {
    /// The fields of a grid; none without a system and with the identity transform.
    pub(super) fn of(grid: &Grid) -> Result<Self, TiffError> {
        let keys = grid.crs.as_ref().map(keys_of).transpose()?.unwrap_or_default();
        let says_nothing = grid.crs.is_none() && grid.geotransform == [0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let transform = if says_nothing { Vec::new() } else { transform(&grid.geotransform) };
        Ok(Self { transform, keys })
    }

    /// Transform and keys.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field> {
        self.transform.iter().chain(self.keys.iter()).cloned()
    }
}

/// ModelPixelScale and ModelTiepoint for north-up grids, ModelTransformation for all others (OGC 19-008, 7.1).
fn transform(g: &[f64; 6]) -> Vec<Field> {
    if g[2] == 0.0 && g[4] == 0.0 && g[1] > 0.0 && g[5] < 0.0 {
        return vec![
            (33550, Value::Double(vec![g[1], -g[5], 0.0])),
            (33922, Value::Double(vec![0.0, 0.0, 0.0, g[0], g[3], 0.0])),
        ];
    }
    let rows = [[g[1], g[2], 0.0, g[0]], [g[4], g[5], 0.0, g[3]], [0.0; 4], [0.0, 0.0, 0.0, 1.0]];
    vec![(34264, Value::Double(rows.as_flattened().to_vec()))]
}

/// GeoKeyDirectory, GeoDoubleParams and GeoAsciiParams of a system.
fn keys_of(crs: &Crs) -> Result<Arc<Vec<Field>>, TiffError> {
    if let Some(keys) = KEYS.lock().unwrap_or_else(PoisonError::into_inner).get(crs) {
        return Ok(keys.clone());
    }
    let keys = Arc::new(written_by_gdal(crs)?);
    let mut known = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= REMEMBERED {
        known.clear();
    }
    known.insert(crs.clone(), keys.clone());
    Ok(keys)
}

/// Lets GDAL write a file of one pixel in this system and takes the keys out of it.
fn written_by_gdal(crs: &Crs) -> Result<Vec<Field>, TiffError> {
    let refuse = |reason: String| TiffError::Crs { name: name_of(crs), reason };
    let bytes = one_pixel(crs).map_err(|error| refuse(error.to_string()))?;
    let keys = Reader::open(&bytes).map(|reader| keys_in(&reader)).map_err(refuse)?;
    // GTModelTypeGeoKey is there whenever GDAL could express the system.
    let is_expressed = |(tag, value): &Field| match value {
        Value::Short(keys) => *tag == 34735 && keys.chunks(4).skip(1).any(|key| key[0] == 1024),
        _ => false,
    };
    if keys.iter().any(is_expressed) { Ok(keys) } else { Err(refuse("GeoTIFF has no keys for it".into())) }
}

fn keys_in(reader: &Reader) -> Vec<Field> {
    let mut fields = Vec::new();
    fields.extend(reader.shorts(34735).map(|keys| (34735, Value::Short(keys))));
    fields.extend(reader.doubles(34736).map(|values| (34736, Value::Double(values))));
    fields.extend(reader.text(34737).map(|text| (34737, Value::Ascii(text))));
    fields
}

fn one_pixel(crs: &Crs) -> Result<Vec<u8>, GdalError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let path = format!("/vsimem/gisrun-geokeys-{}.tif", COUNT.fetch_add(1, Ordering::Relaxed));
    let mut file = DriverManager::get_driver_by_name("GTiff")?.create(&path, 1, 1, 1)?;
    file.set_geo_transform(&[0.0, 1.0, 0.0, 0.0, 0.0, -1.0])?;
    file.set_projection(crs.wkt())?;
    file.close()?;
    // What GDAL cannot put into keys it puts beside the file.
    if let Err(error) = gdal::vsi::unlink_mem_file(format!("{path}.aux.xml")) {
        tracing::trace!(%error, "nothing stands beside the file");
    }
    gdal::vsi::get_vsi_mem_file_bytes_owned(&path)
}

/// The first quoted text of well-known text is the system's name.
fn name_of(crs: &Crs) -> String {
    crs.wkt().split('"').nth(1).unwrap_or(crs.wkt()).to_owned()
}
