//! `mask`: takes the validity of pixels by what a quality band says of them, or by polygons.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::codes::{CONFLICT, UNKNOWN_BAND};
use super::number::Number;
use super::rasters::{Part, take_raster, with_wanted};
use crate::config::{Fault, Spanned, Value, codes, from_value, suggestion};
use crate::contract::{
    BandNames, BandShape, Compute, ComputeContext, Environment, Failure, Item, Kind, MemberShape, Op,
    OpEntry, Payload, Port, Shape, Take,
};
use crate::raster::{Band, BandTest, DataType, Member, Raster, Selection, Validity, Window};

/// The line of the table.
pub const ENTRY: OpEntry = OpEntry {
    name: "mask",
    summary: "Makes pixels nodata by the values or bits of a quality band, or by polygons.",
    accepts: &[Port::Raster],
    example: r#"{ drop = { band = "scl", values = [0, 1, 3, 8, 9, 10], grow = 3 } }"#,
    schema: |generator| generator.subschema_for::<MaskOptions>(),
    compile: |value, _: &Environment| compile(value),
};

/// The largest `grow`: beyond it a window would be mostly margin.
const LARGEST_GROW: u64 = 1024;

/// Makes pixels nodata in all bands: those that `drop` selects, or those that `keep` does not. Exactly one of the two.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MaskOptions {
    /// The pixels that become nodata.
    drop: Option<Spanned<MaskRule>>,
    /// The pixels that stay; all others become nodata.
    keep: Option<Spanned<MaskRule>>,
}

/// Which pixels: by a `band` and its `values`, a `band` and `any-bit`, or a `band`, a `field` of its bits and the `values` of
/// that field.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MaskRule {
    /// The band that says which. A pixel without data in it is dropped; it counts as selected where the band's nodata value
    /// is selected.
    band: Option<Spanned<String>>,
    /// The values of the band, or of the field of bits, that select a pixel.
    values: Option<Spanned<Vec<Spanned<Number>>>>,
    /// Selects pixels with any of these bits set; bit 0 is the lowest. The band has an integer type.
    any_bit: Option<Spanned<Vec<Spanned<u32>>>>,
    /// The first bit and the number of bits of a field, whose value is compared with `values`. The band has an integer type.
    field: Option<Spanned<[u32; 2]>>,
    /// Grows the selection by this many pixels, as a disc: to all pixels whose centre is no further from the centre of a
    /// selected one. 0 to 1024, default 0.
    grow: Option<Spanned<u64>>,
}

/// The compiled op.
#[derive(Debug)]
struct Mask {
    keeps: bool,
    band: Spanned<String>,
    test: BandTest,
    grow: u64,
}

fn compile(value: &Value) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: MaskOptions = from_value(value)?;
    let (keeps, rule) = match (options.drop, options.keep) {
        (Some(rule), None) => (false, rule),
        (None, Some(rule)) => (true, rule),
        (Some(_), Some(keep)) => {
            let fault = Fault::error(CONFLICT, keep.span, "`drop` and `keep` exclude each other");
            return Err(vec![fault.help("use two `mask` stages")]);
        }
        (None, None) => {
            let fault = Fault::error(codes::MISSING_KEY, value.span.clone(), "expected `drop` or `keep`");
            return Err(vec![fault.help("write `drop = { band = \"scl\", values = [3, 8, 9] }`")]);
        }
    };
    let (test, grow) = (test(&rule), grow(&rule));
    let band = rule.band.clone().ok_or_else(|| {
        let message = "expected `band`, the band that says which pixels";
        vec![Fault::error(codes::MISSING_KEY, rule.span.clone(), message)]
    });
    match (band, test, grow) {
        (Ok(band), Ok(test), Ok(grow)) => Ok(Arc::new(Mask { keeps, band, test, grow })),
        (band, test, grow) => {
            Err([band.err(), test.err(), grow.err()].into_iter().flatten().flatten().collect())
        }
    }
}

