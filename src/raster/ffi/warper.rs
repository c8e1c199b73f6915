//! GDAL's coordinate operations, control-point polynomials and its suggestion of a target grid.
//!
//! Handles are neither `Send` nor `Sync`: PROJ keeps state in them. Each thread makes its own.

use std::ffi::{CString, c_int, c_void};
use std::ptr;

use gdal::spatial_ref::SpatialRef;
use gdal::{DriverManager, GeoTransform};

use crate::raster::ControlPoint;

/// While it lives, GDAL prints no errors on this thread: a point outside a projection's domain is no news.
pub(in crate::raster) struct Quiet(());

impl Quiet {
    /// Silences GDAL on this thread.
    pub(in crate::raster) fn new() -> Self {
        // SAFETY: the handler is GDAL's own, takes no user data, and is popped exactly once, in `drop`.
        unsafe { gdal_sys::CPLPushErrorHandler(Some(gdal_sys::CPLQuietErrorHandler)) };
        Self(())
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // SAFETY: pops the handler that `new` pushed; guards end in reverse order of their birth.
        unsafe { gdal_sys::CPLPopErrorHandler() };
    }
}

/// One coordinate operation between two systems.
pub(in crate::raster) struct CoordinateOperation(gdal_sys::OGRCoordinateTransformationH);

impl CoordinateOperation {
    /// The operation from one system to another; `None` where PROJ knows none.
    pub(in crate::raster) fn between(source: &SpatialRef, target: &SpatialRef) -> Option<Self> {
        let _quiet = Quiet::new();
        // SAFETY: both handles live for the call; GDAL clones what it keeps.
        let handle =
            unsafe { gdal_sys::OCTNewCoordinateTransformation(source.to_c_hsrs(), target.to_c_hsrs()) };
        (!handle.is_null()).then_some(Self(handle))
    }

    /// Transforms in place; a point that has no image becomes NaN.
    pub(in crate::raster) fn apply(&self, x: &mut [f64], y: &mut [f64]) {
        assert_eq!(x.len(), y.len(), "one y for each x");
        let _quiet = Quiet::new();
        let mut success = vec![0; x.len()];
        // SAFETY: the handle is live; the arrays hold as many elements as the count says; z may be null.
        unsafe {
            gdal_sys::OCTTransformEx(
                self.0,
                count(x),
                x.as_mut_ptr(),
                y.as_mut_ptr(),
                ptr::null_mut(),
                success.as_mut_ptr(),
            )
        };
        void_failed(x, y, &success);
    }
}

impl Drop for CoordinateOperation {
    fn drop(&mut self) {
        // SAFETY: made by `OCTNewCoordinateTransformation`, destroyed once.
        unsafe { gdal_sys::OCTDestroyCoordinateTransformation(self.0) };
    }
}

/// Polynomials between pixels and coordinates, fitted to control points.
pub(in crate::raster) struct PolynomialFit(*mut c_void);

impl PolynomialFit {
    /// Fits polynomials of an order (1 to 3) by least squares; `None` for too few or collinear points.
    pub(in crate::raster) fn new(points: &[ControlPoint], order: u8) -> Option<Self> {
        let _quiet = Quiet::new();
        let empty = CString::default();
        let list: Vec<_> = points.iter().map(|point| gcp(point, &empty)).collect();
        // SAFETY: GDAL copies the list, texts included, before it returns.
        let handle = unsafe {
            gdal_sys::GDALCreateGCPTransformer(list.len() as c_int, list.as_ptr(), c_int::from(order), 0)
        };
        (!handle.is_null()).then_some(Self(handle))
    }

    /// Transforms in place, pixels to coordinates or, `inverse`, coordinates to pixels.
    pub(in crate::raster) fn apply(&self, inverse: bool, x: &mut [f64], y: &mut [f64]) {
        assert_eq!(x.len(), y.len(), "one y for each x");
        let mut z = vec![0.0; x.len()];
        let mut success = vec![0; x.len()];
        // SAFETY: the handle is live and the four arrays hold as many elements as the count says.
        unsafe {
            gdal_sys::GDALGCPTransform(
                self.0,
                c_int::from(inverse),
                count(x),
                x.as_mut_ptr(),
                y.as_mut_ptr(),
                z.as_mut_ptr(),
                success.as_mut_ptr(),
            )
        };
        void_failed(x, y, &success);
    }
}

impl Drop for PolynomialFit {
    fn drop(&mut self) {
        // SAFETY: made by `GDALCreateGCPTransformer`, destroyed once.
        unsafe { gdal_sys::GDALDestroyGCPTransformer(self.0) };
    }
}

fn gcp(point: &ControlPoint, text: &CString) -> gdal_sys::GDAL_GCP {
    gdal_sys::GDAL_GCP {
        pszId: text.as_ptr().cast_mut(),
        pszInfo: text.as_ptr().cast_mut(),
        dfGCPPixel: point.col,
        dfGCPLine: point.row,
        dfGCPX: point.x,
        dfGCPY: point.y,
        dfGCPZ: 0.0,
    }
}

/// What GDAL suggests as the grid of an image in another system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::raster) struct SuggestedGrid {
    /// The geotransform, north-up, square pixels.
    pub(in crate::raster) geotransform: GeoTransform,
    /// Columns × rows.
    pub(in crate::raster) size: (u64, u64),
    /// West, south, east, north of the image itself.
    pub(in crate::raster) extent: [f64; 4],
}

