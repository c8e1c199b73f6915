//! What cannot be written, each beside what can.

use super::*;

fn try_encode(bands: Vec<Band>) -> Result<Vec<u8>, TiffError> {
    let member = member(bands);
    encode(&form(&small(), &member)?, &member, 0, &Cores(false))
}

#[test]
fn bands_of_two_types_are_refused_by_name() {
    let error = try_encode(vec![band("a", 1, &[1u8]), band("b", 1, &[1f32])]).unwrap_err();
    assert!(matches!(&error, TiffError::MixedTypes { first, other, .. } if first == "a" && other == "b"));
    assert!(error.to_string().contains("`calc`"));
    assert!(try_encode(vec![band("a", 1, &[1f32]), band("b", 1, &[1f32])]).is_ok());
}

#[test]
fn a_valid_pixel_that_would_read_as_missing_is_refused_with_its_place() {
    let pixels = band("a", 3, &[1u8, 2, 3, 4, 0, 6]);
    let error = try_encode(vec![masked(pixels.clone(), &[0, 1, 1, 1, 1, 1], Some("0"))]).unwrap_err();
    assert!(
        matches!(&error, TiffError::Collision { band, value, col: 1, row: 1 } if band == "a" && value == "0")
    );
    assert!(try_encode(vec![masked(pixels.clone(), &[0, 1, 1, 1, 0, 1], Some("0"))]).is_ok());
    assert!(try_encode(vec![masked(pixels, &[0, 1, 1, 1, 1, 1], Some("9"))]).is_ok());
}

#[test]
fn bands_that_miss_different_pixels_need_a_nodata() {
    let of = |valid: &[u8], nodata| masked(band("b", 2, &[1u8, 2]), valid, nodata);
    let differ = try_encode(vec![of(&[1, 1], None), of(&[1, 0], None)]).unwrap_err();
    assert!(matches!(differ, TiffError::MasksDiffer { col: 1, row: 0, .. }));
    assert!(try_encode(vec![of(&[1, 0], None), of(&[1, 0], None)]).is_ok());
    assert!(try_encode(vec![of(&[1, 1], Some("9")), of(&[1, 0], Some("9"))]).is_ok());
}

#[test]
fn classes_are_never_averaged() {
    let mut classes = band("scl", 1, &[1u8]);
    classes.description.categories = Some(vec!["none".into(), "water".into()]);
    let member = member(vec![classes]);
    let of = |reduction| form(&Settings { reduction, ..small() }, &member);
    assert!(matches!(of(Some(Reduction::Average)), Err(TiffError::ClassesAveraged(..))));
    assert_eq!(of(None).unwrap().reductions, [Reduction::Mode]);
}

#[test]
fn the_floating_point_predictor_needs_floats() {
    let settings = Settings { predictor: Predictor::FloatingPoint, ..small() };
    let bad = form(&settings, &member(vec![band("b", 1, &[1u8])]));
    assert!(matches!(bad, Err(TiffError::PredictorNeedsFloat(_))));
    assert!(form(&settings, &member(vec![band("b", 1, &[1f32])])).is_ok());
}

#[test]
fn a_system_without_keys_is_refused_by_name() {
    let mut member = member(vec![band("b", 1, &[1u8])]);
    assert!(form(&small(), &member).is_ok());
    let grid = Grid { crs: Some(Crs::from_wkt("no system at all")), ..(*member.grid).clone() };
    member.grid = Arc::new(grid);
    assert!(matches!(form(&small(), &member), Err(TiffError::Crs { .. })));
}