fn grow(rule: &MaskRule) -> Result<u64, Vec<Fault>> {
    match &rule.grow {
        Some(grow) if grow.value > LARGEST_GROW => {
            let message = format!("expected at most `{LARGEST_GROW}` pixels, found `{}`", grow.value);
            Err(vec![Fault::error(codes::OUT_OF_RANGE, grow.span.clone(), message)])
        }
        grow => Ok(grow.as_ref().map_or(0, |grow| grow.value)),
    }
}

fn test(rule: &Spanned<MaskRule>) -> Result<BandTest, Vec<Fault>> {
    match (&rule.values, &rule.any_bit, &rule.field) {
        (Some(values), None, None) => {
            Ok(BandTest::Values(values.iter().map(|value| value.as_str().to_owned()).collect()))
        }
        (None, Some(bits), None) => any_bit(bits),
        (Some(values), None, Some(field)) => field_values(field, values),
        (None, None, Some(field)) => {
            let message = "`field` goes with `values`, the values of these bits";
            Err(vec![Fault::error(codes::MISSING_KEY, field.span.clone(), message)])
        }
        (_, Some(bits), _) => {
            let message = "`any-bit` excludes `values` and `field`";
            Err(vec![Fault::error(CONFLICT, bits.span.clone(), message).help("use two `mask` stages")])
        }
        (None, None, None) => {
            let message = "expected `values`, `any-bit`, or `field` with `values`";
            Err(vec![Fault::error(codes::MISSING_KEY, rule.span.clone(), message)])
        }
    }
}

fn any_bit(bits: &[Spanned<u32>]) -> Result<BandTest, Vec<Fault>> {
    let one = |bit: &Spanned<u32>| {
        1_u64.checked_shl(bit.value).ok_or_else(|| {
            let message = format!("expected a bit from 0 to 63, found `{}`", bit.value);
            vec![Fault::error(codes::OUT_OF_RANGE, bit.span.clone(), message)]
        })
    };
    let mask = bits.iter().try_fold(0, |mask, bit| one(bit).map(|bit| mask | bit))?;
    Ok(BandTest::AnyBit(mask))
}

fn field_values(field: &Spanned<[u32; 2]>, values: &[Spanned<Number>]) -> Result<BandTest, Vec<Fault>> {
    let [start, length] = field.value;
    if length == 0 || start.saturating_add(length) > 64 {
        let message =
            format!("expected a first bit and a number of bits within 64, found `[{start}, {length}]`");
        return Err(vec![Fault::error(codes::OUT_OF_RANGE, field.span.clone(), message)]);
    }
    let mask = u64::MAX >> (64 - length);
    let value = |value: &Spanned<Number>| {
        value.as_str().parse::<u64>().ok().filter(|value| value & !mask == 0).ok_or_else(|| {
            let message = format!("`{}` is no value of {length} bits", value.as_str());
            vec![Fault::error(codes::OUT_OF_RANGE, value.span.clone(), message)]
        })
    };
    Ok(BandTest::Field { start, mask, values: values.iter().map(value).collect::<Result<_, _>>()? })
}

