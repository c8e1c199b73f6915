//! The cases of `../shared/cases`: small hard inputs whose right results were derived by hand, each with the pipeline that
//! makes them here.
//!
//! This binary runs only where it is asked for, `cargo test --test cases`, with GISRUN_SHARED naming that folder and
//! GISRUN_PYTHON a Python with rasterio and pyarrow. GISRUN_PROGRAM names the program to test; by default it is the one just built.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test stops at what cannot be, and is told where"
)]

mod bench;
mod copies;
mod data;
mod files;
mod groups;
mod jobs;
mod pixels;
mod planned_jobs;
mod requests;
mod tables;
mod warps;
