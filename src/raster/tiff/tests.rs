//! Files byte by byte, read back by GDAL, and from windows against whole ones.

mod bounds;
mod from_windows;
mod header;
mod pixels;
mod refusals;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gdal::Dataset;
use ndarray::ArcArray2;

use super::*;
use crate::raster::{Band, BandDescription, Crs, Grid, Member, Pixel, Validity, Window};

/// No idle cores, or always one.
struct Cores(bool);

struct Core;

impl Helper for Core {
    fn is_wanted(&self) -> bool {
        false
    }
}

impl Helpers for Cores {
    fn idle_core(&self) -> Option<Box<dyn Helper>> {
        self.0.then(|| Box::new(Core) as Box<dyn Helper>)
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}

/// A band of `width` columns.
pub(super) fn band<T: Pixel>(name: &str, width: usize, pixels: &[T]) -> Band {
    let pixels = ArcArray2::from_shape_vec((pixels.len() / width, width), pixels.to_vec()).unwrap();
    Band { description: BandDescription::named(name), pixels: T::wrap(pixels), validity: Validity::All }
}

/// The band with these pixels valid, and this nodata.
pub(super) fn masked(mut band: Band, valid: &[u8], nodata: Option<&str>) -> Band {
    let (rows, columns) = band.pixels.dim();
    band.validity =
        Validity::Mask(Arc::new(ndarray::Array2::from_shape_vec((rows, columns), valid.to_vec()).unwrap()));
    band.description.nodata = nodata.map(str::to_owned);
    band
}

/// A whole image of 10 m pixels in UTM 33 north.
pub(super) fn member(bands: Vec<Band>) -> Member {
    let (rows, columns) = bands[0].pixels.dim();
    let crs = gdal::spatial_ref::SpatialRef::from_epsg(32633).unwrap().to_wkt().unwrap();
    let grid = Grid {
        crs: Some(Crs::from_wkt(crs)),
        geotransform: [500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0],
        width: columns as u64,
        height: rows as u64,
    };
    Member { id: "scene".into(), window: grid.whole(), grid: Arc::new(grid), bands, tags: Arc::default() }
}

fn form(settings: &Settings, member: &Member) -> Result<Form, TiffError> {
    let of = |(index, band): (usize, &Band)| FormBand {
        index,
        description: band.description.clone(),
        data_type: band.pixels.data_type(),
        may_miss: band.validity != Validity::All,
    };
    Form::new(
        settings,
        (*member.grid).clone(),
        member.bands.iter().enumerate().map(of).collect(),
        member.tags.clone(),
    )
}

fn encoded(settings: &Settings, member: &Member) -> Vec<u8> {
    encode(&form(settings, member).unwrap(), member, 0, &Cores(false)).unwrap()
}

/// Small tiles make small images have everything that large ones have.
fn small() -> Settings {
    Settings { block: 16, ..Settings::default() }
}

/// What GDAL sees in these bytes.
fn open(bytes: &[u8]) -> Dataset {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let path = format!("/vsimem/tiff-test-{}.tif", COUNT.fetch_add(1, Ordering::Relaxed));
    gdal::vsi::create_mem_file(&path, bytes.to_vec()).unwrap();
    Dataset::open(&path).unwrap()
}

/// The pixels of one window of a member.
fn window_of(member: &Member, window: Window) -> Member {
    member.clone().cut(window).unwrap()
}
