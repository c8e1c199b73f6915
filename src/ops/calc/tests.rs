//! Tests of `calc`.

use super::super::testing::{
    band, compile, context, faults, item, masked, member, option, run, shape, values,
};
use super::*;
use crate::resources::Slots;

const NDVI: &str = r#"{ bands = { ndvi = "(nir - red) / (nir + red)" } }"#;

#[test]
fn ndvi_of_integers_neither_wraps_nor_divides_by_zero() {
    let red = band("red", &[[3000_u16, 1000, 65535, 20000, 2, 0, 10]]);
    let nir = band("nir", &[[1000_u16, 3000, 65535, 60000, 1, 0, 0]]);
    let output = run(&compile(&ENTRY, NDVI), item(vec![member("a", vec![red, nir])]), &[]).unwrap();
    let ndvi = &output[0].bands[0];
    assert_eq!(ndvi.pixels.data_type(), DataType::Float32);
    assert_eq!(ndvi.description.nodata.as_deref(), Some("nan"));
    let expected =
        [Some(-0.5), Some(0.5), Some(0.0), Some(0.5), Some(f64::from(-1.0_f32 / 3.0)), None, Some(-1.0)];
    assert_eq!(values(ndvi), expected);
}

#[test]
fn results_are_rounded_and_clamped_to_the_type_and_never_become_nodata() {
    let op = compile(&ENTRY, r#"{ bands = { b = "a" }, dtype = "uint8", nodata = 255 }"#);
    let a = band("a", &[[-5.0_f32, 300.0, 1.5, 2.5, f32::NAN, 254.4]]);
    let output = run(&op, item(vec![member("a", vec![a])]), &[]).unwrap();
    let expected = [Some(0.0), Some(254.0), Some(2.0), Some(3.0), None, Some(254.0)];
    assert_eq!(values(&output[0].bands[0]), expected);
}

#[test]
fn scale_divides_and_is_written() {
    let options = r#"{ bands = { b = "a / 10000" }, dtype = "int16", nodata = -32768, scale = 0.0001 }"#;
    let output = run(&compile(&ENTRY, options), item(vec![member("a", vec![band("a", &[[1234_u16]])])]), &[]);
    let band = &output.unwrap()[0].bands[0];
    assert_eq!((values(band), band.description.scale), (vec![Some(1234.0)], 0.0001));
}

#[test]
fn bands_come_in_the_order_of_declaration_for_each_member() {
    let op = compile(&ENTRY, r#"{ bands = { z = "a", m = "a + 1", b = "a + 2" }, dtype = "float64" }"#);
    let members = [1_u8, 10].map(|value| member("m", vec![band("a", &[[value]])]));
    let output = run(&op, item(members.into()), &[]).unwrap();
    let found: Vec<_> = output.iter().flat_map(|member| &member.bands).collect();
    let names: Vec<_> = found.iter().map(|band| band.description.name.as_str()).collect();
    assert_eq!(names, ["z", "m", "b", "z", "m", "b"]);
    let pixels: Vec<_> = found.iter().flat_map(|band| values(band)).map(Option::unwrap).collect();
    assert_eq!(pixels, [1.0, 2.0, 3.0, 10.0, 11.0, 12.0]);
}

#[test]
fn only_the_wanted_window_is_computed() {
    let a = masked(band("a", &[[1_i16, 2, 3], [4, 5, 6], [7, 8, 9]]), &[[1, 1, 1], [1, 1, 0], [1, 1, 1]]);
    let wanted = Window { col: 1, row: 1, width: 2, height: 2 };
    let op = compile(&ENTRY, r#"{ bands = { b = "a * 2" } }"#);
    let output = run(&op, item(vec![member("a", vec![a])]), &[wanted]).unwrap();
    assert_eq!(output[0].window, wanted);
    assert_eq!(values(&output[0].bands[0]), [Some(10.0), None, Some(16.0), Some(18.0)]);
}

#[test]
fn idle_cores_change_nothing_in_the_result() {
    let rows: Vec<[u16; 1000]> =
        (0..700).map(|row| std::array::from_fn(|col| (row * 7 + col * 3) as u16)).collect();
    let scene = || item(vec![member("a", vec![band("nir", &rows), band("red", &[[9_u16; 1000]; 700])])]);
    let op = compile(&ENTRY, NDVI);
    let Kind::Compute(compute) = op.clone().kind() else { panic!() };
    let cores = Slots::fixed("cores".into(), 3);
    let several = ComputeContext { idle_cores: Some(cores.clone()), ..context(&[]) };
    let Payload::Raster(found) = compute.compute(scene(), &several).unwrap().payload else { panic!() };
    assert_eq!(found.members, run(&op, scene(), &[]).unwrap());
    assert_eq!(cores.used(), 0);
    several.cancel.cancel();
    assert_eq!(compute.compute(scene(), &several).unwrap_err().message, "cancelled");
}

#[test]
fn formulas_that_do_not_parse_are_marked_inside_the_text() {
    let found = faults(&ENTRY, r#"{ bands = { a = "1 +", b = "sqr(x)", c = "a \u002b ^" }, scale = 0.0 }"#);
    let marked: Vec<_> = found.iter().map(|(text, fault)| (text.as_str(), fault.help.as_str())).collect();
    let expected = [
        ("", ""),
        ("sqr", "did you mean `sqrt`?"),
        (r#""a \u002b ^""#, "write `**` for a power"),
        ("0.0", ""),
    ];
    assert_eq!(marked, expected);
}

#[test]
fn unknown_bands_are_marked_inside_the_text() {
    let (value, text) = option(r#"{ bands = { x = "red + nri" } }"#);
    let op = super::compile(&value).unwrap();
    let found = op.bands(&Some(vec!["red".into(), "nir".into()])).unwrap_err();
    assert_eq!(&text[found[0].span.clone()], "nri");
    assert_eq!(found[0].help, "did you mean `nir`?");
    assert_eq!(op.bands(&Some(vec!["red".into(), "nri".into()])), Ok(Some(vec!["x".into()])));
    assert_eq!(op.bands(&None), Ok(Some(vec!["x".into()])));
    let red = item(vec![member("s", vec![band("red", &[[1_u8]])])]);
    assert_eq!(
        op.shape(&shape(&red), &red).unwrap_err().message,
        "`s`: `x`: unknown band `nri`; bands are `red`"
    );
}

#[test]
fn integer_types_need_a_nodata_that_fits() {
    let found = faults(&ENTRY, r#"{ bands = { x = "a" }, dtype = "int16" }"#);
    assert_eq!(found[0].1.help, "add one that no result needs, such as `nodata = -32768`");
    let found = faults(&ENTRY, r#"{ bands = { x = "a" }, dtype = "uint8", nodata = -1 }"#);
    assert_eq!(
        (found[0].0.as_str(), found[0].1.message.as_str()),
        ("-1", "nodata `-1` does not fit into `uint8`")
    );
    compile(&ENTRY, r#"{ bands = { x = "a" }, dtype = "uint64", nodata = "18446744073709551615" }"#);
    compile(&ENTRY, ENTRY.example);
}
