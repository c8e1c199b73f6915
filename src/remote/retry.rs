//! When and how often something is tried again.
use std::time::Duration;

/// Tries, delays and the total limit. The engine uses it for work that makes no requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Tries in all; 1 means no retry.
    pub tries: u32,
    /// Delay before the second try; doubled each time, with jitter.
    pub first_delay: Duration,
    /// The longest delay.
    pub max_delay: Duration,
    /// The longest time from the first try's start to the last try's start.
    pub total: Duration,
}
