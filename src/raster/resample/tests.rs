//! Resampling between parallel grids, with values worked out by hand.

use ndarray::{Array2, arr2};

use super::*;
use crate::raster::{BandDescription, BandPixels};

/// A grid of square pixels with its corner at (500000, 4000000).
fn grid(size: f64, width: u64, height: u64) -> Grid {
    Grid { crs: None, geotransform: [500_000.0, size, 0.0, 4_000_000.0, 0.0, -size], width, height }
}

fn band(pixels: Array2<i16>) -> Band {
    Band {
        description: BandDescription::named("a"),
        pixels: BandPixels::Int16(pixels.into_shared()),
        validity: Validity::All,
    }
}

fn masked(pixels: Array2<i16>, mask: Array2<u8>) -> Band {
    Band { validity: Validity::Mask(Arc::new(mask)), ..band(pixels) }
}

fn values(band: &Band) -> Array2<i16> {
    match &band.pixels {
        BandPixels::Int16(array) => array.to_owned(),
        other => panic!("{} is not the type of the source", other.data_type()),
    }
}

fn whole(source: &Grid, target: &Grid, band: &Band, resampling: Resampling) -> Band {
    let map = GridMap::between(source, target).unwrap();
    map.resample(band, &source.whole(), &target.whole(), resampling)
}

#[test]
fn nearest_doubles_each_pixel_of_a_grid_twice_as_coarse() {
    let coarse = band(arr2(&[[1, 2], [3, 4]]));
    let fine = whole(&grid(20.0, 2, 2), &grid(10.0, 4, 4), &coarse, Resampling::Nearest);
    assert_eq!(values(&fine), arr2(&[[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]));
    assert_eq!(fine.validity, Validity::All);
}

#[test]
fn a_window_comes_out_as_it_does_within_the_whole() {
    let (source, target) = (grid(20.0, 30, 30), grid(10.0, 60, 60));
    let plane = band(Array2::from_shape_fn((30, 30), |(row, col)| (row * row + 7 * col) as i16));
    let map = GridMap::between(&source, &target).unwrap();
    let window = Window { col: 13, row: 21, width: 17, height: 9 };
    for resampling in Resampling::ALL {
        let all = values(&map.resample(&plane, &source.whole(), &target.whole(), resampling));
        let held = map.source_window(&window, resampling);
        let (top, left) = (held.row as usize, held.col as usize);
        let part = values(&plane)
            .slice(ndarray::s![top..top + held.height as usize, left..left + held.width as usize])
            .to_owned();
        let piece = map.resample(&band(part), &held, &window, resampling);
        assert_eq!(values(&piece), all.slice(ndarray::s![21..30, 13..30]), "{resampling:?}");
    }
}

#[test]
fn average_takes_valid_pixels_alone() {
    let fine = masked(arr2(&[[1, 3, 10, 10], [5, 99, 10, 10]]), arr2(&[[1, 1, 0, 0], [1, 0, 0, 0]]));
    let coarse = whole(&grid(10.0, 4, 2), &grid(20.0, 2, 1), &fine, Resampling::Average);
    assert_eq!(values(&coarse)[(0, 0)], 3, "(1 + 3 + 5) / 3");
    assert!(!coarse.validity.is_valid(0, 1));
}

#[test]
fn mode_gives_classes_that_exist() {
    let classes = band(arr2(&[[1, 1, 3, 3], [1, 2, 3, 1]]));
    let coarse = whole(&grid(10.0, 4, 2), &grid(20.0, 2, 1), &classes, Resampling::Mode);
    assert_eq!(values(&coarse), arr2(&[[1, 3]]));
}

#[test]
fn bilinear_is_exact_on_a_slope_away_from_its_ends() {
    // Centres of 10 m pixels lie a quarter of a 20 m pixel beside the coarse centres: 2.5, 7.5, 12.5, …
    let slope = band(arr2(&[[0, 100, 200]]));
    let fine = whole(&grid(20.0, 3, 1), &grid(10.0, 6, 2), &slope, Resampling::Bilinear);
    assert_eq!(values(&fine).row(0).to_vec(), [0, 25, 75, 125, 175, 200]);
}

#[test]
fn pixels_beyond_the_source_are_invalid_and_need_nothing() {
    let far = Grid { geotransform: [500_010.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0], ..grid(10.0, 2, 1) };
    let map = GridMap::between(&grid(10.0, 2, 1), &far).unwrap();
    let moved =
        map.resample(&band(arr2(&[[7, 8]])), &grid(10.0, 2, 1).whole(), &far.whole(), Resampling::Nearest);
    assert_eq!(values(&moved)[(0, 0)], 8);
    assert!(moved.validity.is_valid(0, 0) && !moved.validity.is_valid(0, 1));
    let beyond = Window { col: 1, row: 0, width: 1, height: 1 };
    assert_eq!(map.source_window(&beyond, Resampling::Nearest).pixels(), 0);
}

#[test]
fn a_south_up_source_is_turned() {
    let south_up = Grid { geotransform: [500_000.0, 10.0, 0.0, 3_999_980.0, 0.0, 10.0], ..grid(10.0, 1, 2) };
    let turned = whole(&south_up, &grid(10.0, 1, 2), &band(arr2(&[[1], [2]])), Resampling::Nearest);
    assert_eq!(values(&turned), arr2(&[[2], [1]]));
}

#[test]
fn rotated_grids_do_not_line_up() {
    let rotated = Grid { geotransform: [0.0, 8.0, 6.0, 0.0, 6.0, -8.0], ..grid(10.0, 4, 4) };
    assert_eq!(GridMap::between(&rotated, &grid(10.0, 4, 4)), Err(Misaligned::Rotated));
    assert!(GridMap::between(&rotated, &rotated).unwrap().is_identity());
}

#[test]
fn an_overview_covers_the_area_of_its_image() {
    let overview = coarser(&grid(10.0, 5, 4), (2, 2));
    assert_eq!(overview.to_crs(2.0, 2.0), (500_050.0, 3_999_960.0));
    assert_eq!(GridMap::between(&grid(10.0, 5, 4), &overview).unwrap().scale(), (2.5, 2.0));
}

#[test]
fn grids_of_two_systems_do_not_line_up() {
    let named = |crs: Option<Crs>| Grid { crs, ..grid(10.0, 2, 2) };
    let utm = |zone: u8| Some(crs::parse(&format!("EPSG:326{zone}")).unwrap());
    assert_eq!(GridMap::between(&named(utm(32)), &named(utm(33))), Err(Misaligned::Systems));
    assert_eq!(GridMap::between(&named(utm(32)), &named(None)), Err(Misaligned::Systems));
    assert!(GridMap::between(&named(utm(32)), &named(utm(32))).unwrap().is_identity());
}
