//! Options, sizes, and the way from rasters and windows to one file.

use ndarray::ArcArray2;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::config::{Table, Value, ValueKind};
use crate::contract::{Environment, Lineage};
use crate::raster::{Band, BandDescription, BandPixels, DataType, Placement, Raster, Window};
use crate::resources::Bytes;

/// The op of these options, each at a place of its own: the first at 0..1, the second at 1..2.
fn compiled(options: &[(&str, ValueKind)]) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let entry = |(at, (key, kind)): (usize, &(&str, ValueKind))| {
        (Spanned::new((*key).to_owned(), at..at + 1), Value { kind: kind.clone(), span: at..at + 1 })
    };
    let table = Table { entries: options.iter().enumerate().map(entry).collect() };
    (ENTRY.compile)(&Value { kind: ValueKind::Table(table), span: 0..9 }, &Environment::default())
}

fn text(value: &str) -> ValueKind {
    ValueKind::String(value.into())
}

fn names(values: &[&str]) -> ValueKind {
    ValueKind::Array(values.iter().map(|name| Value { kind: text(name), span: 0..1 }).collect())
}

/// An image of 40×30 pixels, 7 below its last row's, with bands of two types.
fn item() -> Item {
    let rising = ArcArray2::from_shape_fn((30, 40), |(row, col)| (row * 40 + col) as f32);
    let band = |name: &str, pixels| Band {
        description: BandDescription::named(name),
        pixels,
        validity: Validity::All,
    };
    let bands = vec![
        band("height", BandPixels::Float32(rising.clone())),
        band("classes", BandPixels::Uint8(rising.mapv(|value| value as u8).into_shared())),
        band("slope", BandPixels::Float32(rising)),
    ];
    let grid = Grid { crs: None, geotransform: [0.0, 1.0, 0.0, 0.0, 0.0, -1.0], width: 40, height: 30 };
    let member =
        Member { id: "dem".into(), window: grid.whole(), grid: Arc::new(grid), bands, tags: Arc::default() };
    Item {
        id: "dem".into(),
        properties: Arc::default(),
        lineage: Lineage::default(),
        payload: Payload::Raster(Raster { members: vec![member] }),
    }
}

fn raster_of(item: &Item) -> &Raster {
    match &item.payload {
        Payload::Raster(raster) => raster,
        _ => panic!("it is a raster"),
    }
}

fn shape(item: &Item) -> Shape {
    let band = |band: &Band| BandShape {
        name: band.description.name.clone(),
        data_type: band.pixels.data_type(),
        has_mask: false,
    };
    let member = |member: &Member| MemberShape {
        id: member.id.clone(),
        grid: member.grid.clone(),
        window: member.window,
        bands: member.bands.iter().map(band).collect(),
        placement: Placement::Affine,
    };
    Shape::raster(raster_of(item).members.iter().map(member).collect())
}

fn context(item: &Item) -> ComputeContext {
    ComputeContext {
        stage: "encoded".into(),
        item: item.id.clone(),
        cancel: CancellationToken::new(),
        wanted: Arc::from([]),
        input: Arc::new(shape(item)),
        output: Arc::default(),
        scratch: std::env::temp_dir(),
        scratch_budget: Bytes::new("scratch".into(), 1 << 30),
        memory: Bytes::new("memory".into(), 1 << 30).overdraw(0),
        idle_cores: None,
    }
}

/// What stands in a finished item.
fn bytes_of(item: &Item) -> Vec<u8> {
    match &item.payload {
        Payload::Encoded(Encoded { body: EncodedBody::Memory(bytes), .. }) => bytes.to_vec(),
        Payload::Encoded(Encoded { body: EncodedBody::Scratch(file), .. }) => {
            std::fs::read(&file.path).unwrap()
        }
        _ => panic!("it is encoded"),
    }
}

/// A left part of an item, or its right part.
fn window(item: &Item, window: Window) -> Item {
    let member = raster_of(item).members[0].clone().cut(window).unwrap();
    let lineage = Lineage { parent: Some(item.id.clone()), window: Some(window), ..Lineage::default() };
    Item {
        id: "dem/0/0".into(),
        lineage,
        payload: Payload::Raster(Raster { members: vec![member] }),
        ..item.clone()
    }
}

#[test]
fn options_are_checked_where_they_stand() {
    let cases = [
        (vec![("blocksize", ValueKind::Integer(500))], "multiple of 16"),
        (vec![("level", ValueKind::Integer(13))], "from 1 to 12"),
        (vec![("level", ValueKind::Integer(5)), ("compress", text("lzw"))], "no levels"),
        (vec![("predictor", text("horizontal")), ("compress", text("none"))], "nothing is compressed"),
        (vec![("overviews", ValueKind::Integer(31))], "31"),
        (vec![("overviews", text("some"))], "some"),
        (vec![("bands", names(&[]))], "at least one band"),
        (vec![("blocksizes", ValueKind::Integer(512))], "blocksizes"),
    ];
    for (options, words) in cases {
        let Err(faults) = compiled(&options) else { panic!("{options:?} compiles") };
        assert!(faults[0].message.contains(words), "{options:?}: {}", faults[0].message);
    }
    let fine = [
        ("blocksize", ValueKind::Integer(496)),
        ("level", ValueKind::Integer(22)),
        ("compress", text("zstd")),
        ("predictor", text("floating-point")),
        ("overviews", text("none")),
    ];
    assert!(compiled(&fine).is_ok());
}