impl Op for Mask {
    fn gives(&self, _input: Option<Port>) -> Port {
        Port::Raster
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Cores, Take::Memory]
    }

    fn bands(&self, input: &BandNames) -> Result<BandNames, Vec<Fault>> {
        match input {
            Some(names) if !names.contains(&self.band.value) => {
                let message = format!("unknown band `{}`", self.band.value);
                let help = suggestion(&self.band.value, names.iter().map(String::as_str));
                Err(vec![Fault::error(UNKNOWN_BAND, self.band.span.clone(), message).help(help)])
            }
            _ => Ok(input.clone()),
        }
    }

    fn shape(&self, input: &Shape, _item: &Item) -> Result<Shape, Failure> {
        let member = |member: &MemberShape| {
            let band = member.bands.iter().find(|band| band.name == self.band.value);
            self.accept(band.map(|band| band.data_type)).map_err(|failure| failure.within(&member.id))?;
            let bands =
                member.bands.iter().map(|band| BandShape { has_mask: true, ..band.clone() }).collect();
            Ok(MemberShape { bands, ..member.clone() })
        };
        Ok(Shape::raster(input.members.iter().map(member).collect::<Result<_, Failure>>()?))
    }

    fn region(&self, wanted: &[Window], input: &Shape, _output: &Shape) -> Result<Vec<Window>, Failure> {
        let grown = |(window, member): (&Window, &MemberShape)| {
            window.grown(self.grow, member.grid.width, member.grid.height)
        };
        Ok(wanted.iter().zip(&input.members).map(grown).collect())
    }

    fn scratch(&self, input: &Shape, _output: &Shape) -> u64 {
        // The selection, the grown one and the distances of two bytes each; then one combined mask.
        input.members.iter().map(|member| member.window.pixels() * 5).max().unwrap_or_default()
    }

    fn manifest(&self) -> Json {
        json!({ "keeps": self.keeps, "band": self.band.value, "test": self.test, "grow": self.grow })
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Compute(self)
    }
}

impl Mask {
    /// Whether the band is there and of a type that the test can be made on.
    fn accept(&self, data_type: Option<DataType>) -> Result<(), Failure> {
        let name = &self.band.value;
        match data_type {
            None => Err(Failure::item(format!("no band `{name}`, by which `mask` selects"))),
            Some(data_type) if data_type.is_float() && self.test.needs_bits() => {
                Err(Failure::item(format!("band `{name}` is `{data_type}`; bits need an integer type")))
            }
            Some(_) => Ok(()),
        }
    }

    fn member(&self, member: Member, wanted: Window, is_whole: bool) -> Result<Member, Failure> {
        let margin = || wanted.grown(self.grow, member.grid.width, member.grid.height);
        let around = if is_whole { member.window } else { margin() };
        let kept = self.kept(&member, &around, &wanted).map_err(|failure| failure.within(&member.id))?;
        let part = Part::of(&member, &wanted)?;
        let (row, column) = (part.first / part.stride, part.first % part.stride);
        let cut = |band: Band| band.cut(row..row + part.rows, column..column + part.columns);
        let bands = apply(&kept, member.bands.into_iter().map(cut).collect(), part.dim());
        Ok(Member { id: member.id, grid: member.grid, window: wanted, bands, tags: member.tags })
    }

    /// Which pixels of the wanted window stay, given the pixels of the window around it.
    fn kept(&self, member: &Member, around: &Window, wanted: &Window) -> Result<Vec<u8>, Failure> {
        let band = member.bands.iter().find(|band| band.description.name == self.band.value);
        self.accept(band.map(|band| band.pixels.data_type()))?;
        let band = band.expect("`accept` refused a missing band").clone().in_row_order();
        let selected = self.selected(&band, Part::of(member, around)?).dilated(self.grow as usize);
        let inner = Part::of(&Member { window: *around, bands: Vec::new(), ..member.clone() }, wanted)?;
        let mut kept = vec![0; inner.pixels()];
        inner.stretches(0, kept.len(), usize::MAX, |from, to, length| {
            let selected = &selected.pixels[from..from + length];
            kept[to..to + length].iter_mut().zip(selected).for_each(|(kept, &selected)| {
                *kept = u8::from((selected != 0) == self.keeps);
            });
        });
        if !self.keeps {
            drop_unknown(&band, Part::of(member, wanted)?, &mut kept);
        }
        Ok(kept)
    }

