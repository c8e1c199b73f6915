//! `read`: decodes bands of files into typed arrays with their validity.
//!
//! Files are read where they are: local ones in place, others from the bytes that `fetch` brought. Every piece of
//! work opens its own handle and reads the window that is wanted of it.

mod layout;
mod member;
mod options;
mod scaling;
mod selection;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use layout::{KnownFile, Layout};
use options::{BandTable, Bands, ReadOptions};
use serde_json::Value as Json;

use crate::config::{Fault, Value, ValueKind, from_value};
use crate::contract::{
    AssetNeed, BandNames, Compute, ComputeContext, Environment, Failure, Item, Kind, MemberShape, Op,
    OpEntry, Payload, Port, Shape, Take,
};
use crate::raster::{Raster, Window};

/// The line of the registry.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "read",
    summary: "Decodes bands of files into typed arrays with a validity mask.",
    accepts: &[Port::Asset, Port::Blob, Port::File],
    example: "{ bands = { red = 3, nir = 4 } }",
    schema: |generator| generator.subschema_for::<ReadOptions>(),
    compile,
};

/// The compiled op.
struct Read {
    options: ReadOptions,
}

fn compile(value: &Value, _: &Environment) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: ReadOptions = from_value(value)?;
    let faults = faults(&options, value);
    if faults.is_empty() { Ok(Arc::new(Read { options })) } else { Err(faults) }
}

/// What is wrong with options of the right types.
fn faults(options: &ReadOptions, value: &Value) -> Vec<Fault> {
    let at = |key: &str| place(value, &[key]);
    let mut faults = Vec::new();
    if options.max_size == Some(0) {
        faults.push(Fault::error("out-of-range", at("max-size"), "`max-size` is at least 1, found `0`"));
    }
    let Some(Bands(bands)) = &options.bands else { return faults };
    if bands.is_empty() {
        let fault = Fault::error("out-of-range", at("bands"), "`bands` names no band");
        faults.push(fault.help("leave `bands` out to read all"));
    }
    for (name, source) in bands {
        if BandTable::from(source).band == Some(0) {
            let place = place(value, &["bands", name]);
            faults.push(Fault::error(
                "out-of-range",
                place,
                format!("`{name}`: band numbers count from 1, found `0`"),
            ));
        }
    }
    faults
}

/// Where the value of a path of keys stands, or the nearest table around it.
fn place(value: &Value, keys: &[&str]) -> std::ops::Range<usize> {
    let inner = match (&value.kind, keys.first()) {
        (ValueKind::Table(table), Some(key)) => table.get(key),
        _ => None,
    };
    inner.map_or_else(|| value.span.clone(), |inner| place(inner, &keys[1..]))
}

impl Op for Read {
    fn gives(&self, _: Option<Port>) -> Port {
        Port::Raster
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Cores, Take::Memory]
    }

    fn bands(&self, _: &BandNames) -> Result<BandNames, Vec<Fault>> {
        let names = |Bands(bands): &Bands| bands.iter().map(|(name, _)| name.clone()).collect();
        Ok(self.options.bands.as_ref().map(names))
    }

    fn reads_assets(&self) -> Option<Vec<String>> {
        let Bands(bands) = self.options.bands.as_ref()?;
        let mut assets = BTreeSet::new();
        for (_, source) in bands {
            assets.insert(BandTable::from(source).asset?);
        }
        assets.extend(self.options.grid.clone());
        Some(assets.into_iter().collect())
    }

    fn shape(&self, input: &Shape, item: &Item) -> Result<Shape, Failure> {
        let ids = member::ids(item);
        let count = input.assets.iter().map(|asset| asset.member + 1).max().unwrap_or(0).max(ids.len());
        let shape = |index: usize| {
            let layout = self.layout(&known_files(input, index, Some(item)))?;
            Ok(MemberShape {
                id: ids.get(index).cloned().unwrap_or_else(|| item.id.to_string()),
                window: layout.grid.whole(),
                grid: Arc::clone(&layout.grid),
                bands: layout.bands.iter().map(|band| band.shape.clone()).collect(),
            })
        };
        (0..count).map(shape).collect::<Result<Vec<_>, Failure>>().map(Shape::raster)
    }

    fn region(&self, _: &[Window], _: &Shape, _: &Shape) -> Result<Vec<Window>, Failure> {
        Ok(Vec::new())
    }

    fn asset_needs(
        &self,
        wanted: &[Window],
        input: &Shape,
        output: &Shape,
    ) -> Result<Vec<AssetNeed>, Failure> {
        let mut needs = Vec::new();
        for (index, member) in output.members.iter().enumerate() {
            let window = wanted.get(index).copied().unwrap_or_else(|| member.grid.whole());
            let files = known_files(input, index, None);
            needs.extend(needs_of(&self.layout(&files)?, &files, index, &window));
        }
        Ok(needs)
    }

    fn scratch(&self, input: &Shape, output: &Shape) -> u64 {
        let of_member = |(index, member): (usize, &MemberShape)| {
            let layout = self.layout(&known_files(input, index, None)).ok()?;
            Some(layout.scratch(&member.window))
        };
        output.members.iter().enumerate().filter_map(of_member).max().unwrap_or(0)
    }

    fn manifest(&self) -> Json {
        serde_json::to_value(&self.options).expect("the options are plain data with text keys")
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Compute(self)
    }
}

impl Read {
    fn layout(&self, files: &[KnownFile]) -> Result<Layout, Failure> {
        Layout::new(&self.options, files)
    }
}

impl Compute for Read {
    fn compute(&self, item: Item, context: &ComputeContext) -> Result<Item, Failure> {
        let mut members = Vec::new();
        for (index, source) in member::sources(&item)?.into_iter().enumerate() {
            let known = known_files(&context.input, index, Some(&item));
            member::warn(&known, &item);
            let wanted = context.wanted.get(index);
            members.push(member::read(&self.options, source, &known, wanted, &|| context.cancelled())?);
        }
        Ok(Item { payload: Payload::Raster(Raster { members }), ..item })
    }
}

/// The files of a member as its shape knows them, with what the item's catalogue says of them.
fn known_files(input: &Shape, member: usize, item: Option<&Item>) -> Vec<KnownFile> {
    let of_member = input.assets.iter().filter(|asset| asset.member == member);
    let known = of_member.map(|asset| {
        let source = item.and_then(|item| member::asset(item, member, &asset.name));
        KnownFile {
            name: asset.name.clone(),
            shown: source.map_or_else(|| asset.name.clone(), |source| member::shown(&source.location)),
            header: asset.header.clone(),
            metadata: source.map(|source| Arc::clone(&source.metadata)),
        }
    });
    known.collect()
}

/// What a window needs of each file. A file that does not reach the window is not needed.
fn needs_of(layout: &Layout, files: &[KnownFile], member: usize, window: &Window) -> Vec<AssetNeed> {
    let need = |file: &layout::FileLayout| {
        let mut bands: Vec<_> = layout.bands_of(file.index).map(|(_, band)| band.selected.band).collect();
        bands.sort_unstable();
        bands.dedup();
        AssetNeed {
            member,
            name: files[file.index].name.clone(),
            bands,
            window: layout.source_window(file, window),
            overview: file.overview,
        }
    };
    layout.files.iter().map(need).filter(|need| need.window.pixels() > 0).collect()
}
