//! Reads a rectangle of one band into a part of an array, and asks now and then whether to go on.

use std::ffi::{c_char, c_int, c_void};

use gdal::raster::RasterBand;
use gdal_sys::{CPLErr, GDALRIOResampleAlg, GDALRWFlag, GDALRasterIOExtraArg};
use ndarray::ArrayViewMut2;

use crate::raster::{Pixel, Window};

/// What stops a read that was begun; asked by GDAL through its progress callback.
pub(in crate::raster) type Cancelled<'a> = &'a dyn Fn() -> bool;

/// Fills `target` (the window's rows × columns, columns adjacent) with the band's own values, unconverted.
///
/// False when GDAL failed or was stopped; its messages tell the cause.
///
/// # Panics
/// When a pixel of the band has another size than `T`, or the target another form than the window.
pub(in crate::raster) fn read_into<T: Pixel>(
    band: &RasterBand<'_>,
    window: &Window,
    mut target: ArrayViewMut2<'_, T>,
    cancelled: Cancelled<'_>,
) -> bool {
    let data_type = data_type_of::<T>(band);
    assert_eq!(target.dim(), (window.height as usize, window.width as usize));
    if target.is_empty() {
        return true;
    }
    let [line, column] = [target.strides()[0], target.strides()[1]];
    assert!(window.width == 1 || column == 1, "the columns of a row are adjacent");
    assert!(window.height == 1 || line >= window.width as isize, "rows do not overlap");
    let Some([col, row, width, height]) = as_ints(window) else { return false };
    let mut arguments = GDALRasterIOExtraArg {
        nVersion: 1,
        eResampleAlg: GDALRIOResampleAlg::GRIORA_NearestNeighbour,
        pfnProgress: Some(go_on),
        pProgressData: (&raw const cancelled).cast_mut().cast(),
        bFloatingPointWindowValidity: 0,
        dfXOff: 0.0,
        dfYOff: 0.0,
        dfXSize: 0.0,
        dfYSize: 0.0,
    };
    // SAFETY: the band's handle lives as long as `band`. The view covers `height` rows of `width` pixels, `line`
    // pixels apart, each of the size of GDAL's type, and is borrowed mutably for the call. `arguments` and
    // `cancelled` outlive the call, and GDAL hands the latter to `go_on` alone.
    let status = unsafe {
        gdal_sys::GDALRasterIOEx(
            band.c_rasterband(),
            GDALRWFlag::GF_Read,
            col,
            row,
            width,
            height,
            target.as_mut_ptr().cast::<c_void>(),
            width,
            height,
            data_type,
            size_of::<T>() as i64,
            line as i64 * size_of::<T>() as i64,
            &raw mut arguments,
        )
    };
    status == CPLErr::CE_None
}

/// The band's own type, so that GDAL converts nothing.
fn data_type_of<T>(band: &RasterBand<'_>) -> gdal_sys::GDALDataType::Type {
    // SAFETY: the band's handle lives as long as `band`; both calls only look.
    let (data_type, bytes) = unsafe {
        let data_type = gdal_sys::GDALGetRasterDataType(band.c_rasterband());
        (data_type, gdal_sys::GDALGetDataTypeSizeBytes(data_type))
    };
    assert_eq!(bytes as usize, size_of::<T>(), "the array's type is chosen by the band's");
    data_type
}

fn as_ints(window: &Window) -> Option<[c_int; 4]> {
    let int = |value: u64| c_int::try_from(value).ok();
    Some([int(window.col)?, int(window.row)?, int(window.width)?, int(window.height)?])
}

/// GDAL's progress callback: 1 to go on, 0 to stop.
extern "C" fn go_on(_complete: f64, _message: *const c_char, cancelled: *mut c_void) -> c_int {
    // SAFETY: `read_into` passes a pointer to its `Cancelled`, which lives until the read returns.
    let cancelled = unsafe { *cancelled.cast::<Cancelled<'_>>() };
    c_int::from(!cancelled())
}
