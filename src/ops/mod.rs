//! The ops, one file each.
