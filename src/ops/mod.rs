//! The ops, one file each.

mod read;
