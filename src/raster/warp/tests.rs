//! The laws of the warp: windows do not matter, invalid pixels never blend, values lie where they should.

use std::sync::Arc;

use ndarray::Array2;

use super::*;
use crate::raster::{
    Band, BandDescription, BandPixels, Grid, Member, Pixel, Placement, Resampling, Validity, Window, crs,
};

fn grid(code: &str, geotransform: [f64; 6], width: u64, height: u64) -> Grid {
    Grid { crs: Some(crs::parse(code).unwrap()), geotransform, width, height }
}

/// A member of one band whose values and validity are functions of (row, column).
fn member<T: Pixel>(
    grid: &Grid,
    value: impl Fn(usize, usize) -> T,
    valid: Option<&dyn Fn(usize, usize) -> bool>,
) -> Member {
    let dim = (grid.height as usize, grid.width as usize);
    let pixels = T::wrap(Array2::from_shape_fn(dim, |(row, col)| value(row, col)).into_shared());
    let validity = valid.map_or(Validity::All, |valid| {
        Validity::Mask(Arc::new(Array2::from_shape_fn(dim, |(row, col)| u8::from(valid(row, col)))))
    });
    let band = Band { description: BandDescription::named("b"), pixels, validity };
    Member {
        id: "m".into(),
        grid: Arc::new(grid.clone()),
        window: grid.whole(),
        bands: vec![band],
        tags: Arc::default(),
    }
}

/// Bits of every pixel, `None` where invalid, of the first band of a window warped from its own part of the source.
fn warped(member: &Member, target: &Grid, window: Window, resampling: Resampling) -> Vec<Option<u64>> {
    let image = SourceImage::new(&member.grid, &Placement::Affine, &SourceOptions::default()).unwrap();
    let warp = Warp::new(&image, target, resampling).unwrap();
    let Some(needed) = warp.source_window(&window) else { return vec![None; window.pixels() as usize] };
    let band = warp.bands(&member.clone().cut(needed).unwrap(), &window, &|| false).unwrap().remove(0);
    let dim = (window.height as usize, window.width as usize);
    let places = ndarray::indices(dim).into_iter();
    places.map(|(row, col)| band.validity.is_valid(row, col).then(|| bits(&band.pixels, row, col))).collect()
}

fn bits(pixels: &BandPixels, row: usize, col: usize) -> u64 {
    crate::raster::with_pixels!(pixels, array => array[(row, col)].to_f64().to_bits())
}

fn values(member: &Member, target: &Grid, resampling: Resampling) -> Vec<Option<f64>> {
    let bits = warped(member, target, target.whole(), resampling);
    bits.into_iter().map(|bits| bits.map(f64::from_bits)).collect()
}

fn noise(row: usize, col: usize) -> f32 {
    let mixed = (row as u32).wrapping_mul(2_654_435_761) ^ (col as u32).wrapping_mul(2_246_822_519);
    (mixed.wrapping_mul(3_266_489_917) >> 8) as f32 / 1000.0
}

#[test]
fn every_window_has_the_pixels_of_the_whole() {
    let source = grid("EPSG:32632", [400_000.0, 10.0, 0.0, 5_500_000.0, 0.0, -10.0], 300, 260);
    let hole =
        |row: usize, col: usize| !((row / 40 == 2 && col / 25 == 4) || (row * 7 + col).is_multiple_of(53));
    let member = member(&source, noise, Some(&hole));
    for (resolution, size) in [(15.3, 312_u64), (41.7, 130)] {
        // The source spans about 4740 m × 4110 m of EPSG:3857's stretched metres.
        let target =
            grid("EPSG:3857", [843_000.0, resolution, 0.0, 6_381_000.0, 0.0, -resolution], size, size);
        for resampling in Resampling::ALL {
            let whole = warped(&member, &target, target.whole(), resampling);
            assert!(whole.iter().any(Option::is_some) && whole.iter().any(Option::is_none));
            for edge in [50_u64, 64, 100] {
                for window in windows(&target, edge) {
                    let part = warped(&member, &target, window, resampling);
                    assert_eq!(part, of_whole(&whole, &target, &window), "{resampling:?} {window}");
                }
            }
        }
    }
}

fn windows(target: &Grid, edge: u64) -> Vec<Window> {
    let starts = |size: u64| (0..size).step_by(edge as usize);
    let window = |col, row| Window {
        col,
        row,
        width: edge.min(target.width - col),
        height: edge.min(target.height - row),
    };
    starts(target.height).flat_map(|row| starts(target.width).map(move |col| window(col, row))).collect()
}

