//! Band expressions: text → tree → program → values, strip by strip.
//!
//! Values are `f64` throughout, so that no integer is ever computed in its own width. NaN stands for "no value": it
//! is what a pixel without data is loaded as and what every operation without a finite result gives, and it passes
//! through everything but `where`, `isnodata` and `isvalid`. So no infinity exists at any point of a computation.

mod compiler;
mod error;
mod function;
mod kernel;
mod lexer;
mod parser;
mod program;
mod tree;

pub use error::{FormulaError, Problem};
pub use function::{FUNCTIONS, Function};
pub use program::{Program, Registers, STRIP};
pub use tree::Formula;
