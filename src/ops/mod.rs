//! The ops, one file each.

mod blocks;
mod calc;
mod codes;
mod composite;
mod encode;
mod fetch;
mod file_pattern;
mod glob;
mod list;
mod list_file;
mod list_values;
mod listed;
mod mask;
mod number;
mod rasters;
mod read;
mod stats;
#[cfg(test)]
mod testing;
mod warp;
mod write;

use crate::contract::{OpEntry, Registry};

/// Every op; a new one is its file and its line here.
static TABLE: &[OpEntry] = &[
    list::ENTRY,
    glob::ENTRY,
    fetch::ENTRY,
    read::ENTRY,
    calc::ENTRY,
    mask::ENTRY,
    warp::ENTRY,
    composite::ENTRY,
    stats::ENTRY,
    encode::ENTRY,
    write::ENTRY,
];

/// The ops of the program.
pub fn registry() -> Registry {
    Registry::new(TABLE)
}
