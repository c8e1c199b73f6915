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
use options::{BandTable, ReadOptions};
use serde_json::{Value as Json, json};

use super::number::Number;
use crate::config::{Entries, Fault, Value, ValueKind, codes, from_value};
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
    let out_of_range = |at, message| Fault::error(codes::OUT_OF_RANGE, at, message);
    let place = |key| table_entry(value, key).map_or_else(|| value.span.clone(), |value| value.span.clone());
    let mut faults = Vec::new();
    if options.max_size == Some(0) {
        faults.push(out_of_range(place("max-size"), "`max-size` is at least 1, found `0`".to_owned()));
    }
    let Some(Entries(bands)) = &options.bands else { return faults };
    if bands.is_empty() {
        let fault = out_of_range(place("bands"), "`bands` names no band".to_owned());
        faults.push(fault.help("leave `bands` out to read all"));
    }
    for (name, source) in bands {
        if BandTable::from(source).band == Some(0) {
            let message = format!("`{}`: band numbers count from 1, found `0`", name.value);
            faults.push(out_of_range(name.span.clone(), message));
        }
    }
    faults
}

fn table_entry<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match &value.kind {
        ValueKind::Table(table) => table.get(key),
        _ => None,
    }
}

impl Op for Read {
    fn gives(&self, _: Option<Port>) -> Port {
        Port::Raster
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Cores, Take::Memory]
    }

    fn bands(&self, _: &BandNames) -> Result<BandNames, Vec<Fault>> {
        let names = |bands: &Entries<_>| bands.iter().map(|(name, _)| name.value.clone()).collect();
        Ok(self.options.bands.as_ref().map(names))
    }

    fn reads_headers(&self) -> bool {
        true
    }

    fn reads_assets(&self) -> Option<Vec<String>> {
        let mut assets = BTreeSet::new();
        for (_, source) in self.options.bands.as_ref()?.iter() {
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
                window: layout.whole(),
                grid: Arc::clone(layout.output_grid()),
                bands: layout.bands.iter().map(|band| band.shape.clone()).collect(),
                placement: layout.placement.clone(),
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
            let window = wanted.get(index).copied().unwrap_or(member.window);
            let files = known_files(input, index, None);
            let layout = self.layout(&files)?;
            needs.extend(needs_of(&layout, &files, index, &layout.own(&window)?));
        }
        Ok(needs)
    }

    fn scratch(&self, input: &Shape, output: &Shape) -> u64 {
        let of_member = |(index, member): (usize, &MemberShape)| {
            let layout = self.layout(&known_files(input, index, None)).ok()?;
            Some(layout.scratch(&layout.own(&member.window).ok()?))
        };
        output.members.iter().enumerate().filter_map(of_member).max().unwrap_or(0)
    }

    fn manifest(&self) -> Json {
        let ReadOptions { bands, grid, scaling, nodata, max_size } = &self.options;
        // A list of pairs, because the order of bands is a part of the result.
        let bands = bands.as_ref().map(|bands| {
            bands
                .iter()
                .map(|(name, source)| json!([name.value, BandTable::from(source)]))
                .collect::<Vec<_>>()
        });
        let nodata = nodata.as_ref().map(Number::as_str);
        json!({ "bands": bands, "grid": grid, "scaling": scaling, "nodata": nodata, "max-size": max_size })
    }

    /// What a reader should know of the files whose bands are read.
    fn warnings(&self, input: &Shape) -> Vec<String> {
        let headers =
            input.assets.iter().filter_map(|asset| asset.header.as_ref().map(|header| (asset, header)));
        let named = headers.flat_map(|(asset, header)| {
            header.warnings().into_iter().map(|warning| format!("asset `{}`: {warning}", asset.name))
        });
        named.collect()
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
            shown: source.map_or_else(|| asset.name.clone(), |source| source.location.to_string()),
            header: asset.header.clone(),
            metadata: source.map(|source| Arc::clone(&source.metadata)),
            placed: asset.placed.clone(),
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
