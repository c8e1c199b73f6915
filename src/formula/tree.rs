//! A formula as a tree: nodes in a list, operands before the operations that use them.
//!
//! A list instead of boxes keeps long sums from recursing when they are compiled or dropped.

use std::ops::Range;

use super::compiler;
use super::error::FormulaError;
use super::function::{Operation, constant};
use super::parser;
use super::program::Program;

/// A parsed formula; its names are not yet looked up.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    pub(super) nodes: Vec<Node>,
}

/// One value of a formula.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// Where it stands in the text.
    pub(super) span: Range<usize>,
    pub(super) kind: NodeKind,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeKind {
    /// A number of the text.
    Number(f64),
    /// A band, or a constant unless quoted.
    Name { name: String, is_quoted: bool },
    /// An operation on earlier nodes.
    Apply { operation: Operation, operands: Vec<usize> },
}

impl NodeKind {
    /// Whether its value is a condition rather than a number.
    pub(super) fn is_condition(&self) -> bool {
        matches!(self, NodeKind::Apply { operation, .. } if operation.gives_condition())
    }
}

impl Formula {
    /// Parses a formula: numbers, band names (in backquotes where they have other characters than letters, digits
    /// and `_`), `+ - * / % **`, comparisons, `and or not` (also `&& || !`), the functions of
    /// [`super::FUNCTIONS`], the constants `pi`, `e`, `nan`, `nodata`. Precedence and associativity are Python's.
    ///
    /// # Errors
    /// The first fault, with its place in `text`.
    pub fn parse(text: &str) -> Result<Formula, FormulaError> {
        parser::parse(text)
    }

    /// The names that are no constants, each once, in the order of the text.
    pub fn bands(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for node in &self.nodes {
            if let NodeKind::Name { name, is_quoted } = &node.kind
                && (*is_quoted || constant(name).is_none())
                && !names.contains(&name.as_str())
            {
                names.push(name.as_str());
            }
        }
        names
    }

    /// The program for an input with these bands. A band hides a constant of its name.
    ///
    /// # Errors
    /// Every name that is neither band nor constant.
    pub fn compile<S: AsRef<str>>(&self, bands: &[S]) -> Result<Program, Vec<FormulaError>> {
        compiler::compile(self, bands)
    }
}