    fn selected(&self, band: &Band, part: Part) -> Selection {
        let mut pixels = vec![0; part.pixels()];
        let nodata = band.description.nodata.as_deref().is_some_and(|text| self.test.holds_for(text));
        part.stretches(0, pixels.len(), usize::MAX, |from, to, length| {
            let out = &mut pixels[to..to + length];
            self.test.run(&band.pixels, from, out);
            if let Some(mask) = band.mask(from..from + length) {
                out.iter_mut()
                    .zip(mask)
                    .filter(|(_, valid)| **valid == 0)
                    .for_each(|(out, _)| *out = u8::from(nodata));
            }
        });
        Selection { columns: part.columns, pixels }
    }
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
mod tests {
    use super::super::testing::{band, compile, faults, item, masked, member, run, shape, values};
    use super::*;
    use crate::contract::Op;

    fn valid(band: &Band) -> Vec<u8> {
        values(band).iter().map(|value| u8::from(value.is_some())).collect()
    }

    /// What stays of five pixels whose quality is 0 (its nodata), 3, 4, 8 and invalid.
    fn kept(options: &str) -> Vec<u8> {
        let mut scl = masked(band("scl", &[[0_u8, 3, 4, 8, 9]]), &[[0, 1, 1, 1, 0]]);
        scl.description.nodata = Some("0".into());
        let scene = item(vec![member("a", vec![band("red", &[[1_i16; 5]]), scl])]);
        valid(&run(&compile(&ENTRY, options), scene, &[]).unwrap()[0].bands[0])
    }

