//! Hosts that asked to be left alone, for stages without a rate that could be paused instead.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use url::Url;

/// One closing time a host; what is not in it is open.
#[derive(Debug, Default)]
pub(super) struct HostGates(Mutex<HashMap<String, Instant>>);

impl HostGates {
    /// Lets nobody to this host for so long.
    pub(super) fn close(&self, url: &Url, time: Duration) {
        let until = Instant::now() + time;
        let mut gates = self.0.lock().expect("nothing panics while it holds the gates");
        let gate = gates.entry(host(url)).or_insert(until);
        *gate = until.max(*gate);
    }

    /// Waits until the host is open. Cancel-safe.
    pub(super) async fn open(&self, url: &Url) {
        while let Some(until) = self.closed_until(&host(url)) {
            sleep_until(until).await;
        }
    }

    fn closed_until(&self, host: &str) -> Option<Instant> {
        let mut gates = self.0.lock().expect("nothing panics while it holds the gates");
        let until = *gates.get(host)?;
        if until <= Instant::now() {
            gates.remove(host);
            return None;
        }
        Some(until)
    }
}

/// `host:port`, which is what a service limits.
pub(super) fn host(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_closed_host_waits_and_the_others_do_not() {
        let gates = HostGates::default();
        let closed = Url::parse("http://a.example/x").expect("a URL");
        gates.close(&closed, Duration::from_secs(5));
        gates.close(&closed, Duration::from_secs(2));
        let begun = Instant::now();
        gates.open(&Url::parse("http://a.example:81/x").expect("a URL")).await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        gates.open(&closed).await;
        assert!(begun.elapsed() >= Duration::from_secs(5));
    }
}
