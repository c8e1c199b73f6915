//! The ops, one file each.

mod blocks;
pub mod calc;
mod codes;
mod number;
mod rasters;
#[cfg(test)]
mod testing;
