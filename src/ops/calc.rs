//! `calc`: new bands from formulas on the bands there are.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::blocks::{BLOCK, HELPERS, for_each_block};
use super::codes::{BAD_FORMULA, UNKNOWN_BAND};
use super::number::Number;
use super::rasters::{Part, take_raster, with_wanted};
use crate::config::{Entries, Fault, Span, Spanned, Value, codes, from_value};
use crate::contract::{
    BandNames, BandShape, Compute, ComputeContext, Environment, Failure, Item, Kind, MemberShape, Op,
    OpEntry, Payload, Port, Shape, Take,
};
use crate::formula::{Formula, FormulaError, Program, Registers, STRIP};
use crate::raster::{
    Band, BandDescription, BandPixels, DataType, Encoding, Member, Neighbour, Raster, Validity, Window,
    nodata_of_type, with_pixel_type,
};

/// The line of the table.
pub const ENTRY: OpEntry = OpEntry {
    name: "calc",
    summary: "Computes new bands from formulas on the bands there are.",
    accepts: &[Port::Raster],
    example: r#"{ bands = { ndvi = "(nir - red) / (nir + red)" }, dtype = "float32" }"#,
    schema: |generator| generator.subschema_for::<CalcOptions>(),
    compile: |value, _: &Environment| compile(value),
};

/// Computes new bands from formulas. The output has these bands alone, in the order of their declaration.
///
/// A formula is made of numbers, band names (in backquotes where they have other characters than letters, digits and
/// `_`), `+ - * / % **`, `< <= > >= == !=`, `and or not`, and functions: `abs`, `sqrt`, `exp`, `log`, `log10`, `log2`,
/// `sin`, `cos`, `tan`, `asin`, `acos`, `atan`, `atan2(y, x)`, `min(a, b, …)`, `max(a, b, …)`, `clip(x, low, high)`,
/// `round`, `floor`, `ceil`, `sign`, `pow(x, y)`, `where(condition, a, b)`, `isnodata(x)`, `isvalid(x)`. `pi`, `e`, `nan`
/// and `nodata` are constants unless a band has the name. Operators bind as in Python; `%` has the sign of the divisor.
/// A condition counts as 1 or 0 where a number is needed.
///
/// Everything is computed in 64-bit floating point. A pixel is nodata where a band that the formula reads is nodata, and
/// where any step has no finite result: a division by zero, the logarithm of zero. Of `where`, only the condition and the
/// chosen branch count.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CalcOptions {
    /// The formula of each output band, by its name.
    bands: Entries<Spanned<String>>,
    /// The type of the output's pixels. Results are rounded to it, halves away from zero, and clamped to its range, never
    /// wrapped. Default `float32`.
    dtype: Option<DataType>,
    /// The pixel value that marks nodata: a number of the output's type, or `nan`. Integer types need one; the default of
    /// floating-point types is `nan`. A valid result that would get this value gets the next value beside it instead.
    nodata: Option<Spanned<Number>>,
    /// Results are divided by it before they are rounded, and it is written as the bands' scale. Default 1.
    scale: Option<Spanned<f64>>,
    /// Subtracted from results before they are divided by `scale`, and written as the bands' offset. Default 0.
    offset: Option<Spanned<f64>>,
}

/// The compiled op.
#[derive(Debug)]
struct Calc {
    outputs: Vec<Output>,
    encoding: Encoding,
    nodata_text: String,
}

/// One output band.
#[derive(Debug)]
struct Output {
    name: String,
    text: Spanned<String>,
    formula: Formula,
}

fn compile(value: &Value) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: CalcOptions = from_value(value)?;
    let mut faults = Vec::new();
    if options.bands.is_empty() {
        faults.push(
            Fault::error(codes::MISSING_KEY, value.span.clone(), "expected at least one band")
                .help("write `bands = { name = \"formula\" }`"),
        );
    }
    let mut outputs = Vec::new();
    for (name, text) in options.bands.0 {
        match Formula::parse(&text.value) {
            Ok(formula) => outputs.push(Output { name: name.value, text, formula }),
            Err(error) => faults.push(fault(BAD_FORMULA, &text, &error)),
        }
    }
    let data_type = options.dtype.unwrap_or(DataType::Float32);
    let nodata =
        nodata(options.nodata.as_ref(), data_type, &value.span).map_err(|found| faults.extend(found));
    let scale = factor("scale", options.scale.as_ref(), 1.0).map_err(|found| faults.extend(found));
    let offset = factor("offset", options.offset.as_ref(), 0.0).map_err(|found| faults.extend(found));
    match (nodata, scale, offset) {
        (Ok((nodata, nodata_text)), Ok(scale), Ok(offset)) if faults.is_empty() => {
            let encoding = Encoding { data_type, nodata: Some(nodata), scale, offset };
            Ok(Arc::new(Calc { outputs, encoding, nodata_text }))
        }
        _ => Err(faults),
    }
}

