//! What goes through the pipe comes out as it was, to the bit.

use std::io::Cursor;
use std::sync::Arc;

use bytes::Bytes;
use ndarray::{Array2, arr2};
use serde_json::json;

use super::wire::{Lent, read_item, write_item};
use crate::contract::{
    Asset, Blob, BlobSet, Content, Encoded, EncodedBody, Item, Lineage, Location, OutputFile, Payload,
    TemporaryFile,
};
use crate::raster::{Band, BandDescription, BandPixels, FileBytes, Grid, Member, Raster, Validity, Window};

/// A number that no short decimal is.
const ODD: f64 = 0.1 + 0.2;

fn item(payload: Payload) -> Item {
    let properties = json!({ "cloud": ODD, "name": "ä\n", "n": null });
    let lineage = Lineage {
        parent: Some("p".into()),
        position: Some((-1, 7)),
        window: Some(Window { col: 1, row: 2, width: 3, height: 4 }),
        inputs: [Location::Local("/data/a b.tif".into())].into(),
        levels: vec![vec!["x".into()]],
        ..Lineage::default()
    };
    let serde_json::Value::Object(properties) = properties else { unreachable!("a table") };
    Item { id: "p/-1/7".into(), properties: Arc::new(properties), lineage, payload }
}

fn through_the_pipe(item: &Item) -> Item {
    let mut bytes = Vec::new();
    write_item(&mut bytes, item).expect("a vector takes all");
    let mut from = Cursor::new(&bytes);
    let read = read_item(&mut from).expect("what was written");
    assert_eq!(from.position(), bytes.len() as u64, "nothing is left");
    for length in [0, 7, 9, bytes.len() - 1] {
        assert!(read_item(&mut &bytes[..length]).is_err(), "cut after {length} bytes");
    }
    read
}

fn band(name: &str, pixels: BandPixels, validity: Validity) -> Band {
    let scaled = BandDescription { scale: ODD, offset: -1e-300, ..BandDescription::named(name) };
    Band { description: scaled, pixels, validity }
}

fn member(bands: Vec<Band>) -> Member {
    let geotransform = [ODD, 1.0 / 3.0, 0.0, 5e6, 0.0, -1.0 / 3.0];
    let grid = Grid { crs: None, geotransform, width: 100, height: 100 };
    let tags = Arc::new(vec![(String::new(), "KEY".into(), "value".into())]);
    let window = Window { col: 5, row: 6, width: 3, height: 2 };
    Member { id: "m".into(), grid: Arc::new(grid), window, bands, tags }
}

#[test]
fn rasters_keep_every_bit_and_share_their_masks() {
    let mask = Arc::new(arr2(&[[1_u8, 0, 1], [0, 255, 1]]));
    let floats = arr2(&[[f32::NAN, -0.0, f32::INFINITY], [1.5e-45, f32::MAX, 0.1]]);
    let bands = vec![
        band("floats", BandPixels::Float32(floats.clone().into_shared()), Validity::Mask(mask.clone())),
        band("large", BandPixels::from_rows(vec![u64::MAX, 0, 1, 2, 3, 1 << 63], (2, 3)), Validity::All),
        band("same mask", BandPixels::from_rows(vec![-1_i16; 6], (2, 3)), Validity::Mask(mask)),
    ];
    let sent = item(Payload::Raster(Raster { members: vec![member(bands), member(Vec::new())] }));
    let got = through_the_pipe(&sent);
    assert_eq!((&got.id, &got.properties, got.lineage.position), (&sent.id, &sent.properties, Some((-1, 7))));
    let (Payload::Raster(sent), Payload::Raster(got)) = (sent.payload, got.payload) else {
        panic!("no raster")
    };
    let bits = |band: &Band| match &band.pixels {
        BandPixels::Float32(pixels) => pixels.mapv(f32::to_bits).into_raw_vec_and_offset().0,
        other => panic!("{other:?}"),
    };
    assert_eq!(bits(&sent.members[0].bands[0]), bits(&got.members[0].bands[0]));
    assert_eq!(sent.members[0].bands[1..], got.members[0].bands[1..]);
    assert_eq!(sent.members[0].grid, got.members[0].grid);
    let masks = [&got.members[0].bands[0], &got.members[0].bands[2]].map(|band| match &band.validity {
        Validity::Mask(mask) => mask.clone(),
        Validity::All => panic!("no mask"),
    });
    assert!(Arc::ptr_eq(&masks[0], &masks[1]));
    assert_eq!(got.members[1].bands, []);
}