    #[test]
    fn drop_and_keep_are_opposites_where_the_band_says_something() {
        assert_eq!(kept(r#"{ drop = { band = "scl", values = [3, 8] } }"#), [0, 0, 1, 0, 0]);
        assert_eq!(kept(r#"{ keep = { band = "scl", values = [3, 8] } }"#), [0, 1, 0, 1, 0]);
        assert_eq!(kept(r#"{ drop = { band = "scl", any-bit = [2] } }"#), [0, 1, 0, 1, 0]);
        assert_eq!(kept(r#"{ keep = { band = "scl", field = [0, 2], values = [3, 0] } }"#), [1, 1, 1, 1, 1]);
        assert_eq!(kept(r#"{ drop = { band = "scl", field = [2, 2], values = [2] } }"#), [0, 1, 1, 0, 0]);
    }

    #[test]
    fn what_is_unknown_is_dropped_but_grows_only_when_it_is_selected() {
        assert_eq!(kept(r#"{ drop = { band = "scl", values = [77], grow = 1 } }"#), [0, 1, 1, 1, 0]);
        assert_eq!(kept(r#"{ drop = { band = "scl", values = [0], grow = 1 } }"#), [0, 0, 1, 0, 0]);
        assert_eq!(kept(r#"{ drop = { band = "scl", values = [3], grow = 1 } }"#), [0, 0, 0, 1, 0]);
        assert_eq!(kept(r#"{ keep = { band = "scl", values = [4], grow = 1 } }"#), [0, 1, 1, 1, 0]);
    }

    #[test]
    fn every_band_is_masked_and_pixels_that_were_invalid_stay_so() {
        let qa = band("qa", &[[1_u16, 0, 0]]);
        let red = masked(band("red", &[[5_u8, 6, 7]]), &[[1, 1, 0]]);
        let scene = item(vec![member("a", vec![red, qa])]);
        let output =
            run(&compile(&ENTRY, r#"{ drop = { band = "qa", any-bit = [0] } }"#), scene, &[]).unwrap();
        assert_eq!(values(&output[0].bands[0]), [None, Some(6.0), None]);
        assert_eq!(values(&output[0].bands[1]), [None, Some(0.0), Some(0.0)]);
    }

    #[test]
    fn windows_of_any_size_give_the_pixels_of_the_whole() {
        let rows: Vec<[u8; 13]> =
            (0..11).map(|row| std::array::from_fn(|col| u8::from((row * 31 + col * 17) % 37 == 0))).collect();
        let whole = member("a", vec![band("qa", &rows)]);
        let op = compile(&ENTRY, r#"{ drop = { band = "qa", values = [1], grow = 2 } }"#);
        let expected = valid(&run(&op, item(vec![whole.clone()]), &[]).unwrap()[0].bands[0]);
        assert!(expected.contains(&0) && expected.contains(&1));
        for size in [1, 3, 5, 8] {
            for (row, col) in
                (0..11).step_by(size).flat_map(|row| (0..13).step_by(size).map(move |col| (row, col)))
            {
                let window = Window {
                    col,
                    row,
                    width: (size as u64).min(13 - col),
                    height: (size as u64).min(11 - row),
                };
                let found = windowed(&op, &whole, window);
                let at = |index: u64| (row + index / window.width) * 13 + col + index % window.width;
                let wanted: Vec<u8> =
                    (0..window.pixels()).map(|index| expected[at(index) as usize]).collect();
                assert_eq!(valid(&found.bands[0]), wanted, "{window}");
            }
        }
    }

    /// The op on the region that it asks for, and on nothing more.
    fn windowed(op: &Arc<dyn Op>, whole: &Member, window: Window) -> Member {
        let form = shape(&item(vec![whole.clone()]));
        let region = op.region(&[window], &form, &form).unwrap()[0];
        let (rows, cols) = (region.row as usize, region.col as usize);
        let cut = |band: &Band| {
            band.clone().cut(rows..rows + region.height as usize, cols..cols + region.width as usize)
        };
        let input = Member { window: region, bands: whole.bands.iter().map(cut).collect(), ..whole.clone() };
        run(op, item(vec![input]), &[window]).unwrap().remove(0)
    }

    #[test]
    fn rules_that_say_too_little_or_too_much_are_refused_where_they_stand() {
        let cases = [
            ("{ }", "{ }", "expected `drop` or `keep`"),
            (
                r#"{ drop = { band = "q", values = [1] }, keep = { band = "q", values = [2] } }"#,
                r#"{ band = "q", values = [2] }"#,
                "`drop` and `keep` exclude each other",
            ),
            (
                r#"{ drop = { band = "q" } }"#,
                r#"{ band = "q" }"#,
                "expected `values`, `any-bit`, or `field` with `values`",
            ),
            (r#"{ drop = { band = "q", any-bit = [64] } }"#, "64", "expected a bit from 0 to 63, found `64`"),
            (
                r#"{ drop = { band = "q", field = [1, 2] } }"#,
                "[1, 2]",
                "`field` goes with `values`, the values of these bits",
            ),
            (r#"{ drop = { band = "q", field = [0, 2], values = [4] } }"#, "4", "`4` is no value of 2 bits"),
            (
                r#"{ drop = { band = "q", values = [1], grow = 2000 } }"#,
                "2000",
                "expected at most `1024` pixels, found `2000`",
            ),
        ];
        for (options, marked, message) in cases {
            let (text, fault) = faults(&ENTRY, options).remove(0);
            assert_eq!((text.as_str(), fault.message.as_str()), (marked, message), "{options}");
        }
        compile(&ENTRY, ENTRY.example);
    }

    #[test]
    fn bits_of_floats_and_missing_bands_are_refused() {
        let op = compile(&ENTRY, r#"{ drop = { band = "qa", any-bit = [0] } }"#);
        let scene = |name| item(vec![member("a", vec![band(name, &[[1.0_f32]])])]);
        let message = |name| run(&op, scene(name), &[]).unwrap_err().message;
        assert_eq!(message("qa"), "a: band `qa` is `float32`; bits need an integer type");
        assert_eq!(message("q"), "a: no band `qa`, by which `mask` selects");
        let fault = op.bands(&Some(vec!["qb".into()])).unwrap_err().remove(0);
        assert_eq!(
            (fault.message.as_str(), fault.help.as_str()),
            ("unknown band `qa`", "did you mean `qb`?")
        );
    }
}
