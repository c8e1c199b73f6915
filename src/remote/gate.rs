//! Hosts that asked to be left alone: until when, and how fast they are asked afterwards.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use url::Url;

use super::pace::Pace;

/// One gate a host.
#[derive(Debug, Default)]
pub(super) struct HostGates(Mutex<HashMap<String, Gate>>);

#[derive(Debug, Default)]
struct Gate {
    closed_until: Option<Instant>,
    pace: Pace,
}

impl HostGates {
    /// Lets nobody to this host for so long: for stages without a rate that could be paused instead.
    pub(super) fn close(&self, url: &Url, time: Duration) {
        let until = Instant::now() + time;
        let mut gates = self.lock();
        let gate = gates.entry(host(url)).or_default();
        gate.closed_until = gate.closed_until.max(Some(until));
    }

    /// Waits until the host may be asked. Cancel-safe.
    pub(super) async fn open(&self, url: &Url) {
        let host = host(url);
        loop {
            while let Some(until) = self.closed_until(&host) {
                sleep_until(until).await;
            }
            let (due, refusals) = self.with(&host, |gate, now| (gate.pace.next(now), gate.pace.refusals()));
            if due <= Instant::now() {
                return;
            }
            sleep_until(due).await;
            // A refusal meanwhile changes the pace, and whoever waits is given another time.
            if self.with(&host, |gate, _| gate.pace.refusals()) == refusals {
                return;
            }
        }
    }

    /// The host served a request.
    pub(super) fn served(&self, url: &Url) {
        self.with(&host(url), |gate, now| gate.pace.served(now));
    }

    /// The host refused a request that began then, because it was asked too fast.
    pub(super) fn refused(&self, url: &Url, begun: Instant) {
        self.with(&host(url), |gate, now| gate.pace.refused(begun, now));
    }

    fn with<T>(&self, host: &str, act: impl FnOnce(&mut Gate, Instant) -> T) -> T {
        let mut gates = self.lock();
        act(gates.entry(host.to_owned()).or_default(), Instant::now())
    }

    fn closed_until(&self, host: &str) -> Option<Instant> {
        self.lock().get(host)?.closed_until.filter(|until| *until > Instant::now())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Gate>> {
        self.0.lock().expect("nothing panics while it holds the gates")
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