/// The grid that `gdalwarp` would choose for an image of this size, geotransform and system.
pub(in crate::raster) fn suggested_grid(
    size: (u64, u64),
    geotransform: &GeoTransform,
    source: &SpatialRef,
    target_wkt: &str,
) -> Option<SuggestedGrid> {
    let _quiet = Quiet::new();
    // An image without bands holds no pixels: only its size and georeference matter here.
    let driver = DriverManager::get_driver_by_name("MEM").ok()?;
    let (width, height) = (usize::try_from(size.0).ok()?, usize::try_from(size.1).ok()?);
    let mut image = driver.create_with_band_type::<u8, _>("", width, height, 0).ok()?;
    image.set_geo_transform(geotransform).ok()?;
    image.set_spatial_ref(source).ok()?;
    let first = suggestion(&image, target_wkt)?;
    if first.survives_the_way_back {
        return Some(first.grid);
    }
    let _strict = StrictProjection::new();
    suggestion(&image, target_wkt).map(|second| second.grid)
}

/// While it lives, PROJ results of this thread count only if their inverse leads back.
struct StrictProjection(());

impl StrictProjection {
    const KEY: &std::ffi::CStr = c"CHECK_WITH_INVERT_PROJ";

    fn new() -> Self {
        // SAFETY: both texts are static and GDAL copies them.
        unsafe { gdal_sys::CPLSetThreadLocalConfigOption(Self::KEY.as_ptr(), c"TRUE".as_ptr()) };
        Self(())
    }
}

impl Drop for StrictProjection {
    fn drop(&mut self) {
        // SAFETY: a null value removes the option of this thread.
        unsafe { gdal_sys::CPLSetThreadLocalConfigOption(Self::KEY.as_ptr(), ptr::null()) };
    }
}

struct Suggestion {
    grid: SuggestedGrid,
    survives_the_way_back: bool,
}

fn suggestion(image: &gdal::Dataset, target_wkt: &str) -> Option<Suggestion> {
    let transformer = ImageTransformer::new(image, target_wkt)?;
    let mut geotransform = [0.0; 6];
    let mut extent = [0.0; 4];
    let (mut columns, mut rows) = (0, 0);
    // SAFETY: the dataset and the transformer live for the call; the outputs have the sizes GDAL documents.
    let outcome = unsafe {
        gdal_sys::GDALSuggestedWarpOutput2(
            image.c_dataset(),
            Some(gdal_sys::GDALGenImgProjTransform),
            transformer.0,
            geotransform.as_mut_ptr(),
            &raw mut columns,
            &raw mut rows,
            extent.as_mut_ptr(),
            0,
        )
    };
    let is_good = outcome == gdal_sys::CPLErr::CE_None && columns > 0 && rows > 0;
    let size = (columns as u64, rows as u64);
    let survives_the_way_back = is_good && transformer.survives_the_way_back(extent, columns);
    is_good
        .then_some(Suggestion { grid: SuggestedGrid { geotransform, size, extent }, survives_the_way_back })
}

/// GDAL's transformer from the pixels of an image to coordinates of another system.
struct ImageTransformer(*mut c_void);

impl ImageTransformer {
    fn new(image: &gdal::Dataset, target_wkt: &str) -> Option<Self> {
        let mut options = gdal::cpl::CslStringList::new();
        options.set_name_value("DST_SRS", target_wkt).ok()?;
        // SAFETY: the dataset and the list live for the call; a null target means coordinates, not pixels.
        let handle = unsafe {
            gdal_sys::GDALCreateGenImgProjTransformer2(image.c_dataset(), ptr::null_mut(), options.as_ptr())
        };
        (!handle.is_null()).then_some(Self(handle))
    }

    /// Whether the edge of an extent, taken to the image and back, stays within a pixel.
    ///
    /// `gdalwarp` asks the same of 21 points an edge before it believes a suggestion.
    fn survives_the_way_back(&self, [west, south, east, north]: [f64; 4], columns: c_int) -> bool {
        let tolerance = (east - west) / f64::from(columns);
        let fractions = (0..=20).map(|step| f64::from(step) / 20.0);
        fractions.flat_map(|f| [(f, 0.0), (f, 1.0), (0.0, f), (1.0, f)]).all(|(across, up)| {
            let start = (west + across * (east - west), south + up * (north - south));
            let end = self.apply(true, start).and_then(|pixel| self.apply(false, pixel));
            end.is_some_and(|(x, y)| (x - start.0).abs() <= tolerance && (y - start.1).abs() <= tolerance)
        })
    }

    fn apply(&self, inverse: bool, (mut x, mut y): (f64, f64)) -> Option<(f64, f64)> {
        let (mut z, mut success) = (0.0, 0);
        // SAFETY: one element each, as the count says; the handle is live.
        unsafe {
            gdal_sys::GDALGenImgProjTransform(
                self.0,
                c_int::from(inverse),
                1,
                &raw mut x,
                &raw mut y,
                &raw mut z,
                &raw mut success,
            )
        };
        (success != 0).then_some((x, y))
    }
}

impl Drop for ImageTransformer {
    fn drop(&mut self) {
        // SAFETY: made by `GDALCreateGenImgProjTransformer2`, destroyed once.
        unsafe { gdal_sys::GDALDestroyGenImgProjTransformer(self.0) };
    }
}

fn count(points: &[f64]) -> c_int {
    c_int::try_from(points.len()).expect("points are transformed in batches of thousands")
}

fn void_failed(x: &mut [f64], y: &mut [f64], success: &[c_int]) {
    for ((x, y), success) in x.iter_mut().zip(y).zip(success) {
        if *success == 0 || !x.is_finite() || !y.is_finite() {
            (*x, *y) = (f64::NAN, f64::NAN);
        }
    }
}