#[test]
fn pixels_come_row_by_row_whatever_their_layout_and_number() {
    let columns = Array2::from_shape_fn((300, 70), |(row, column)| (row * 1000 + column) as u32);
    let turned = columns.t().as_standard_layout().into_owned().into_shared().reversed_axes();
    assert!(!turned.is_standard_layout());
    let sent = item(Payload::Raster(Raster {
        members: vec![member(vec![band("a", BandPixels::Uint32(turned), Validity::All)])],
    }));
    let Payload::Raster(got) = through_the_pipe(&sent).payload else { panic!("no raster") };
    assert_eq!(got.members[0].bands[0].pixels, BandPixels::Uint32(columns.into_shared()));
}

#[test]
fn bytes_files_and_rows_come_through() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fetched");
    std::fs::write(&path, "x").expect("written");
    let asset = |name: &str| Asset {
        name: name.into(),
        location: Location::Remote("https://h.example/a.tif?sig=1".parse().expect("an address")),
        size: Some(9),
        version: None,
        metadata: Arc::default(),
    };
    let segments = vec![(0, Bytes::from_static(b"abc")), (7, Bytes::from_static(b"de"))];
    let memory = Content::Memory(Arc::new(FileBytes { name: "a".into(), size: 9, segments }));
    let scratch = Content::Scratch(Arc::new(TemporaryFile { path: path.clone(), lease: None }));
    let blobs = [memory, scratch].map(|content| Blob { asset: asset("a"), content });
    let set = BlobSet { id: "s".into(), properties: Arc::default(), blobs: blobs.into() };
    let sent = item(Payload::Blobs(vec![set]));
    let got = through_the_pipe_keeping_files(&sent);
    let Payload::Blobs(sets) = &got.payload else { panic!("no blobs") };
    assert_eq!(sets[0].blobs[0].asset.location, asset("a").location);
    let Content::Memory(bytes) = &sets[0].blobs[0].content else { panic!("not in memory") };
    assert_eq!((bytes.size, &bytes.segments[1]), (9, &(7, Bytes::from_static(b"de"))));
    let lent = Lent::of(&got);
    drop(got);
    drop(lent);
    assert!(path.exists(), "the file is the sender's");
    drop(sent);
    assert!(!path.exists());

    let rows = vec![vec![("mean".to_owned(), json!(ODD)), ("id".to_owned(), json!("a"))]];
    let Payload::Rows(got) = through_the_pipe(&item(Payload::Rows(rows.clone()))).payload else {
        panic!("no rows")
    };
    assert_eq!(got, rows);
    let body = EncodedBody::Memory(Bytes::from_static(b"II*\0"));
    let encoded = Payload::Encoded(Encoded { body, media_type: "image/tiff" });
    let Payload::Encoded(got) = through_the_pipe(&item(encoded)).payload else { panic!("no file") };
    assert_eq!(got.media_type, "image/tiff");
    assert!(matches!(got.body, EncodedBody::Memory(bytes) if &*bytes == b"II*\0"));
    let location = Location::Local("/out/a.tif".into());
    let file = OutputFile { name: "slope".into(), location, size: 3, temporary: None };
    let Payload::Files(got) = through_the_pipe(&item(Payload::Files(vec![file]))).payload else {
        panic!("no file")
    };
    assert_eq!((got[0].name.as_str(), got[0].location.to_string().as_str()), ("slope", "/out/a.tif"));
}

/// As [`through_the_pipe`], without reading a second time: whoever reads a file on scratch has to let it go.
fn through_the_pipe_keeping_files(item: &Item) -> Item {
    let mut bytes = Vec::new();
    write_item(&mut bytes, item).expect("a vector takes all");
    read_item(&mut bytes.as_slice()).expect("what was written")
}
