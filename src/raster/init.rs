//! Prepares GDAL once for the whole process: what it may open, how much it may keep, and that it is quiet.

use std::sync::OnceLock;

use gdal::DriverManager;
use gdal::config::set_config_option;

use super::{ffi, message};

/// Formats that open from disk.
pub(super) const LOCAL_FORMATS: &[&str] =
    &["GTiff", "COG", "JP2OpenJPEG", "PNG", "JPEG", "WEBP", "HFA", "AAIGrid", "VRT"];

/// Formats that open from bytes of somewhere else: none that can name another file.
pub(super) const FOREIGN_FORMATS: &[&str] = &["GTiff", "JP2OpenJPEG", "PNG", "JPEG", "WEBP", "AAIGrid"];

/// Formats that GDAL is left with beside those that open: arrays in memory, and vectors.
const FURTHER_FORMATS: &[&str] =
    &["MEM", "Memory", "GeoJSON", "GeoJSONSeq", "GPKG", "FlatGeobuf", "ESRI Shapefile"];

/// Options of the process, by name; an option of the environment gives way.
const OPTIONS: &[(&str, &str)] = &[
    // Every thread is counted by the engine.
    ("GDAL_NUM_THREADS", "1"),
    // No `.aux.xml` beside inputs.
    ("GDAL_PAM_ENABLED", "NO"),
    // A damaged JPEG tile is an error and no grey area.
    ("GDAL_ERROR_ON_LIBJPEG_WARNING", "YES"),
    // Overviews that no file holds would be decoded at full cost.
    ("GTIFF_IMPLICIT_JPEG_OVR", "NO"),
    // GDAL's own HTTP opens this one name, which does not exist.
    ("CPL_VSIL_CURL_ALLOWED_FILENAME", "none"),
];

/// Prepares GDAL and gives its block cache so many bytes (the run-time form of `GDAL_CACHEMAX`). May be called again with another size.
pub fn initialise(cache_bytes: u64) {
    ready();
    ffi::process::resize_block_cache(cache_bytes);
}

/// Prepares GDAL if nobody has.
pub(super) fn ready() {
    static READY: OnceLock<()> = OnceLock::new();
    READY.get_or_init(|| {
        ffi::process::give_large_buffers_back();
        for (name, value) in OPTIONS {
            set_config_option(name, value).expect("names and values hold no zero byte");
        }
        message::collect();
        ffi::process::forbid_projection_downloads();
        drop_other_drivers();
    });
}

/// Takes every driver away that is not listed, so that none can be reached through a VRT or a sniffed header.
fn drop_other_drivers() {
    let listed = |name: &str| LOCAL_FORMATS.contains(&name) || FURTHER_FORMATS.contains(&name);
    let others: Vec<_> = (0..DriverManager::count())
        .filter_map(|index| DriverManager::get_driver(index).ok())
        .filter(|driver| !listed(&driver.short_name()))
        .collect();
    others.iter().for_each(DriverManager::deregister_driver);
}
