//! The one client: requests under leases, retries by class, signing, headers in a bounded cache.
//!
//! A request waits for its slots and rates, is sent, its status is looked at before its body, and its leases go back
//! when the body is read. Nothing is held while a retry sleeps. Redirects are followed here, each as a request of its
//! own, so that credentials stay with their prefix and an address that expires is asked for anew.

mod access;
mod authorize;
mod body;
mod client;
mod error;
mod exchange;
mod gate;
mod gzip;
mod head;
mod object;
mod off_loop;
mod pace;
mod perform;
mod program;
mod ranges;
mod retry;
mod sign;
mod sniff;
mod store;
mod version;

#[cfg(test)]
pub(crate) mod scripted;
#[cfg(test)]
mod tests;

pub use access::{AccessOptions, AccessRule, AccessRules, AuthOptions, SignOptions};
pub use body::{Admit, Body, Document, Spill};
pub use client::{Client, ClientOptions, StageClient, StageSettings};
pub use error::{RequestError, redacted};
pub use head::{Head, ParseHeader, Parsed, parse_raster_header};
pub use off_loop::off_loop;
pub use ranges::{MERGE_GAP, MERGE_LIMIT, merge, merged_length};
pub use retry::{Next, RetryPolicy, Tries, parse_retry_after};
pub use store::{FINGERPRINT, ObjectBody, ObjectState, PART, is_store};
pub use version::Version;
