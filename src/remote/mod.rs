//! The one client: requests under leases, retries by class, signing, headers in a bounded cache.

mod client;
mod retry;

pub use client::StageClient;
pub use retry::RetryPolicy;
