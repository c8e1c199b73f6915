//! A formula compiled for an input: instructions on a few registers, each a strip of values.

use super::function::{Binary, Unary};
use super::kernel::{Source, run_binary, run_unary, run_where};

/// Pixels of a strip: the registers of a usual formula stay in the first-level cache.
pub const STRIP: usize = 1024;

/// What computes a formula for an input with given bands.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) bands: Vec<usize>,
    pub(super) instructions: Vec<Instruction>,
    pub(super) registers: usize,
    pub(super) result: Operand,
}

/// What an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operand {
    Register(usize),
    Constant(f64),
}

/// One pass over a strip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    /// What is computed.
    pub(super) action: Action,
    /// The register it writes; never one that it reads.
    pub(super) out: usize,
}

/// What an instruction computes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// The values of a band.
    Load(usize),
    Unary(Unary, Operand),
    Binary(Binary, Operand, Operand),
    Where(usize, Operand, Operand),
}

/// The strips that a program works on; one for each thread.
#[derive(Clone, Debug, Default)]
pub struct Registers(Vec<Vec<f64>>);

impl Program {
    /// The bands that it reads: indices into the bands it was compiled for.
    pub fn bands(&self) -> &[usize] {
        &self.bands
    }

    /// Bytes of the registers of one thread.
    pub fn scratch(&self) -> u64 {
        ((self.registers + 1) * STRIP * size_of::<f64>()) as u64
    }

