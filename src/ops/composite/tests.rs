//! Tests of `composite`.

use super::super::testing::{band, compile, context, faults, item, masked, member, run, shape, values};
use super::*;
use crate::contract::Kind;
use crate::raster::BandPixels;

/// Members `0`, `1`, … of one row of pixels each.
fn stack(rows: &[[Option<u16>; 3]]) -> Vec<Member> {
    let pixels = |row: &[Option<u16>; 3]| {
        masked(
            band("red", &[row.map(Option::unwrap_or_default)]),
            &[row.map(|pixel| u8::from(pixel.is_some()))],
        )
    };
    rows.iter().enumerate().map(|(id, row)| member(&id.to_string(), vec![pixels(row)])).collect()
}

fn reduced(options: &str, members: Vec<Member>) -> Band {
    run(&compile(&ENTRY, options), item(members), &[]).unwrap().remove(0).bands.remove(0)
}

const ROWS: [[Option<u16>; 3]; 3] =
    [[None, Some(60000), None], [Some(3), Some(60001), None], [Some(8), Some(60006), None]];

#[test]
fn members_are_reduced_in_their_order_and_type() {
    let cases = [
        ("first", DataType::Uint16, [3.0, 60000.0]),
        ("last", DataType::Uint16, [8.0, 60006.0]),
        ("min", DataType::Uint16, [3.0, 60000.0]),
        ("max", DataType::Uint16, [8.0, 60006.0]),
        ("median", DataType::Float32, [5.5, 60001.0]),
        ("mean", DataType::Float32, [5.5, f64::from(180_007.0_f32 / 3.0)]),
        ("sum", DataType::Float64, [11.0, 180_007.0]),
        ("count", DataType::Uint32, [2.0, 3.0]),
    ];
    for (reduce, data_type, [a, b]) in cases {
        let op = compile(&ENTRY, &format!(r#"{{ reduce = "{reduce}" }}"#));
        let members = item(stack(&ROWS));
        let form = op.shape(&shape(&members), &members).unwrap();
        assert_eq!(form.members[0].bands[0].data_type, data_type, "{reduce}");
        let found = run(&op, members, &[]).unwrap().remove(0);
        assert_eq!((found.id.as_str(), found.bands[0].pixels.data_type()), ("scene", data_type), "{reduce}");
        assert_eq!(values(&found.bands[0]), [Some(a), Some(b), None], "{reduce}");
    }
}

#[test]
fn inner_levels_are_reduced_first() {
    // Two days: the first valid value of each day is 3 (from the second scene) and 8, and the median of those is 5.5.
    let mut group = item(stack(&ROWS));
    group.lineage.levels = vec![vec!["monday".into(), "monday".into(), "tuesday".into()]];
    let op = compile(&ENTRY, r#"{ reduce = ["median", "first"] }"#);
    let found = run(&op, group.clone(), &[]).unwrap();
    assert_eq!(values(&found[0].bands[0]), [Some(5.5), Some(60003.0), None]);
    let one_level = compile(&ENTRY, r#"{ reduce = "median" }"#);
    assert!(
        run(&one_level, group, &[])
            .unwrap_err()
            .message
            .contains("`reduce` has 1 entries, but the group has 2 levels")
    );
}

#[test]
fn quality_takes_all_bands_from_one_member() {
    let scene = |id: &str, ndvi: [f32; 3], red: [u8; 3]| {
        let ndvi = masked(band("ndvi", &[ndvi]), &[ndvi.map(|value| u8::from(value > 0.0))]);
        member(id, vec![ndvi, band("red", &[red])])
    };
    let members = || vec![scene("a", [0.2, 0.9, -1.0], [1, 2, 3]), scene("b", [0.7, 0.3, -1.0], [4, 5, 6])];
    let options = r#"{ reduce = "quality", quality-band = "ndvi", bands = ["red"] }"#;
    assert_eq!(values(&reduced(options, members())), [Some(4.0), Some(2.0), None]);
    let lowest = r#"{ reduce = "quality", quality-band = "ndvi", best = "lowest", bands = ["red"] }"#;
    assert_eq!(values(&reduced(lowest, members())), [Some(1.0), Some(5.0), None]);
}

#[test]
fn members_of_different_types_lose_nothing() {
    let members =
        vec![member("a", vec![band("v", &[[200_u8]])]), member("b", vec![band("v", &[[-0.25_f32]])])];
    let found = reduced(r#"{ reduce = "min" }"#, members);
    assert_eq!((found.pixels.data_type(), values(&found)), (DataType::Float32, vec![Some(-0.25)]));
    let large =
        vec![member("a", vec![band("v", &[[(1_u64 << 53) + 1]])]), member("b", vec![band("v", &[[1_u64]])])];
    assert_eq!(
        reduced(r#"{ reduce = "max" }"#, large).pixels,
        BandPixels::from_rows(vec![(1_u64 << 53) + 1], (1, 1))
    );
}

#[test]
fn nan_without_a_mask_is_no_value() {
    let members =
        vec![member("a", vec![band("v", &[[f32::NAN]])]), member("b", vec![band("v", &[[2.0_f32]])])];
    assert_eq!(values(&reduced(r#"{ reduce = "first" }"#, members)), [Some(2.0)]);
}

#[test]
fn members_may_hold_different_parts_of_the_wanted_window() {
    let grid = member("a", vec![band("v", &[[0_u8; 6]; 4])]).grid;
    let part = |id: &str, window: Window, value: u8| {
        let pixels = vec![value; window.pixels() as usize];
        let pixels = BandPixels::from_rows(pixels, (window.height as usize, window.width as usize));
        let band =
            Band { description: BandDescription::named("v"), pixels, validity: crate::raster::Validity::All };
        Member { id: id.into(), grid: grid.clone(), window, bands: vec![band], tags: Arc::default() }
    };
    let left = part("a", Window { col: 0, row: 0, width: 3, height: 2 }, 1);
    let right = part("b", Window { col: 2, row: 1, width: 4, height: 3 }, 2);
    let wanted = Window { col: 1, row: 1, width: 3, height: 2 };
    let op = compile(&ENTRY, r#"{ reduce = "first" }"#);
    let group = item(vec![left, right]);
    let form = shape(&group);
    let regions = op.region(&[wanted], &form, &form).unwrap();
    assert_eq!(regions[0], Window { col: 1, row: 1, width: 2, height: 1 });
    assert_eq!(regions[1], Window { col: 2, row: 1, width: 2, height: 2 });
    let found = run(&op, group, &[wanted]).unwrap().remove(0);
    assert_eq!(found.window, wanted);
    assert_eq!(values(&found.bands[0]), [Some(1.0), Some(1.0), Some(2.0), None, Some(2.0), Some(2.0)]);
}

#[test]
fn rows_longer_than_a_strip_and_idle_cores_change_nothing() {
    let members = || {
        let row = |factor: usize| std::array::from_fn::<u16, 5000, _>(|col| (col * factor % 1000) as u16);
        (1..4).map(|id| member(&id.to_string(), vec![band("v", &vec![row(id); 60])])).collect::<Vec<_>>()
    };
    let op = compile(&ENTRY, r#"{ reduce = "max" }"#);
    let Kind::Compute(compute) = op.kind() else { panic!() };
    let cores = crate::resources::Slots::fixed("cores".into(), 2);
    let helped = ComputeContext { idle_cores: Some(cores), ..context(&[]) };
    let Payload::Raster(found) = compute.compute(item(members()), &helped).unwrap().payload else { panic!() };
    let expected: Vec<_> =
        (0..5000).map(|col| Some((1..4).map(|factor| col * factor % 1000).max().unwrap() as f64)).collect();
    assert_eq!(values(&found.members[0].bands[0]), expected.repeat(60));
}

#[test]
fn grids_that_differ_are_named_with_the_stage_that_helps() {
    let zone = |code: &str, id: &str| {
        let mut member = member(id, vec![band("v", &[[1_u8]])]);
        member.grid = Arc::new(Grid { crs: Some(crs::parse(code).unwrap()), ..(*member.grid).clone() });
        member
    };
    let op = compile(&ENTRY, r#"{ reduce = "first" }"#);
    let message =
        run(&op, item(vec![zone("EPSG:32633", "a"), zone("EPSG:32632", "b")]), &[]).unwrap_err().message;
    for part in ["`a` lies on EPSG:32633", "`b` on EPSG:32632", "add a `warp` stage"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(run(&op, item(vec![zone("EPSG:32633", "a"), zone("EPSG:32633", "b")]), &[]).is_ok());
}

#[test]
fn what_the_members_say_is_kept_as_far_as_it_holds() {
    let scene = |nodata: &str, scale: f64| {
        let mut band = band("v", &[[1_u8]]);
        band.description.nodata = Some(nodata.into());
        band.description.scale = scale;
        band.description.color_table = Some(vec![[0; 4]]);
        vec![member("m", vec![band])]
    };
    let pair = |one: Vec<Member>, other: Vec<Member>| [one, other].concat();
    let kept = reduced(r#"{ reduce = "first" }"#, pair(scene("0", 2.0), scene("0", 2.0))).description;
    assert_eq!((kept.nodata.as_deref(), kept.scale, kept.color_table.is_some()), (Some("0"), 2.0, true));
    assert_eq!(
        reduced(r#"{ reduce = "first" }"#, pair(scene("0", 2.0), scene("9", 2.0))).description.nodata,
        None
    );
    let mean = reduced(r#"{ reduce = "mean" }"#, pair(scene("0", 2.0), scene("0", 2.0))).description;
    assert_eq!((mean.nodata.as_deref(), mean.scale, mean.color_table), (Some("nan"), 2.0, None));
    let mixed =
        run(&compile(&ENTRY, r#"{ reduce = "first" }"#), item(pair(scene("0", 2.0), scene("0", 1.0))), &[]);
    assert!(mixed.unwrap_err().message.contains("different scales"));
}

#[test]
fn options_that_do_not_fit_together_are_refused_where_they_stand() {
    let cases = [
        (r#"{ reduce = "quality" }"#, r#""quality""#),
        (r#"{ reduce = "first", quality-band = "q" }"#, r#""q""#),
        (r#"{ reduce = "first", best = "lowest" }"#, r#""lowest""#),
    ];
    for (options, marked) in cases {
        assert_eq!(faults(&ENTRY, options)[0].0, marked, "{options}");
    }
    let op = compile(&ENTRY, ENTRY.example);
    assert_eq!(op.bands(&None), Ok(Some(vec!["red".into(), "nir".into()])));
    assert_eq!(op.bands(&Some(vec!["red".into()])).unwrap_err()[0].message, "unknown band `nir`");
}
