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

/// Buffers from this size on are mapped for themselves, so that they go back to the system when they are dropped. A block
/// of 512 × 512 pixels of two bytes lies below: mapping one anew for every window costs more than decoding half of it.
const MAPPED_FROM: i32 = 640 << 10;

/// Keeps glibc from holding on to the buffers of images. By itself it raises that size to that of the largest buffer
/// dropped so far, up to 32 MiB, and images of many sizes then leave holes that stay resident (`mallopt(3)`): the peak
/// of the main job on 16 scenes was more than twice as high. What is smaller is kept for the next block, in one heap a core
/// instead of eight.
#[cfg(target_env = "gnu")]
pub(in crate::raster) fn give_large_buffers_back() {
    let cores = std::thread::available_parallelism()
        .map_or(2, |cores| i32::try_from(cores.get()).unwrap_or(i32::MAX));
    let settings = [
        (libc::M_MMAP_THRESHOLD, MAPPED_FROM),
        (libc::M_TRIM_THRESHOLD, 128 << 10),
        (libc::M_ARENA_MAX, cores.max(2)),
    ];
    for (setting, value) in settings {
        // SAFETY: `mallopt` takes two integers, may be called at any time, and says by its result whether it took them.
        let is_taken = unsafe { libc::mallopt(setting, value) } == 1;
        if !is_taken {
            tracing::debug!(setting, "the allocator keeps its own threshold");
        }
    }
}

/// Other allocators give large buffers back by themselves.
#[cfg(not(target_env = "gnu"))]
pub(in crate::raster) fn give_large_buffers_back() {}
