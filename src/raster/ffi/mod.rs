//! Every call into GDAL that the `gdal` crate does not wrap, and the only unsafe code of the program.
#![allow(unsafe_code, reason = "GDAL's C interface; each block says why it is sound")]

pub(super) mod files;
pub(super) mod names;
pub(super) mod pixels;
pub(super) mod process;
mod warper;

pub(super) use warper::{CoordinateOperation, PolynomialFit, Quiet, SuggestedGrid, suggested_grid};
