//! `mask`: takes the validity of pixels by what a quality band says of them, or by polygons.

mod options;

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::codes::UNKNOWN_BAND;
use super::polygons::PolygonFile;
use super::rasters::{Part, take_raster, with_wanted};
use crate::config::{Fault, Spanned, suggestion};
use crate::contract::{
    BandNames, BandShape, Compute, ComputeContext, Failure, Item, Kind, MemberShape, Op, OpEntry, Payload,
    Port, Shape, Take,
};
use crate::raster::polygons::{Coverage, GridPolygon};
use crate::raster::{Band, BandTest, DataType, Member, Raster, Selection, Validity, Window};

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "mask",
    summary: "Makes pixels nodata by the values or bits of a quality band, or by polygons.",
    accepts: &[Port::Raster],
    example: r#"{ drop = { band = "scl", values = [0, 1, 3, 8, 9, 10], grow = 3 } }"#,
    schema: |generator| generator.subschema_for::<options::MaskOptions>(),
    compile: options::compile,
};

/// The compiled op.
#[derive(Debug)]
struct Mask {
    keeps: bool,
    selector: Selector,
    grow: u64,
}

/// What selects pixels.
#[derive(Debug)]
enum Selector {
    /// A band, by each of its pixels.
    Band { name: Spanned<String>, test: BandTest },
    /// Polygons.
    Polygons { file: PolygonFile, coverage: Coverage },
}

impl Op for Mask {
    fn gives(&self, _input: Option<Port>) -> Port {
        Port::Raster
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Cores, Take::Memory]
    }

    fn bands(&self, input: &BandNames) -> Result<BandNames, Vec<Fault>> {
        match (input, &self.selector) {
            (Some(names), Selector::Band { name, .. }) if !names.contains(&name.value) => {
                let message = format!("unknown band `{}`", name.value);
                let help = suggestion(&name.value, names.iter().map(String::as_str));
                Err(vec![Fault::error(UNKNOWN_BAND, name.span.clone(), message).help(help)])
            }
            _ => Ok(input.clone()),
        }
    }

    fn shape(&self, input: &Shape, _item: &Item) -> Result<Shape, Failure> {
        let member = |member: &MemberShape| {
            if let Selector::Band { name, test } = &self.selector {
                let band = member.bands.iter().find(|band| band.name == name.value);
                accept(name, test, band.map(|band| band.data_type))
                    .map_err(|failure| failure.within(&member.id))?;
            }
            let bands =
                member.bands.iter().map(|band| BandShape { has_mask: true, ..band.clone() }).collect();
            Ok(MemberShape { bands, ..member.clone() })
        };
        Ok(Shape::raster(input.members.iter().map(member).collect::<Result<_, Failure>>()?))
    }

    fn region(&self, wanted: &[Window], input: &Shape, _output: &Shape) -> Result<Vec<Window>, Failure> {
        if matches!(self.selector, Selector::Polygons { .. }) {
            // Polygons are drawn on the margin without any pixels of it.
            return Ok(wanted.to_vec());
        }
        let grown = |(window, member): (&Window, &MemberShape)| {
            window.grown(self.grow, member.grid.width, member.grid.height)
        };
        Ok(wanted.iter().zip(&input.members).map(grown).collect())
    }

    fn scratch(&self, input: &Shape, _output: &Shape) -> u64 {
        // The selection, the grown one, and then what is kept; while it grows, distances of two bytes each.
        let each = if self.grow == 0 { 3 } else { 4 };
        input.members.iter().map(|member| member.window.pixels() * each).max().unwrap_or_default()
    }

    /// Pixels stay where they are, unless a part is cut out; bands that come without a mask get one and the same.
    fn shared(&self, input: &Shape, output: &Shape) -> u64 {
        let of_member = |(before, after): (&MemberShape, &MemberShape)| {
            let unmasked = before.bands.iter().filter(|band| !band.has_mask).count() as u64;
            let pixel: u64 = before.bands.iter().map(|band| band.data_type.size()).sum();
            let stays = if before.window == after.window { pixel } else { 0 };
            after.window.pixels() * (stays + unmasked.saturating_sub(1))
        };
        input.members.iter().zip(&output.members).map(of_member).sum()
    }

    fn manifest(&self) -> Json {
        let selector = match &self.selector {
            Selector::Band { name, test } => json!({ "band": name.value, "test": test }),
            Selector::Polygons { file, coverage } => {
                json!({ "polygons": file.manifest(), "coverage": coverage })
            }
        };
        json!({ "keeps": self.keeps, "selector": selector, "grow": self.grow })
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Compute(self)
    }
}

/// Whether the band is there and of a type that the test can be made on.
fn accept(name: &str, test: &BandTest, data_type: Option<DataType>) -> Result<(), Failure> {
    match data_type {
        None => Err(Failure::item(format!("no band `{name}`, by which `mask` selects"))),
        Some(data_type) if data_type.is_float() && test.needs_bits() => {
            Err(Failure::item(format!("band `{name}` is `{data_type}`; bits need an integer type")))
        }
        Some(_) => Ok(()),
    }
}

impl Mask {
    fn member(&self, member: Member, wanted: Window, is_whole: bool) -> Result<Member, Failure> {
        let kept = self.kept(&member, &wanted, is_whole).map_err(|failure| failure.within(&member.id))?;
        let part = Part::of(&member, &wanted)?;
        let (row, column) = (part.first / part.stride, part.first % part.stride);
        let cut = |band: Band| band.cut(row..row + part.rows, column..column + part.columns).in_row_order();
        let bands = apply(&kept, member.bands.into_iter().map(cut).collect(), part.dim());
        Ok(Member { id: member.id, grid: member.grid, window: wanted, bands, tags: member.tags })
    }

