//! Warps an image onto another grid, any window of it to the same pixels.
//!
//! Coordinates come from a lattice that is anchored to the target grid, values from kernels that see the image in
//! its own pixel coordinates; nothing depends on which window is asked for or which part of the source is at hand.

mod areal;
mod band;
mod error;
mod lattice;
mod pixel_map;
mod pixels;
mod point;
mod region;
mod run;
mod scale;
mod source;

pub use error::WarpError;
pub use pixel_map::PixelMap;
pub use run::Warp;
pub use source::{SourceImage, SourceOptions};

#[cfg(test)]
mod tests;
