//! The ops, one file each.

pub mod encode;
