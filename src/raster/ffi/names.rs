//! What a band calls its type and its classes.

use std::ffi::CStr;

use gdal::raster::RasterBand;

/// GDAL's name of the type of a pixel, complex types included: `Byte`, `CInt16`, …
pub(in crate::raster) fn type_name(band: &RasterBand<'_>) -> String {
    // SAFETY: the band's handle lives as long as `band`; the name of a type that GDAL itself gave is a constant of
    // the library, and null for none.
    unsafe {
        let name = gdal_sys::GDALGetDataTypeName(gdal_sys::GDALGetRasterDataType(band.c_rasterband()));
        name.as_ref().map(|name| CStr::from_ptr(name).to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// The names of a band's classes, by pixel value; empty where it states none.
pub(in crate::raster) fn category_names(band: &RasterBand<'_>) -> Vec<String> {
    // SAFETY: the band's handle lives as long as `band`. GDAL owns the list, which is null or ends with a null
    // pointer, and leaves it in place until the band changes; it is copied here.
    unsafe {
        let list = gdal_sys::GDALGetRasterCategoryNames(band.c_rasterband());
        let mut names = Vec::new();
        while let Some(name) = list.as_ref().and_then(|_| list.add(names.len()).read().as_ref()) {
            names.push(CStr::from_ptr(name).to_string_lossy().into_owned());
        }
        names
    }
}
