//! Warps an image onto another grid, any window of it to the same pixels.
//!
//! Coordinates come from a lattice that is anchored to the target grid, values from kernels that see the image in
//! its own pixel coordinates; nothing depends on which window is asked for or which part of the source is at hand.

mod areal;
mod band;
mod edges;
mod error;
mod footprint;
mod known;
mod lattice;
mod pixel_map;
mod pixels;
mod point;
mod region;
mod run;
mod scale;
mod source;
mod target;

pub use error::WarpError;
pub use footprint::{Crossing, Footprint};
pub use known::KnownGrids;
pub use pixel_map::PixelMap;
pub use run::Warp;
pub use source::{SourceImage, SourceOptions};
pub use target::{FreeTarget, Target};

#[cfg(test)]
mod tests;