    /// Computes `length` (at most [`STRIP`]) values: finite ones, and NaN where there is none.
    ///
    /// `load(band, out)` fills `out` with the values of a band (an index into the bands compiled for), NaN where the
    /// band has none.
    pub fn run<'a>(
        &self,
        registers: &'a mut Registers,
        length: usize,
        mut load: impl FnMut(usize, &mut [f64]),
    ) -> &'a [f64] {
        registers.0.resize_with((self.registers + 1).max(registers.0.len()), || vec![0.0; STRIP]);
        for instruction in &self.instructions {
            // Taken out so that the others can be read beside it.
            let mut out = std::mem::take(&mut registers.0[instruction.out]);
            Self::perform(instruction.action, &registers.0, &mut out[..length], &mut load);
            registers.0[instruction.out] = out;
        }
        match self.result {
            Operand::Register(register) => &registers.0[register][..length],
            Operand::Constant(value) => {
                registers.0[self.registers].fill(value);
                &registers.0[self.registers][..length]
            }
        }
    }

    fn perform(
        action: Action,
        registers: &[Vec<f64>],
        out: &mut [f64],
        load: &mut impl FnMut(usize, &mut [f64]),
    ) {
        let length = out.len();
        let source = |operand| match operand {
            Operand::Register(register) => Source::Strip(&registers[register][..length]),
            Operand::Constant(value) => Source::Constant(value),
        };
        match action {
            Action::Load(band) => load(band, out),
            Action::Unary(unary, a) => run_unary(unary, source(a), out),
            Action::Binary(binary, a, b) => run_binary(binary, source(a), source(b), out),
            Action::Where(condition, a, b) => {
                run_where(&registers[condition][..length], source(a), source(b), out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::Formula;
    use super::*;

    const NONE: f64 = f64::NAN;

    /// The value of a formula for one pixel of the bands `a`, `b`, `c`.
    fn value(text: &str, pixel: [f64; 3]) -> f64 {
        let program = Formula::parse(text).unwrap().compile(&["a", "b", "c"]).unwrap();
        program.run(&mut Registers::default(), 1, |band, out| out[0] = pixel[band])[0]
    }

    #[track_caller]
    fn assert_value(text: &str, pixel: [f64; 3], expected: f64) {
        let found = value(text, pixel);
        let is_same = (found.is_nan() && expected.is_nan()) || (found - expected).abs() < 1e-12;
        assert!(is_same, "{text} of {pixel:?}: expected {expected}, found {found}");
    }

    #[test]
    fn arithmetic_is_that_of_real_numbers() {
        // (1000 - 3000) / 4000 and 40000 / 80000 would wrap in 16 bits.
        assert_value("(a - b) / (a + b)", [1000.0, 3000.0, 0.0], -0.5);
        assert_value("(a - b) / (a + b)", [60000.0, 20000.0, 0.0], 0.5);
        assert_value("-a ** 2 + a * a", [3.0, 0.0, 0.0], 0.0);
        assert_value("2 ** -1", [0.0; 3], 0.5);
        assert_value("-7 % 3", [0.0; 3], 2.0);
        assert_value("a % -3", [7.0, 0.0, 0.0], -2.0);
        assert_value("a % 3", [-6.0, 0.0, 0.0], 0.0);
        assert_value("a ** 0.5", [9.0, 0.0, 0.0], 3.0);
    }

    #[test]
    fn functions_give_what_their_names_say() {
        let cases = [
            ("abs(a)", 2.5),
            ("sqrt(c)", 3.0),
            ("exp(0) + log(e) + log10(100) + log2(8)", 7.0),
            ("sin(pi / 2) + cos(0) + tan(0)", 2.0),
            ("asin(1) + acos(1) + atan(0) - atan2(1, 0)", 0.0),
            ("round(a)", -3.0),
            ("round(-a)", 3.0),
            ("floor(a)", -3.0),
            ("ceil(a)", -2.0),
            ("sign(a) + 10 * sign(b) + 100 * sign(0)", 9.0),
            ("min(c, a, b)", -2.5),
            ("max(a, b, c)", 9.0),
            ("clip(c, 0, 1) + clamp(a, 0, 1)", 1.0),
            ("pow(c, 2)", 81.0),
        ];
        for (text, expected) in cases {
            assert_value(text, [-2.5, 4.0, 9.0], expected);
        }
    }

    #[test]
    fn what_is_not_finite_is_no_value_at_once() {
        let texts = [
            "a / b",
            "a % b",
            "log(b)",
            "sqrt(-a)",
            "exp(1000 * a)",
            "b ** -1",
            "asin(2 * a)",
            "nodata",
            "nan",
        ];
        for text in texts {
            assert_value(text, [1.0, 0.0, 0.0], NONE);
        }
        // An infinity on the way would come back as zero.
        assert_value("1 / (a / b)", [1.0, 0.0, 0.0], NONE);
        assert_value("exp(log(b))", [1.0, 0.0, 0.0], NONE);
        assert_value("1 / (a * a)", [1e200, 0.0, 0.0], NONE);
    }

    #[test]
    fn a_missing_operand_gives_a_missing_result() {
        let texts = [
            "a + b",
            "b - a",
            "a * 0",
            "a ** 0",
            "1 ** a",
            "min(a, b)",
            "min(b, a)",
            "max(a, b)",
            "max(b, a)",
            "abs(a)",
            "sign(a)",
            "a < b",
            "b != a",
            "not a == 1",
            "a > 1 and b > 100",
            "b > 0 or a > 0",
            "clip(b, a, 2)",
            "clip(b, 0, a)",
            "where(a > 1, b, c)",
            "where(b > 0, a, c)",
            "atan2(b, a)",
            "a % b",
            "-a",
        ];
        for text in texts {
            assert_value(text, [NONE, 2.0, 3.0], NONE);
            assert!(!value(text, [1.0, 2.0, 3.0]).is_nan(), "{text}");
        }
    }

    #[test]
    fn only_the_chosen_branch_counts() {
        assert_value("where(isnodata(a), b, a)", [NONE, 2.0, 3.0], 2.0);
        assert_value("where(isvalid(a), a, b)", [1.0, NONE, 3.0], 1.0);
        assert_value("where(b > 1, c, a / 0)", [1.0, 2.0, 3.0], 3.0);
        assert_value("isnodata(a / 0) + isvalid(b)", [1.0, 2.0, 3.0], 2.0);
        assert_value("where(b == 2, nodata, c)", [1.0, 2.0, 3.0], NONE);
    }

    #[test]
    fn conditions_count_as_one_and_zero() {
        assert_value("(a < b) + 2 * (a >= b) + 4 * (a != b and b == 2)", [1.0, 2.0, 0.0], 5.0);
        assert_value("(not a > b) * 7", [1.0, 2.0, 0.0], 7.0);
        assert_value("0 + (a > 5 or b > 1 or c > 5)", [1.0, 2.0, 0.0], 1.0);
        assert_value("0 + (a <= 1 or b <= 2)", [1.0, 2.0, 0.0], 1.0);
    }

    #[test]
    fn registers_are_not_mixed_up_when_they_are_reused() {
        assert_value(
            "where(1 == 1, a, 2) + a * b - (c + a) * (b + where(1 < 0, a, c))",
            [5.0, 7.0, 11.0],
            -248.0,
        );
        assert_value(
            "a * a + b * b + c * c - (a + b + c) ** 2 + 2 * (a * b + b * c + c * a)",
            [5.0, 7.0, 11.0],
            0.0,
        );
        assert_value("(a + b) * (b + c) / ((a - c) * (a - b) + (a + c))", [5.0, 7.0, 11.0], 216.0 / 28.0);
    }

    #[test]
    fn each_band_is_loaded_once_and_constants_cost_nothing() {
        let program =
            Formula::parse("(b - a) / (b + a) * (2 + 3)").unwrap().compile(&["a", "b", "c"]).unwrap();
        assert_eq!(program.bands(), [1, 0]);
        // Two loads, subtract, add, divide, multiply.
        assert_eq!(program.instructions.len(), 6);
        assert_eq!(program.registers, 4);
    }

    #[test]
    fn bands_hide_constants_and_unknown_names_are_all_told() {
        let formula = Formula::parse("e + reed + pi * nri + `e`").unwrap();
        assert_eq!(formula.bands(), ["reed", "nri", "e"]);
        let faults = formula.compile(&["red", "nir"]).unwrap_err();
        let told: Vec<_> = faults.iter().map(|fault| (fault.span.clone(), fault.problem.help())).collect();
        let expected = [
            (4..8, "did you mean `red`?".to_owned()),
            (16..19, "did you mean `nir`?".to_owned()),
            (22..25, "bands are `red`, `nir`".to_owned()),
        ];
        assert_eq!(told, expected);
        let program = Formula::parse("e").unwrap().compile(&["e"]).unwrap();
        assert_eq!(program.run(&mut Registers::default(), 1, |_, out| out[0] = 7.0), [7.0]);
    }

    #[test]
    fn a_constant_formula_fills_the_strip() {
        let program = Formula::parse("2 * 3").unwrap().compile::<&str>(&[]).unwrap();
        assert_eq!(program.run(&mut Registers::default(), 3, |_, _| {}), [6.0; 3]);
    }
}
