//! A tree with its names looked up → instructions on as few registers as it takes.

use std::collections::HashMap;

use super::error::{FormulaError, Problem};
use super::function::{Binary, Operation, constant};
use super::kernel::{Source, run_binary, run_unary};
use super::program::{Action, Instruction, Operand, Program};
use super::tree::{Formula, Node, NodeKind};

/// The program of a formula for an input with these bands.
pub(super) fn compile<S: AsRef<str>>(formula: &Formula, bands: &[S]) -> Result<Program, Vec<FormulaError>> {
    let (mut leaves, mut faults) = (Vec::with_capacity(formula.nodes.len()), Vec::new());
    for node in &formula.nodes {
        leaf(node, bands).map_or_else(|fault| faults.push(fault), |leaf| leaves.push(leaf));
    }
    if faults.is_empty() { Ok(Compiler::new(&leaves).compile(&leaves)) } else { Err(faults) }
}

/// A node with its name looked up.
#[derive(Clone, Copy, Debug)]
enum Leaf<'a> {
    Constant(f64),
    Band(usize),
    Apply(Operation, &'a [usize]),
}

fn leaf<'a, S: AsRef<str>>(node: &'a Node, bands: &[S]) -> Result<Leaf<'a>, FormulaError> {
    match &node.kind {
        NodeKind::Number(value) => Ok(Leaf::Constant(*value)),
        NodeKind::Apply { operation, operands } => Ok(Leaf::Apply(*operation, operands)),
        NodeKind::Name { name, is_quoted } => {
            let band = bands.iter().position(|band| band.as_ref() == name).map(Leaf::Band);
            let value = constant(name).filter(|_| !is_quoted).map(Leaf::Constant);
            band.or(value).ok_or_else(|| unknown(name, bands).at(node.span.clone()))
        }
    }
}

fn unknown<S: AsRef<str>>(name: &str, bands: &[S]) -> Problem {
    Problem::UnknownBand { name: name.into(), bands: bands.iter().map(|band| band.as_ref().into()).collect() }
}

/// Gives every node an operand: a constant, or a register that is free again after the node's last use.
struct Compiler {
    operands: Vec<Operand>,
    /// The node that computes each node's value: itself, the first mention of the same band, or a chosen branch.
    origins: Vec<usize>,
    /// How often each origin is still to be used.
    uses: Vec<usize>,
    free: Vec<usize>,
    program: Program,
}

impl Compiler {
    fn new(leaves: &[Leaf]) -> Self {
        let origins = origins(leaves);
        let mut uses = vec![0; leaves.len()];
        for leaf in leaves {
            if let Leaf::Apply(_, operands) = leaf {
                operands.iter().for_each(|&operand| uses[origins[operand]] += 1);
            }
        }
        let program = Program {
            bands: Vec::new(),
            instructions: Vec::new(),
            registers: 0,
            result: Operand::Constant(f64::NAN),
        };
        Self { operands: Vec::with_capacity(leaves.len()), origins, uses, free: Vec::new(), program }
    }

    fn compile(mut self, leaves: &[Leaf]) -> Program {
        for (id, leaf) in leaves.iter().enumerate() {
            let operand = match leaf {
                Leaf::Constant(value) => Operand::Constant(*value),
                Leaf::Band(_) if self.origins[id] != id => self.operands[self.origins[id]],
                Leaf::Band(band) => self.load(*band),
                Leaf::Apply(operation, operands) => self.apply(id, *operation, operands),
            };
            self.operands.push(operand);
        }
        self.program.result = *self.operands.last().expect("a formula is never empty");
        self.program
    }

    fn load(&mut self, band: usize) -> Operand {
        self.program.bands.push(band);
        self.emit(Action::Load(band))
    }

    fn apply(&mut self, id: usize, operation: Operation, operands: &[usize]) -> Operand {
        let operands: Vec<usize> = operands.iter().map(|&operand| self.origins[operand]).collect();
        let given: Vec<Operand> = operands.iter().map(|&operand| self.operands[operand]).collect();
        let result = if let (Operation::Where, Operand::Constant(condition)) = (operation, given[0]) {
            self.choose(id, condition, &operands)
        } else {
            folded(operation, &given).unwrap_or_else(|| self.emit(action(operation, &given)))
        };
        for operand in operands {
            self.release(operand);
        }
        result
    }

    /// The branch that a constant condition chooses; its uses become those of the node.
    fn choose(&mut self, id: usize, condition: f64, operands: &[usize]) -> Operand {
        if condition.is_nan() {
            return Operand::Constant(f64::NAN);
        }
        let branch = operands[if condition == 0.0 { 2 } else { 1 }];
        self.origins[id] = branch;
        self.uses[branch] += self.uses[id];
        self.operands[branch]
    }

    /// Emits an instruction that writes a register of its own.
    fn emit(&mut self, action: Action) -> Operand {
        let out = self.free.pop().unwrap_or_else(|| {
            self.program.registers += 1;
            self.program.registers - 1
        });
        self.program.instructions.push(Instruction { action, out });
        Operand::Register(out)
    }

    /// Counts a use of an origin; its register is free after the last.
    fn release(&mut self, origin: usize) {
        self.uses[origin] -= 1;
        if let (0, Operand::Register(register)) = (self.uses[origin], self.operands[origin]) {
            self.free.push(register);
        }
    }
}

/// For each node itself, but for each further mention of a band the first.
fn origins(leaves: &[Leaf]) -> Vec<usize> {
    let mut first = HashMap::new();
    let origin = |(id, leaf): (usize, &Leaf)| match leaf {
        Leaf::Band(band) => *first.entry(*band).or_insert(id),
        _ => id,
    };
    leaves.iter().enumerate().map(origin).collect()
}

/// The operand that an operation on these amounts to without any work for each pixel.
fn folded(operation: Operation, operands: &[Operand]) -> Option<Operand> {
    let mut out = [0.0];
    match (operation, operands) {
        (Operation::Unary(unary), [Operand::Constant(a)]) => run_unary(unary, Source::Constant(*a), &mut out),
        (Operation::Binary(binary), [Operand::Constant(a), Operand::Constant(b)]) => {
            run_binary(binary, Source::Constant(*a), Source::Constant(*b), &mut out);
        }
        _ => return None,
    }
    Some(Operand::Constant(out[0]))
}

fn action(operation: Operation, operands: &[Operand]) -> Action {
    match (operation, operands) {
        (Operation::Unary(unary), [a]) => Action::Unary(unary, *a),
        // A square is what powers are mostly used for, and a product is many times as fast.
        (Operation::Binary(Binary::Power), [a, Operand::Constant(2.0)]) => {
            Action::Binary(Binary::Multiply, *a, *a)
        }
        (Operation::Binary(binary), [a, b]) => Action::Binary(binary, *a, *b),
        (Operation::Where, [Operand::Register(condition), a, b]) => Action::Where(*condition, *a, *b),
        _ => unreachable!(
            "the parser gives every operation its operands, and constant conditions choose a branch"
        ),
    }
}
