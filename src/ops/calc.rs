//! `calc`: new bands from formulas on the bands there are.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::blocks::{BLOCK, HELPERS, OVERHEAD, for_each_block};
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
pub(super) const ENTRY: OpEntry = OpEntry {
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
pub(super) struct CalcOptions {
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
        OVERHEAD + self.thread_bytes(input)
    }

    fn helpers(&self, input: &Shape, _output: &Shape) -> (u64, u64) {
        (HELPERS as u64, self.thread_bytes(input))
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
    /// What a thread's formulas work in.
    fn thread_bytes(&self, input: &Shape) -> u64 {
        let widest = |member: &MemberShape| {
            let names: Vec<&str> = member.bands.iter().map(|band| band.name.as_str()).collect();
            let programs = self.programs(&names).unwrap_or_default();
            programs.iter().map(Program::scratch).max().unwrap_or_default()
        };
        input.members.iter().map(widest).max().unwrap_or_default()
    }

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
mod tests;
