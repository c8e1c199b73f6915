//! Settings of the libraries that hold for the whole process.

/// Forbids PROJ to download grids, whatever the environment says.
pub(in crate::raster) fn forbid_projection_downloads() {
    // SAFETY: the call takes a plain integer and sets a flag of the library.
    unsafe { gdal_sys::OSRSetPROJEnableNetwork(0) };
}

/// Gives GDAL's block cache so many bytes.
pub(in crate::raster) fn resize_block_cache(bytes: u64) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    // SAFETY: the call takes a plain integer, under a lock of GDAL's own.
    unsafe { gdal_sys::GDALSetCacheMax64(bytes) };
}
