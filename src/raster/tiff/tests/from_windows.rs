//! Files from windows: the same bytes as whole ones.

use proptest::prelude::*;

use super::*;

fn begin(settings: &Settings, member: &Member) -> Box<dyn TileAssembly> {
    let scratch = || tempfile::tempfile().unwrap();
    assembly(form(settings, member).unwrap(), scratch(), scratch()).unwrap()
}

fn finish(assembly: &dyn TileAssembly) -> Result<Vec<u8>, TiffError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let size = assembly.finish(file.as_file(), &|| false)?;
    let bytes = std::fs::read(file.path()).unwrap();
    assert_eq!(bytes.len() as u64, size);
    Ok(bytes)
}

/// Windows of these sizes that cover the grid, row by row.
fn windows(grid: &Grid, width: u64, height: u64) -> Vec<Window> {
    let rows = (0..grid.height).step_by(height as usize);
    let row = |row| {
        let columns = (0..grid.width).step_by(width as usize);
        columns.map(move |col| Window {
            col,
            row,
            width: width.min(grid.width - col),
            height: height.min(grid.height - row),
        })
    };
    rows.flat_map(row).collect()
}

/// Two bands with a hole that covers whole tiles and another that is scattered.
fn image<T: Pixel>(width: usize, height: usize, nodata: Option<&str>, value: impl Fn(usize) -> T) -> Member {
    let valid: Vec<u8> =
        (0..width * height).map(|at| u8::from((at % width > 40 || at / width > 40) && at % 11 > 2)).collect();
    let pixels: Vec<T> = (0..width * height).map(value).collect();
    let one = masked(band("one", width, &pixels), &valid, nodata);
    let two = Band {
        description: BandDescription { name: "two".into(), ..one.description.clone() },
        ..one.clone()
    };
    member(vec![one, two])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_windows_in_any_order_give_the_bytes_of_the_whole(
        (width, height) in (1usize..150, 1usize..150),
        (columns, rows) in (1u64..80, 1u64..80),
        seed: u64,
        kind in 0..3,
    ) {
        let member = match kind {
            0 => image(width, height, None, |at| (at % 97) as u8 + 1),
            1 => image(width, height, Some("0"), |at| (at % 97) as i16 - 200),
            _ => image(width, height, None, |at| (at as f32).sin()),
        };
        let assembly = begin(&small(), &member);
        let mut windows = windows(&member.grid, columns, rows);
        fastrand::Rng::with_seed(seed).shuffle(&mut windows);
        for window in windows {
            assembly.add(&window_of(&member, window), &|| false).unwrap();
        }
        prop_assert!(finish(&*assembly).unwrap() == encoded(&small(), &member));
    }
}

#[test]
fn windows_may_come_on_several_threads_at_once() {
    let member = image(150, 130, None, |at| (at as f32).cos());
    let assembly = begin(&small(), &member);
    let windows = windows(&member.grid, 37, 23);
    std::thread::scope(|scope| {
        for part in windows.chunks(windows.len().div_ceil(4)) {
            let (assembly, member) = (&assembly, &member);
            scope.spawn(move || {
                for window in part {
                    assembly.add(&window_of(member, *window), &|| false).unwrap();
                }
            });
        }
    });
    assert!(finish(&*assembly).unwrap() == encoded(&small(), &member));
}

#[test]
fn what_never_came_is_missing() {
    let all = image(100, 70, Some("0"), |at| (at % 97) as u16 + 1);
    let assembly = begin(&small(), &all);
    let came = Window { col: 5, row: 3, width: 60, height: 20 };
    assembly.add(&window_of(&all, came), &|| false).unwrap();

    let mut rest = all.clone();
    for band in &mut rest.bands {
        let Validity::Mask(mask) = &mut band.validity else { panic!("it has a mask") };
        Arc::make_mut(mask).indexed_iter_mut().for_each(|((row, col), valid)| {
            *valid *= u8::from((5..65).contains(&col) && (3..23).contains(&row));
        });
    }
    assert!(finish(&*assembly).unwrap() == encoded(&small(), &rest));
}

#[test]
fn what_never_came_needs_a_mark() {
    let all = member(vec![band("b", 4, &[1u8; 16])]);
    let assembly = begin(&small(), &all);
    let came = Window { col: 0, row: 0, width: 4, height: 3 };
    assembly.add(&window_of(&all, came), &|| false).unwrap();
    assert!(matches!(finish(&*assembly), Err(TiffError::NeverDelivered(4))));
}

#[test]
fn a_window_that_comes_twice_is_refused() {
    let all = member(vec![band("b", 40, &[1u8; 1600])]);
    let assembly = begin(&small(), &all);
    let window = window_of(&all, Window { col: 0, row: 0, width: 20, height: 40 });
    assembly.add(&window, &|| false).unwrap();
    assert!(matches!(assembly.add(&window, &|| false), Err(TiffError::BadWindow { .. })));
}

#[test]
fn parts_of_tiles_leave_scratch_when_the_tile_is_complete() {
    let all = member(vec![band("b", 256, &[7u8; 256 * 16])]);
    let settings = Settings { overviews: Overviews::Count(0), ..small() };
    let assembly = begin(&settings, &all);
    for row in 0..16 {
        assembly.add(&window_of(&all, Window { col: 0, row, width: 256, height: 1 }), &|| false).unwrap();
    }
    // 16 tiles of 240 bytes in 15 parts each waited, and small compressed tiles.
    let spooled = assembly.spooled();
    assert!((3840..3840 + 16 * 40).contains(&spooled), "{spooled}");
}