fn of_whole(whole: &[Option<u64>], target: &Grid, window: &Window) -> Vec<Option<u64>> {
    let row = |row: u64| (row * target.width + window.col) as usize;
    let rows = window.row..window.row + window.height;
    rows.flat_map(|r| whole[row(r)..row(r) + window.width as usize].to_vec()).collect()
}

#[test]
fn a_grid_onto_itself_is_the_identity() {
    let source = grid("EPSG:32633", [500_000.0, 0.1, 0.0, 4_000_000.0, 0.0, -0.1], 70, 67);
    let member = member(&source, noise, None);
    let expected: Vec<_> = (0..67 * 70).map(|i| Some(f64::from(noise(i / 70, i % 70)))).collect();
    for resampling in Resampling::ALL.into_iter().filter(|it| *it != Resampling::CubicSpline) {
        assert_eq!(values(&member, &source, resampling), expected, "{resampling:?}");
    }
}

#[test]
fn half_a_pixel_off_bilinear_is_the_midpoint() {
    let source = grid("EPSG:32633", [500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0], 6, 4);
    let ramp = member(&source, |_, col| 10.0 * col as f32, None);
    let target = grid("EPSG:32633", [500_005.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0], 5, 4);
    let expected: Vec<_> = [5.0, 15.0, 25.0, 35.0, 45.0].repeat(4).into_iter().map(Some).collect();
    assert_eq!(values(&ramp, &target, Resampling::Bilinear), expected);
}

#[test]
fn invalid_pixels_never_blend() {
    let source = grid("EPSG:32633", [500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0], 12, 12);
    let value = |row: usize, col: usize| if (row, col) == (6, 6) { -9999.0_f32 } else { 100.0 };
    let valid = |row: usize, col: usize| (row, col) != (6, 6);
    let holed = member(&source, value, Some(&valid));
    for (offset, resolution) in [(5.0, 10.0), (3.0, 4.0), (0.0, 30.0)] {
        let size = (110.0 / resolution) as u64;
        let geotransform = [500_000.0 + offset, resolution, 0.0, 4_000_000.0 - offset, 0.0, -resolution];
        let target = grid("EPSG:32633", geotransform, size, size);
        for resampling in Resampling::ALL.into_iter().filter(|it| *it != Resampling::Sum) {
            let values = values(&holed, &target, resampling);
            let wrong = values.iter().flatten().find(|value| (**value - 100.0).abs() > 1e-4);
            assert_eq!(wrong, None, "{resampling:?} at {resolution} m");
        }
    }
}

#[test]
fn the_target_is_valid_where_the_nearest_source_pixel_is() {
    let source = grid("EPSG:32633", [0.0, 1.0, 0.0, 4.0, 0.0, -1.0], 4, 4);
    let holed = member(&source, |_, _| 1.0_f32, Some(&|row, col| (row, col) != (1, 2)));
    let target = grid("EPSG:32633", [0.0, 0.5, 0.0, 4.0, 0.0, -0.5], 8, 8);
    let valid: Vec<_> = values(&holed, &target, Resampling::Bilinear).iter().map(Option::is_some).collect();
    let expected: Vec<_> =
        (0..64).map(|i| !((2..4).contains(&(i / 8)) && (4..6).contains(&(i % 8)))).collect();
    assert_eq!(valid, expected);
}

#[test]
fn a_rotated_source_is_turned_north_up() {
    // x = 500000 + 10 × row, y = 3999980 + 10 × column.
    let source = grid("EPSG:32633", [500_000.0, 0.0, 10.0, 3_999_980.0, 10.0, 0.0], 2, 3);
    let turned = member(&source, |row, col| (2 * row + col + 1) as u8, None);
    let target = grid("EPSG:32633", [500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0], 3, 2);
    let expected: Vec<_> = [2.0, 4.0, 6.0, 1.0, 3.0, 5.0].into_iter().map(Some).collect();
    assert_eq!(values(&turned, &target, Resampling::Nearest), expected);
}

#[test]
fn integers_round_and_clamp() {
    let source = grid("EPSG:32633", [0.0, 1.0, 0.0, 1.0, 0.0, -1.0], 6, 1);
    let step = member(&source, |_, col| if col < 3 { 0_u8 } else { 255 }, None);
    let target = grid("EPSG:32633", [0.0, 0.5, 0.0, 1.0, 0.0, -1.0], 12, 1);
    // Beside the step, at a quarter of a pixel from the centres: bilinear 63.75 and 191.25.
    let bilinear = values(&step, &target, Resampling::Bilinear);
    assert_eq!(bilinear[5..7], [Some(64.0), Some(191.0)]);
    // A spline that overshoots stays within the type instead of wrapping around.
    let cubic = values(&step, &target, Resampling::Cubic);
    assert!(cubic[..5].iter().all(|v| v.unwrap() < 128.0) && cubic[7..].iter().all(|v| v.unwrap() > 128.0));
}

