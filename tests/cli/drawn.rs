//! Rasters drawn at random: sizes, types, nodata, blocks, interleaving, and how they lie on the Earth.

use std::path::Path;

use gdal::raster::{Buffer, RasterCreationOptions};
use gdal::spatial_ref::SpatialRef;
use gdal::{Dataset, DriverManager};
use proptest::prelude::*;
use proptest::sample::select;

/// A GeoTIFF of two bands in EPSG:32633.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    /// Columns × rows.
    pub(crate) size: (usize, usize),
    data_type: &'static str,
    missing: Missing,
    layout: Layout,
    placement: Placement,
    seed: u64,
}

/// How pixels are marked that hold no data; a tenth of them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Missing {
    None,
    Nodata,
    Mask,
}

/// How pixels lie in the file.
#[derive(Clone, Debug)]
struct Layout {
    /// Edge of a tile; `None` for strips.
    tile: Option<usize>,
    strip: usize,
    interleave: &'static str,
    compress: &'static str,
}

/// How pixels lie on the Earth.
#[derive(Clone, Copy, Debug)]
struct Placement {
    pixel: (f64, f64),
    /// Counterclockwise, in degrees.
    turn: f64,
    is_south_up: bool,
}

/// Small images, and long ones that a window of 1000 pixels cuts.
fn size() -> impl Strategy<Value = (usize, usize)> {
    prop_oneof![
        3 => (1..260usize, 1..260usize),
        2 => (260..420usize, 260..420usize),
        1 => (1000..1200usize, 1..90usize),
        1 => (1..90usize, 1000..1200usize),
    ]
}

fn layout() -> impl Strategy<Value = Layout> {
    let tile = select(vec![None, Some(16), Some(48), Some(128), Some(512)]);
    let compress = select(vec!["NONE", "LZW", "DEFLATE", "ZSTD"]);
    (tile, 1..70usize, select(vec!["PIXEL", "BAND"]), compress)
        .prop_map(|(tile, strip, interleave, compress)| Layout { tile, strip, interleave, compress })
}

fn placement() -> impl Strategy<Value = Placement> {
    let pixel = (select(vec![10.0, 7.3, 250.0]), select(vec![10.0, 31.0, 250.0]));
    let turn = prop_oneof![2 => Just(0.0), 1 => 0.0..360.0];
    (pixel, turn, any::<bool>()).prop_map(|(pixel, turn, is_south_up)| Placement { pixel, turn, is_south_up })
}

/// Any such raster.
pub(crate) fn drawn() -> impl Strategy<Value = Drawn> {
    let data_type = select(vec!["u8", "i16", "u16", "u32", "i32", "f32", "f64"]);
    let missing = select(vec![Missing::None, Missing::Nodata, Missing::Mask]);
    (size(), data_type, missing, layout(), placement(), any::<u64>()).prop_map(
        |(size, data_type, missing, layout, placement, seed)| Drawn {
            size,
            data_type,
            missing,
            layout,
            placement,
            seed,
        },
    )
}

impl Drawn {
    /// Writes the file.
    pub(crate) fn write(&self, path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        gdal::config::set_thread_local_config_option("GDAL_TIFF_INTERNAL_MASK", "YES").unwrap();
        let mut file = match self.data_type {
            "u8" => self.create::<u8>(path),
            "i16" => self.create::<i16>(path),
            "u16" => self.create::<u16>(path),
            "u32" => self.create::<u32>(path),
            "i32" => self.create::<i32>(path),
            "f32" => self.create::<f32>(path),
            _ => self.create::<f64>(path),
        };
        file.set_geo_transform(&self.placement.geotransform()).unwrap();
        file.set_spatial_ref(&SpatialRef::from_epsg(32633).unwrap()).unwrap();
        if self.missing == Missing::Mask {
            file.rasterband(1).unwrap().create_mask_band(true).unwrap();
            let mask = (0..self.pixels()).map(|place| if self.is_missing(place) { 0_u8 } else { 255 });
            let mut buffer = Buffer::new(self.size, mask.collect());
            file.rasterband(1)
                .unwrap()
                .open_mask_band()
                .unwrap()
                .write((0, 0), self.size, &mut buffer)
                .unwrap();
        }
        for number in 1..=2 {
            let mut band = file.rasterband(number).unwrap();
            if self.missing == Missing::Nodata {
                band.set_no_data_value(Some(self.nodata())).unwrap();
            }
            let values = (0..self.pixels()).map(|place| self.value(number as u64, place));
            band.write((0, 0), self.size, &mut Buffer::new(self.size, values.collect())).unwrap();
        }
        file.close().unwrap();
    }

    fn create<T: gdal::raster::GdalType>(&self, path: &Path) -> Dataset {
        let Layout { tile, strip, interleave, compress } = &self.layout;
        let mut options = RasterCreationOptions::new();
        let mut set = |key: &str, value: &str| options.set_name_value(key, value).unwrap();
        match tile {
            Some(edge) => {
                set("TILED", "YES");
                set("BLOCKXSIZE", &edge.to_string());
                set("BLOCKYSIZE", &edge.to_string());
            }
            None => set("BLOCKYSIZE", &strip.to_string()),
        }
        set("INTERLEAVE", interleave);
        set("COMPRESS", compress);
        let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
        let (width, height) = self.size;
        driver.create_with_band_type_with_options::<T, _>(path, width, height, 2, &options).unwrap()
    }

    /// The longer edge of a pixel in metres.
    pub(crate) fn pixel(&self) -> f64 {
        self.placement.pixel.0.max(self.placement.pixel.1)
    }

    fn pixels(&self) -> usize {
        self.size.0 * self.size.1
    }

    /// Beyond what cubic convolution makes of values.
    fn nodata(&self) -> f64 {
        match self.data_type {
            "u8" => 255.0,
            "f32" | "f64" => f64::NAN,
            _ => 32_000.0,
        }
    }

    fn is_missing(&self, place: usize) -> bool {
        self.missing != Missing::None && self.noise(7, place).is_multiple_of(10)
    }

    /// Hills with noise between 30 and 170.
    fn value(&self, band: u64, place: usize) -> f64 {
        if self.missing == Missing::Nodata && self.is_missing(place) {
            return self.nodata();
        }
        let (row, col) = ((place / self.size.0) as f64, (place % self.size.0) as f64);
        let hill = 100.0 + 40.0 * (col / 17.0).sin() * (row / 23.0 + band as f64).cos();
        hill + (self.noise(band, place) % 300) as f64 / 10.0
    }

    /// The mixing function of SplitMix64.
    fn noise(&self, salt: u64, place: usize) -> u64 {
        let seed = self.seed ^ (salt << 40) ^ place as u64;
        let mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl Placement {
    fn geotransform(self) -> [f64; 6] {
        let (sine, cosine) = self.turn.to_radians().sin_cos();
        let (across, down) = (self.pixel.0, if self.is_south_up { self.pixel.1 } else { -self.pixel.1 });
        [500_000.0, across * cosine, -down * sine, 4_000_000.0, across * sine, down * cosine]
    }
}
