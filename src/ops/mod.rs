//! The ops, one file each.

mod blocks;
pub mod calc;
mod codes;
pub mod mask;
mod number;
mod rasters;
#[cfg(test)]
mod testing;
mod write;

use crate::contract::{OpEntry, Registry};

/// Every op; a new one is its file and its line here.
static TABLE: &[OpEntry] = &[calc::ENTRY, write::ENTRY];

/// The ops of the program.
pub fn registry() -> Registry {
    Registry::new(TABLE)
}
