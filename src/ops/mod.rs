//! The ops, one file each.

mod file_pattern;
pub mod glob;
pub mod list;
mod list_file;
mod listed;
