//! The ops, one file each.

mod blocks;
mod calc;
mod codes;
mod composite;
mod destination;
mod encode;
mod exec;
mod fetch;
mod file_pattern;
mod filter;
mod glob;
mod group;
mod list;
mod list_file;
mod list_values;
mod listed;
mod mask;
mod named_grid;
mod number;
mod polygons;
mod rasters;
mod read;
mod stac;
mod stats;
mod table;
mod takeover;
#[cfg(test)]
mod testing;
mod upload;
mod warp;
mod window;
mod write;

use crate::contract::{OpEntry, Registry};

/// Every op; a new one is its file and its line here.
static TABLE: &[OpEntry] = &[
    list::ENTRY,
    glob::ENTRY,
    stac::ENTRY,
    filter::ENTRY,
    group::ENTRY,
    window::ENTRY,
    fetch::ENTRY,
    read::ENTRY,
    calc::ENTRY,
    mask::ENTRY,
    warp::ENTRY,
    composite::ENTRY,
    stats::ENTRY,
    encode::ENTRY,
    write::ENTRY,
    table::ENTRY,
    exec::ENTRY,
];

/// The ops of the program.
pub fn registry() -> Registry {
    Registry::new(TABLE)
}