#[test]
fn bands_are_chosen_by_name_and_unknown_ones_told() {
    let op = compiled(&[("bands", names(&["slope", "height"]))]).unwrap();
    let known = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(op.bands(&known(&["height", "slope"])).unwrap(), known(&["slope", "height"]));
    assert_eq!(op.bands(&known(&["height"])).unwrap_err().len(), 1);
}

#[test]
fn bands_of_two_types_are_refused_before_any_pixel_is_read() {
    let refused = compiled(&[]).unwrap().shape(&shape(&item()), &item()).unwrap_err();
    assert!(refused.message.contains("`height` is `float32` and band `classes` is `uint8`"));
    assert!(
        compiled(&[("bands", names(&["slope", "height"]))]).unwrap().shape(&shape(&item()), &item()).is_ok()
    );
}

#[test]
fn groups_of_several_members_are_sent_to_composite() {
    let mut form = shape(&item());
    form.members.push(form.members[0].clone());
    let refused = compiled(&[]).unwrap().shape(&form, &item()).unwrap_err();
    assert!(refused.message.contains("`composite`"));
}

#[test]
fn how_bytes_are_made_is_no_part_of_the_fingerprint() {
    let manifest = |options: &[(&str, ValueKind)]| compiled(options).unwrap().manifest();
    assert_eq!(manifest(&[("assemble", ValueKind::Boolean(true))]), manifest(&[]));
    assert_ne!(manifest(&[("level", ValueKind::Integer(7))]), manifest(&[]));
    assert_eq!(manifest(&[("level", ValueKind::Integer(6))]), manifest(&[]));
}

/// Tiles of noise, which no codec makes smaller, stay below what the header promised.
#[test]
fn the_file_is_never_larger_than_its_form_says() {
    let mut random = fastrand::Rng::with_seed(7);
    let noise = ArcArray2::from_shape_fn((90, 200), |_| random.u16(..));
    for compress in ["deflate", "zstd", "lzw", "none"] {
        let mut item = item();
        let Payload::Raster(raster) = &mut item.payload else { panic!("it is a raster") };
        let grid = Grid { width: 200, height: 90, ..(*raster.members[0].grid).clone() };
        let bands =
            vec![Band { pixels: BandPixels::Uint16(noise.clone()), ..raster.members[0].bands[0].clone() }];
        raster.members[0] =
            Member { window: grid.whole(), grid: Arc::new(grid), bands, ..raster.members[0].clone() };
        let op = compiled(&[("compress", text(compress)), ("blocksize", ValueKind::Integer(64))]).unwrap();
        let promised = op.shape(&shape(&item), &item).unwrap().held;
        assert_eq!(shape(&item).members[0].bands[0].data_type, DataType::Uint16);
        let Kind::Compute(compute) = op.kind() else { panic!("it computes") };
        let bytes = bytes_of(&compute.compute(item.clone(), &context(&item)).unwrap());
        assert!(bytes.len() as u64 <= promised, "{compress}: {} > {promised}", bytes.len());
    }
}

#[test]
fn windows_become_the_file_of_their_parent() {
    let options = |assemble| {
        let options =
            [("bands", names(&["slope"])), ("blocksize", ValueKind::Integer(16)), ("assemble", assemble)];
        compiled(&options).unwrap().kind()
    };
    let (whole, context) = (item(), context(&item()));
    let Kind::Compute(compute) = options(ValueKind::Boolean(false)) else { panic!("it computes") };
    let expected = bytes_of(&compute.compute(whole.clone(), &context).unwrap());

    let Kind::Assemble(assemble) = options(ValueKind::Boolean(true)) else { panic!("it assembles") };
    let right = window(&whole, Window { col: 13, row: 0, width: 27, height: 30 });
    let left = window(&whole, Window { col: 0, row: 0, width: 13, height: 30 });
    let assembly = assemble.begin(&right, &context).unwrap();
    assembly.add(right, &context).unwrap();
    assembly.add(left, &context).unwrap();
    let parent = assembly.finish(&context).unwrap();
    assert_eq!((parent.id.as_str(), &parent.lineage.parent), ("dem", &None));
    assert!(bytes_of(&parent) == expected);

    let Payload::Encoded(Encoded { body: EncodedBody::Scratch(file), .. }) = &parent.payload else {
        panic!("it stands on scratch")
    };
    let path = file.path.clone();
    assert!(path.exists());
    drop(parent);
    assert!(!path.exists());
}

#[test]
fn a_cancelled_item_ends_as_cancelled() {
    let (item, context) = (item(), context(&item()));
    context.cancel.cancel();
    let Kind::Compute(compute) = compiled(&[("bands", names(&["slope"]))]).unwrap().kind() else {
        panic!("it computes")
    };
    let failure = compute.compute(item, &context).unwrap_err();
    assert_eq!(failure.class, crate::events::FailureClass::Cancelled);
}