/// The nodata value with its text.
fn nodata(
    given: Option<&Spanned<Number>>,
    data_type: DataType,
    options: &Span,
) -> Result<(f64, String), Vec<Fault>> {
    match given {
        Some(number) => nodata_of_type(number.as_str(), data_type).map_err(|message| {
            vec![Fault::error(codes::OUT_OF_RANGE, number.span.clone(), format!("nodata {message}"))]
        }),
        None if data_type.is_float() => Ok((f64::NAN, "nan".into())),
        None => {
            let message = format!("`{data_type}` has no value of its own for nodata");
            let (low, high) = data_type.range();
            let usual = if low < 0.0 { low } else { high };
            let help = format!("add one that no result needs, such as `nodata = {usual}`");
            Err(vec![
                Fault::error(codes::MISSING_KEY, options.clone(), message)
                    .labelled("without `nodata`")
                    .help(help),
            ])
        }
    }
}

/// A finite number, for `scale` not zero.
fn factor(name: &str, given: Option<&Spanned<f64>>, default: f64) -> Result<f64, Vec<Fault>> {
    let Some(number) = given else { return Ok(default) };
    if number.is_finite() && (name != "scale" || number.value != 0.0) {
        return Ok(number.value);
    }
    let message = format!("`{name}` cannot be `{}`", number.value);
    Err(vec![Fault::error(codes::OUT_OF_RANGE, number.span.clone(), message)])
}

/// The fault of a formula, marked inside the pipeline's text where that is possible.
fn fault(code: &'static str, text: &Spanned<String>, error: &FormulaError) -> Fault {
    Fault::error(code, place(text, &error.span), error.to_string()).help(error.problem.help())
}

/// The place of a part of a string. Only a string without escapes and parameters stands in the text as it is, which
/// shows by its length with the two quotes; of others the whole is marked.
fn place(text: &Spanned<String>, part: &Span) -> Span {
    let begin = text.span.start + 1;
    let is_plain = text.span.len() == text.value.len() + 2;
    if is_plain { begin + part.start..begin + part.end } else { text.span.clone() }
}

impl Op for Calc {
    fn gives(&self, _input: Option<Port>) -> Port {
        Port::Raster
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Cores, Take::Memory]
    }

    fn bands(&self, input: &BandNames) -> Result<BandNames, Vec<Fault>> {
        if let Some(names) = input {
            let faults: Vec<Fault> = self.outputs.iter().flat_map(|output| output.faults(names)).collect();
            if !faults.is_empty() {
                return Err(faults);
            }
        }
        Ok(Some(self.outputs.iter().map(|output| output.name.clone()).collect()))
    }

    fn shape(&self, input: &Shape, _item: &Item) -> Result<Shape, Failure> {
        let member = |member: &MemberShape| {
            let names: Vec<&str> = member.bands.iter().map(|band| band.name.as_str()).collect();
            self.programs(&names).map_err(|failure| failure.within(format_args!("`{}`", member.id)))?;
            Ok(MemberShape { bands: self.band_shapes(), ..member.clone() })
        };
        Ok(Shape::raster(input.members.iter().map(member).collect::<Result<_, Failure>>()?))
    }

    fn scratch(&self, input: &Shape, _output: &Shape) -> u64 {
        let widest = |member: &MemberShape| {
            let names: Vec<&str> = member.bands.iter().map(|band| band.name.as_str()).collect();
            let programs = self.programs(&names).unwrap_or_default();
            programs.iter().map(Program::scratch).max().unwrap_or_default()
        };
        let one_thread = input.members.iter().map(widest).max().unwrap_or_default();
        one_thread * (1 + HELPERS as u64)
    }

    fn manifest(&self) -> Json {
        let bands: Vec<Json> =
            self.outputs.iter().map(|output| json!([output.name, output.text.value])).collect();
        json!({
            "bands": bands,
            "dtype": self.encoding.data_type,
            "nodata": self.nodata_text,
            "scale": self.encoding.scale,
            "offset": self.encoding.offset,
        })
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Compute(self)
    }
}

