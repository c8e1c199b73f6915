//! The ops, one file each.

mod blocks;
pub mod calc;
mod codes;
pub mod mask;
mod number;
mod rasters;
#[cfg(test)]
mod testing;
