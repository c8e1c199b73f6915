//! Calls into GDAL that the `gdal` crate does not wrap; the only unsafe code of the project.
#![allow(unsafe_code, reason = "GDAL is a C library; every block states why it is sound")]

pub(super) mod files;
pub(super) mod names;
pub(super) mod pixels;
pub(super) mod process;