impl Output {
    fn faults(&self, bands: &[String]) -> Vec<Fault> {
        let errors = self.formula.compile(bands).err().unwrap_or_default();
        errors.iter().map(|error| fault(UNKNOWN_BAND, &self.text, error)).collect()
    }

    fn program(&self, bands: &[&str]) -> Result<Program, Failure> {
        self.formula.compile(bands).map_err(|errors| {
            let first = errors.first().expect("a formula that does not compile says why");
            Failure::item(format!("`{}`: {first}; {}", self.name, first.problem.help()))
        })
    }
}

impl Calc {
    fn programs(&self, bands: &[&str]) -> Result<Vec<Program>, Failure> {
        self.outputs.iter().map(|output| output.program(bands)).collect()
    }

    fn band_shapes(&self) -> Vec<BandShape> {
        let shape = |output: &Output| BandShape {
            name: output.name.clone(),
            data_type: self.encoding.data_type,
            // Any division may leave a pixel without a value.
            has_mask: true,
        };
        self.outputs.iter().map(shape).collect()
    }

    fn member(&self, member: Member, window: Window, context: &ComputeContext) -> Result<Member, Failure> {
        let part = Part::of(&member, &window)?;
        let inputs: Vec<Band> = member.bands.into_iter().map(Band::in_row_order).collect();
        let names: Vec<&str> = inputs.iter().map(|band| band.description.name.as_str()).collect();
        let programs =
            self.programs(&names).map_err(|failure| failure.within(format_args!("`{}`", member.id)))?;
        let bands = self.outputs.iter().zip(&programs).map(|(output, program)| {
            let (pixels, validity) = with_pixel_type!(self.encoding.data_type, T => {
                self.pixels::<T>(program, &inputs, part, context)?
            });
            Ok(Band { description: self.describe(&output.name), pixels, validity })
        });
        let bands = bands.collect::<Result<_, Failure>>()?;
        Ok(Member { id: member.id, grid: member.grid, window, bands, tags: member.tags })
    }

    fn describe(&self, name: &str) -> BandDescription {
        BandDescription {
            nodata: Some(self.nodata_text.clone()),
            scale: self.encoding.scale,
            offset: self.encoding.offset,
            ..BandDescription::named(name)
        }
    }

    fn pixels<T: Neighbour>(
        &self,
        program: &Program,
        inputs: &[Band],
        part: Part,
        context: &ComputeContext,
    ) -> Result<(BandPixels, Validity), Failure> {
        let (mut pixels, mut valid) = (vec![T::default(); part.pixels()], vec![0; part.pixels()]);
        let blocks = pixels.chunks_mut(BLOCK).zip(valid.chunks_mut(BLOCK)).enumerate().collect();
        for_each_block(context, blocks, |(index, (pixels, valid)): (usize, (&mut [T], &mut [u8]))| {
            let begin = index * BLOCK;
            let mut registers = Registers::default();
            part.stretches(begin, begin + pixels.len(), STRIP, |from, to, length| {
                let values = program.run(&mut registers, length, |band, out| inputs[band].load(from, out));
                let own = to - begin..to - begin + length;
                self.encoding.store(values, &mut pixels[own.clone()], &mut valid[own]);
            });
            Ok(())
        })?;
        Ok((BandPixels::from_rows(pixels, part.dim()), Validity::from_rows(valid, part.dim())))
    }
}

impl Compute for Calc {
    fn compute(&self, mut item: Item, context: &ComputeContext) -> Result<Item, Failure> {
        let members = with_wanted(take_raster(&mut item)?, context)?
            .map(|(member, window)| self.member(member, window, context))
            .collect::<Result<_, Failure>>()?;
        item.payload = Payload::Raster(Raster { members });
        Ok(item)
    }
}

#[cfg(test)]
mod tests {
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
        let output =
            run(&compile(&ENTRY, options), item(vec![member("a", vec![band("a", &[[1234_u16]])])]), &[]);
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
        let found =
            faults(&ENTRY, r#"{ bands = { a = "1 +", b = "sqr(x)", c = "a \u002b ^" }, scale = 0.0 }"#);
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
}
