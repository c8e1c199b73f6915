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

/// Buffers from this size on are mapped for themselves, so that they go back to the system when they are dropped.
const MAPPED_FROM: i32 = 256 << 10;

/// Keeps glibc from holding on to the buffers of images. By itself it raises that size to that of the largest buffer
/// dropped so far, up to 32 MiB, and images of many sizes then leave holes that stay resident (`mallopt(3)`): the peak
/// of the main job on 16 scenes was more than twice as high.
#[cfg(target_env = "gnu")]
pub(in crate::raster) fn give_large_buffers_back() {
    // SAFETY: `mallopt` takes two integers, may be called at any time, and says by its result whether it took them.
    let is_taken = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM) } == 1;
    if !is_taken {
        tracing::debug!("the allocator keeps its own threshold");
    }
}

/// Other allocators give large buffers back by themselves.
#[cfg(not(target_env = "gnu"))]
pub(in crate::raster) fn give_large_buffers_back() {}
