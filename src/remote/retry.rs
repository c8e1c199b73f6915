//! When and how often something is tried again.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::Instant;

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

impl Default for RetryPolicy {
    /// Five tries, from half a second to half a minute apart, within five minutes.
    fn default() -> Self {
        Self {
            tries: 5,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            total: Duration::from_mins(5),
        }
    }
}

/// What follows a transient failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Try again after so long.
    After(Duration),
    /// The tries or the total limit are used up.
    GiveUp,
    /// The service asked to be left alone for longer than the total limit leaves.
    AskedTooMuch,
}

/// The tries at one piece of work.
#[derive(Debug)]
pub struct Tries {
    policy: RetryPolicy,
    delays: ExponentialBackoff,
    begun: Instant,
    made: u32,
}

impl Tries {
    /// The first try starts now.
    pub fn begin(policy: &RetryPolicy) -> Self {
        let half = (policy.max_delay / 2).max(policy.first_delay);
        let delays = ExponentialBuilder::new()
            .with_min_delay(policy.first_delay)
            .with_max_delay(half)
            .with_max_times(policy.tries.saturating_sub(1) as usize)
            .with_jitter()
            .build();
        Self { policy: *policy, delays, begun: Instant::now(), made: 1 }
    }

    /// Counts the total limit from a later moment, for a first try that had to wait for its resources.
    pub fn restart(&mut self, begun: Instant) {
        self.begun = begun;
    }

    /// How many were made, the one under way included.
    pub fn made(&self) -> u32 {
        self.made
    }

    /// What to do after a transient failure, with what the service asked for.
    pub fn next(&mut self, retry_after: Option<Duration>) -> Next {
        let left = self.policy.total.saturating_sub(self.begun.elapsed());
        if retry_after.is_some_and(|asked| asked > left) {
            return Next::AskedTooMuch;
        }
        let Some(delay) = self.delays.next() else { return Next::GiveUp };
        let delay = delay.min(self.policy.max_delay).max(retry_after.unwrap_or_default());
        if delay > left {
            return Next::GiveUp;
        }
        self.made += 1;
        Next::After(delay)
    }
}

/// The time that a `Retry-After` header asks for: seconds or an HTTP date (RFC 9110, 10.2.3); a date that is over
/// asks for nothing.
pub fn parse_retry_after(text: &str, now: std::time::SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn delays_double_with_jitter_up_to_the_longest() {
        let policy =
            RetryPolicy { tries: 5, first_delay: seconds(1), max_delay: seconds(8), total: seconds(99) };
        let mut tries = Tries::begin(&policy);
        for (least, most) in [(1, 2), (2, 4), (4, 8), (4, 8)] {
            let Next::After(delay) = tries.next(None) else { panic!("there are tries left") };
            assert!(
                delay >= seconds(least) && delay <= seconds(most),
                "{delay:?} is not in {least}..={most}"
            );
        }
        assert_eq!(tries.next(None), Next::GiveUp);
        assert_eq!(tries.made(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn the_service_may_ask_for_more_but_not_for_more_than_the_total() {
        let policy =
            RetryPolicy { tries: 9, first_delay: seconds(1), max_delay: seconds(2), total: seconds(60) };
        let mut tries = Tries::begin(&policy);
        assert_eq!(tries.next(Some(seconds(20))), Next::After(seconds(20)));
        tokio::time::advance(seconds(50)).await;
        assert_eq!(tries.next(Some(seconds(11))), Next::AskedTooMuch);
        assert_eq!(tries.next(Some(seconds(10))), Next::After(seconds(10)));
        tokio::time::advance(seconds(11)).await;
        assert_eq!(tries.next(None), Next::GiveUp);
    }

    #[test]
    fn reads_both_forms_of_retry_after() {
        let now = UNIX_EPOCH + seconds(784_111_777); // Sun, 06 Nov 1994 08:49:37 GMT
        for (text, expected) in [
            ("120", Some(seconds(120))),
            (" 0 ", Some(seconds(0))),
            ("Sun, 06 Nov 1994 08:49:40 GMT", Some(seconds(3))),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(seconds(0))),
            ("soon", None),
            ("-1", None),
        ] {
            assert_eq!(parse_retry_after(text, now), expected, "{text}");
        }
    }
}
