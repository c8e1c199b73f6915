//! The ops, one file each.

mod blocks;
pub mod calc;
mod codes;
pub mod composite;
pub mod mask;
mod number;
mod rasters;
pub mod stats;
#[cfg(test)]
mod testing;
