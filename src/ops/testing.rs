//! Small rasters, options and contexts for the tests of ops.

use std::path::Path;
use std::sync::Arc;

use futures::TryStreamExt;
use tokio_util::sync::CancellationToken;

use crate::config::{Fault, Value, parse};
use crate::contract::{
    BandShape, Compute, ComputeContext, Environment, Failure, Item, Kind, Lineage, MemberShape, Op, OpEntry,
    Payload, Shape, SourceContext,
};
use crate::raster::{
    Band, BandDescription, BandPixels, Grid, Member, Pixel, Placement, Raster, Validity, Window,
};
use crate::remote::StageClient;
use crate::resources::Bytes;

/// The value of `option = …`, and the text that its spans are of.
pub(super) fn option(value: &str) -> (Value, String) {
    let text = format!("option = {value}");
    let (tree, faults) = parse(&text);
    assert!(faults.is_empty(), "{faults:?}");
    (tree.get("option").expect("the text has one key").clone(), text)
}

/// The op of these options.
pub(super) fn compile(entry: &OpEntry, options: &str) -> Arc<dyn Op> {
    let compiled = (entry.compile)(&option(options).0, &Environment::default());
    compiled.unwrap_or_else(|faults| panic!("{options}: {faults:?}"))
}

/// The faults of these options: what each marks, and its message.
pub(super) fn faults(entry: &OpEntry, options: &str) -> Vec<(String, Fault)> {
    let (value, text) = option(options);
    let Err(faults) = (entry.compile)(&value, &Environment::default()) else { panic!("{options} compiles") };
    faults.into_iter().map(|fault| (text[fault.span.clone()].to_owned(), fault)).collect()
}

/// The items of a source whose options are these keys.
pub(super) async fn listed(entry: &OpEntry, keys: &str, folder: &Path) -> Result<Vec<Item>, Failure> {
    let op = compile_in(entry, keys, folder).unwrap_or_else(|faults| panic!("{keys}: {faults:?}"));
    let Kind::Source(source) = op.kind() else { panic!("a source") };
    let (client, cancel) = (StageClient::default(), CancellationToken::default());
    source.list(SourceContext { stage: "listed".into(), client, cancel }).try_collect().await
}

/// The op whose options are these keys, in a pipeline of this folder.
pub(super) fn compile_in(entry: &OpEntry, keys: &str, folder: &Path) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let (value, faults) = parse(keys);
    assert!(faults.is_empty(), "{faults:?}");
    (entry.compile)(&value, &Environment { folder: folder.to_owned(), ..Environment::default() })
}

/// A band from rows of pixels, all valid.
pub(super) fn band<T: Pixel, const COLUMNS: usize>(name: &str, rows: &[[T; COLUMNS]]) -> Band {
    Band {
        description: BandDescription::named(name),
        pixels: BandPixels::from_rows(rows.concat(), (rows.len(), COLUMNS)),
        validity: Validity::All,
    }
}

/// The same band with only these pixels valid.
pub(super) fn masked<const COLUMNS: usize>(band: Band, rows: &[[u8; COLUMNS]]) -> Band {
    Band { validity: Validity::from_rows(rows.concat(), (rows.len(), COLUMNS)), ..band }
}

/// A member that holds the whole of its grid of 10 m pixels.
pub(super) fn member(id: &str, bands: Vec<Band>) -> Member {
    let (height, width) = bands[0].pixels.dim();
    let grid = Grid {
        crs: None,
        geotransform: [500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0],
        width: width as u64,
        height: height as u64,
    };
    Member { id: id.into(), window: grid.whole(), grid: Arc::new(grid), bands, tags: Arc::default() }
}

/// An item with these members.
pub(super) fn item(members: Vec<Member>) -> Item {
    Item {
        id: "scene".into(),
        properties: Arc::default(),
        lineage: Lineage::default(),
        payload: Payload::Raster(Raster { members }),
    }
}

/// The members of an item.
pub(super) fn members(item: Item) -> Vec<Member> {
    match item.payload {
        Payload::Raster(raster) => raster.members,
        other => panic!("no raster: {other:?}"),
    }
}

/// The form of an item's raster.
pub(super) fn shape(item: &Item) -> Shape {
    let Payload::Raster(raster) = &item.payload else { panic!("no raster") };
    let band = |band: &Band| BandShape {
        name: band.description.name.clone(),
        data_type: band.pixels.data_type(),
        has_mask: matches!(band.validity, Validity::Mask(_)),
    };
    let member = |member: &Member| MemberShape {
        id: member.id.clone(),
        grid: member.grid.clone(),
        window: member.window,
        bands: member.bands.iter().map(band).collect(),
        placement: Placement::Affine,
    };
    Shape::raster(raster.members.iter().map(member).collect())
}

/// A context without idle cores that wants these windows.
pub(super) fn context(wanted: &[Window]) -> ComputeContext {
    ComputeContext {
        stage: "stage".into(),
        item: "scene".into(),
        cancel: CancellationToken::new(),
        wanted: wanted.into(),
        input: Arc::default(),
        output: Arc::default(),
        scratch: std::env::temp_dir(),
        scratch_budget: Bytes::new("scratch".into(), 1 << 30),
        memory: Bytes::new("memory".into(), 1 << 30).overdraw(0),
        idle_cores: None,
    }
}

/// The compute of an op.
pub(super) fn computer(op: Arc<dyn Op>) -> Arc<dyn Compute> {
    match op.kind() {
        Kind::Compute(compute) => compute,
        _ => panic!("the op does not compute"),
    }
}

/// What an op makes of an item, its shape asked first as the engine does.
pub(super) fn run(op: &Arc<dyn Op>, item: Item, wanted: &[Window]) -> Result<Vec<Member>, Failure> {
    op.shape(&shape(&item), &item)?;
    computer(op.clone()).compute(item, &context(wanted)).map(members)
}

/// The values of a band row by row, `None` where it is not valid.
pub(super) fn values(band: &Band) -> Vec<Option<f64>> {
    let (rows, columns) = band.pixels.dim();
    let mut out = vec![0.0; rows * columns];
    band.clone().in_row_order().load(0, &mut out);
    out.into_iter().map(|value| (!value.is_nan()).then_some(value)).collect()
}
