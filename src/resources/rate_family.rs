//! One bucket for each host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Rate;
use crate::ids::ResourceName;

/// One bucket for each host, all with the same figures. Cloning shares it.
///
/// At most [`RateFamily::HOSTS`] buckets are kept. An idle bucket is full, so forgetting it changes nothing; when none
/// is idle, further hosts share one bucket, which is stricter than asked and never looser.
#[derive(Clone, Debug)]
pub struct RateFamily(Arc<Family>);

#[derive(Debug)]
struct Family {
    shared: Rate,
    hosts: Mutex<Hosts>,
}

#[derive(Debug, Default)]
struct Hosts {
    rates: HashMap<Box<str>, Rate>,
    /// What forgotten buckets gave.
    taken: u64,
}

impl RateFamily {
    /// The most buckets kept.
    pub const HOSTS: usize = 1024;

    /// For each host `per_second` tokens, `burst` of them at once after a pause.
    pub fn new(name: ResourceName, per_second: f64, burst: u64) -> Self {
        let shared = Rate::new(name, per_second, burst);
        Self(Arc::new(Family { shared, hosts: Mutex::default() }))
    }

    /// Its name.
    pub fn name(&self) -> &ResourceName {
        self.0.shared.name()
    }

    /// The bucket of a host.
    pub fn of(&self, host: &str) -> Rate {
        let mut hosts = self.lock();
        if let Some(rate) = hosts.rates.get(host) {
            return rate.clone();
        }
        if hosts.rates.len() >= Self::HOSTS {
            hosts.forget_idle();
        }
        if hosts.rates.len() >= Self::HOSTS {
            return self.0.shared.clone();
        }
        let rate = self.0.shared.anew();
        hosts.rates.insert(host.into(), rate.clone());
        rate
    }

    /// Tokens per second of one host.
    pub fn per_second(&self) -> f64 {
        self.0.shared.per_second()
    }

    /// How many wait, over all hosts.
    pub fn waiting(&self) -> u64 {
        self.lock().rates.values().map(Rate::waiting).sum::<u64>() + self.0.shared.waiting()
    }

    /// Tokens taken since the run began, over all hosts.
    pub fn taken(&self) -> u64 {
        let hosts = self.lock();
        hosts.rates.values().map(Rate::taken).sum::<u64>() + hosts.taken + self.0.shared.taken()
    }

    fn lock(&self) -> MutexGuard<'_, Hosts> {
        self.0.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hosts {
    fn forget_idle(&mut self) {
        let taken = &mut self.taken;
        self.rates.retain(|_, rate| {
            let is_idle = rate.is_idle();
            if is_idle {
                *taken += rate.taken();
            }
            !is_idle
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family() -> RateFamily {
        RateFamily::new("provider".into(), 1.0, 1)
    }

    #[tokio::test(start_paused = true)]
    async fn each_host_has_a_bucket_of_its_own() {
        let family = family();
        assert!(family.of("a.example").try_take(1) && family.of("b.example").try_take(1));
        assert!(!family.of("a.example").try_take(1));
        assert_eq!(family.taken(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_buckets_are_forgotten_and_busy_ones_kept() {
        let family = family();
        for host in 0..RateFamily::HOSTS {
            assert!(family.of(&host.to_string()).try_take(1));
        }
        let (over, further) = (family.of("over"), family.of("further"));
        assert!(over.try_take(1) && !further.try_take(1), "hosts beyond the bound share one bucket");
        tokio::time::advance(std::time::Duration::from_secs(2)).await;
        assert!(family.of("new").try_take(1));
        assert_eq!(family.lock().rates.len(), 1);
        assert_eq!(family.taken(), RateFamily::HOSTS as u64 + 2);
    }
}
