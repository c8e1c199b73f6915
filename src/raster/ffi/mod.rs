//! Every call into GDAL that the `gdal` crate does not wrap, and the only unsafe code of the program.
#![allow(unsafe_code, reason = "GDAL's C interface; each block says why it is sound")]

mod warper;

pub(super) use warper::{CoordinateOperation, PolynomialFit, Quiet, SuggestedGrid, suggested_grid};