#[test]
fn integers_of_64_bits_stay_exact_where_pixels_are_chosen() {
    let source = grid("EPSG:32633", [0.0, 1.0, 0.0, 2.0, 0.0, -1.0], 2, 2);
    let large = member(&source, |row, col| u64::MAX - (2 * row + col) as u64, None);
    let image = SourceImage::new(&source, &Placement::Affine, &SourceOptions::default()).unwrap();
    for (resampling, expected) in [
        (Resampling::Nearest, u64::MAX - 3),
        (Resampling::Min, u64::MAX - 3),
        (Resampling::Max, u64::MAX),
        (Resampling::Med, u64::MAX - 2),
    ] {
        let target = grid("EPSG:32633", [0.0, 2.0, 0.0, 2.0, 0.0, -2.0], 1, 1);
        let warp = Warp::new(&image, &target, resampling).unwrap();
        let bands = warp.bands(&large, &target.whole(), &|| false).unwrap();
        let BandPixels::Uint64(pixels) = &bands[0].pixels else { panic!("the type is kept") };
        assert_eq!(pixels[(0, 0)], expected, "{resampling:?}");
    }
}

#[test]
fn shrinking_looks_at_every_source_pixel() {
    // Columns alternate 0, 8: any kernel that spans whole pairs gives 4.
    let source = grid("EPSG:32633", [0.0, 1.0, 0.0, 64.0, 0.0, -1.0], 64, 64);
    let stripes = member(&source, |_, col| 8.0 * (col % 2) as f32, None);
    let target = grid("EPSG:32633", [0.0, 4.0, 0.0, 64.0, 0.0, -4.0], 16, 16);
    for resampling in [Resampling::Bilinear, Resampling::Cubic, Resampling::Average] {
        let middle = values(&stripes, &target, resampling)[16 * 8 + 8].unwrap();
        assert!((middle - 4.0).abs() < 1e-6, "{resampling:?}: {middle}");
    }
}

#[test]
fn a_window_beside_the_source_needs_nothing() {
    let source = grid("EPSG:32632", [400_000.0, 10.0, 0.0, 5_500_000.0, 0.0, -10.0], 100, 100);
    let image = SourceImage::new(&source, &Placement::Affine, &SourceOptions::default()).unwrap();
    let target = grid("EPSG:4326", [-180.0, 0.01, 0.0, 90.0, 0.0, -0.01], 36_000, 18_000);
    let warp = Warp::new(&image, &target, Resampling::Cubic).unwrap();
    let far = Window { col: 0, row: 0, width: 512, height: 512 };
    assert_eq!(warp.source_window(&far), None);
    // The upper left corner lies at 7.62° east, 49.65° north.
    let near = Window { col: 18_700, row: 4_000, width: 100, height: 100 };
    assert_eq!(warp.source_window(&near), Some(source.whole()));
}

#[test]
fn a_source_that_counts_longitudes_to_360_fills_the_western_half() {
    let source = grid("EPSG:4326", [0.0, 10.0, 0.0, 90.0, 0.0, -10.0], 36, 18);
    let degrees = member(&source, |_, col| (10 * col + 5) as f32, None);
    let target = grid("EPSG:4326", [-180.0, 10.0, 0.0, 90.0, 0.0, -10.0], 36, 18);
    let row = &values(&degrees, &target, Resampling::Nearest)[..36];
    let expected: Vec<_> = (0..36).map(|col| Some(f64::from((10 * col + 5 + 180) % 360))).collect();
    assert_eq!(row, expected);
}

#[test]
fn a_projection_that_bends_both_ways_is_followed() {
    // Latitudes of a Mercator grid around the equator: the middle of the grid is exact on any straight line.
    let source = grid("EPSG:4326", [-180.0, 10.0, 0.0, 90.0, 0.0, -10.0], 36, 18);
    let rows = member(&source, |row, _| row as u8, None);
    let half = std::f64::consts::PI * 6_378_137.0;
    let target = grid("EPSG:3857", [-half, half / 18.0, 0.0, half, 0.0, -half / 18.0], 36, 36);
    let found = values(&rows, &target, Resampling::Nearest);
    let latitude =
        |row: usize| (half * (1.0 - (row as f64 + 0.5) / 18.0) / 6_378_137.0).sinh().atan().to_degrees();
    let expected: Vec<_> = (0..36).map(|row| Some(((90.0 - latitude(row)) / 10.0).floor())).collect();
    assert_eq!(found.iter().step_by(36).copied().collect::<Vec<_>>(), expected);
}