    /// Which pixels of the wanted window stay.
    fn kept(&self, member: &Member, wanted: &Window, is_whole: bool) -> Result<Vec<u8>, Failure> {
        let around = wanted.grown(self.grow, member.grid.width, member.grid.height);
        match &self.selector {
            Selector::Band { name, test } => {
                let around = if is_whole { member.window } else { around };
                let band = member.bands.iter().find(|band| band.description.name == name.value);
                accept(name, test, band.map(|band| band.pixels.data_type()))?;
                let band = band.expect("`accept` refused a missing band").clone().in_row_order();
                let selection = selected(test, &band, Part::of(member, &around)?);
                let mut kept = self.grown(&selection, &around, wanted)?;
                if !self.keeps {
                    drop_unknown(&band, Part::of(member, wanted)?, &mut kept);
                }
                Ok(kept)
            }
            Selector::Polygons { file, coverage } => {
                let polygons = file.on_grid(&member.grid)?;
                self.grown(&drawn(&polygons, &around, *coverage), &around, wanted)
            }
        }
    }

    /// Which pixels of the wanted window stay, given the selection in the window around it.
    fn grown(&self, selection: &Selection, around: &Window, wanted: &Window) -> Result<Vec<u8>, Failure> {
        let grown = selection.dilated(self.grow as usize);
        let inner = Part::within(around, wanted)?;
        let mut kept = vec![0; inner.pixels()];
        inner.stretches(0, kept.len(), usize::MAX, |from, to, length| {
            let selected = &grown.pixels[from..from + length];
            kept[to..to + length].iter_mut().zip(selected).for_each(|(kept, &selected)| {
                *kept = u8::from((selected != 0) == self.keeps);
            });
        });
        Ok(kept)
    }
}

/// The pixels that the test holds for; those without data where it holds for nodata.
fn selected(test: &BandTest, band: &Band, part: Part) -> Selection {
    let mut pixels = vec![0; part.pixels()];
    let nodata = band.description.nodata.as_deref().is_some_and(|text| test.holds_for(text));
    part.stretches(0, pixels.len(), usize::MAX, |from, to, length| {
        let out = &mut pixels[to..to + length];
        test.run(&band.pixels, from, out);
        if let Some(mask) = band.mask(from..from + length) {
            out.iter_mut()
                .zip(mask)
                .filter(|(_, valid)| **valid == 0)
                .for_each(|(out, _)| *out = u8::from(nodata));
        }
    });
    Selection { columns: part.columns, pixels }
}

/// The pixels of a window that any of the polygons holds.
fn drawn(polygons: &[GridPolygon], window: &Window, coverage: Coverage) -> Selection {
    let columns = window.width as usize;
    let mut pixels = vec![0; columns * window.height as usize];
    for span in polygons.iter().flat_map(|polygon| polygon.spans(window, coverage)) {
        let first = (span.row - window.row) as usize * columns + (span.columns.start - window.col) as usize;
        pixels[first..first + (span.columns.end - span.columns.start) as usize].fill(1);
    }
    Selection { columns, pixels }
}

/// Drops the pixels of which the band says nothing.
fn drop_unknown(band: &Band, part: Part, kept: &mut [u8]) {
    part.stretches(0, kept.len(), usize::MAX, |from, to, length| {
        if let Some(mask) = band.mask(from..from + length) {
            kept[to..to + length]
                .iter_mut()
                .zip(mask)
                .for_each(|(kept, &valid)| *kept &= u8::from(valid != 0));
        }
    });
}

/// The bands with only the kept pixels valid. Bands that shared a mask share one again.
fn apply(kept: &[u8], bands: Vec<Band>, dim: (usize, usize)) -> Vec<Band> {
    let mut known: Vec<(Validity, Validity)> = Vec::new();
    let mut combined = |before: &Validity| {
        if let Some((_, after)) = known.iter().find(|(seen, _)| is_shared(seen, before)) {
            return after.clone();
        }
        let after = Validity::from_rows(both(kept, before), dim);
        known.push((before.clone(), after.clone()));
        after
    };
    bands.into_iter().map(|band| Band { validity: combined(&band.validity), ..band }).collect()
}

/// Whether two validities are one and the same.
fn is_shared(one: &Validity, other: &Validity) -> bool {
    match (one, other) {
        (Validity::All, Validity::All) => true,
        (Validity::Mask(one), Validity::Mask(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

fn both(kept: &[u8], before: &Validity) -> Vec<u8> {
    match before {
        Validity::All => kept.to_vec(),
        Validity::Mask(mask) => {
            mask.iter().zip(kept).map(|(&valid, &kept)| u8::from(valid != 0 && kept != 0)).collect()
        }
    }
}

impl Compute for Mask {
    fn compute(&self, mut item: Item, context: &ComputeContext) -> Result<Item, Failure> {
        let is_whole = context.wanted.is_empty();
        let members = with_wanted(take_raster(&mut item)?, context)?
            .map(|(member, window)| self.member(member, window, is_whole))
            .collect::<Result<_, Failure>>()?;
        item.payload = Payload::Raster(Raster { members });
        Ok(item)
    }
}

#[cfg(test)]
mod tests;
