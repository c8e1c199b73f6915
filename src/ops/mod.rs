//! The ops, one file each.

pub mod fetch;
mod file_pattern;
pub mod glob;
pub mod list;
mod list_file;
mod listed;
