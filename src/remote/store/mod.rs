//! Object stores: `s3://`, `gs://` and `az://`, through the same requests as everything else.
//!
//! Objects are read by signed HTTP addresses, so that ranges, entity tags, sizes and `Retry-After` are handled in one
//! way. Listing and writing go through `object_store`, whose own retries are off and whose HTTP is ours.

mod bucket;
mod objects;
mod parts;
mod profile;
mod service;
#[cfg(test)]
mod tests;

pub use objects::{FINGERPRINT, ObjectBody, ObjectState, PART};

pub(super) use bucket::{Buckets, USED_FOR};

use url::Url;

/// Whether an address is an object store's.
pub fn is_store(url: &Url) -> bool {
    matches!(url.scheme(), "s3" | "gs" | "az")
}
