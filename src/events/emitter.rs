//! How events reach those who listen.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Event, Record};

/// Takes every event, in the order in which they happened. Must not block for long.
pub trait Subscriber: Send + Sync {
    /// Takes one event.
    fn on_record(&self, record: &Record);
}

/// Tells events to all subscribers; cloning shares them.
#[derive(Clone, Default)]
pub struct Emitter {
    subscribers: Arc<[Arc<dyn Subscriber>]>,
}

impl Emitter {
    /// An emitter to these subscribers; none makes events cost nothing.
    pub fn new(subscribers: Vec<Arc<dyn Subscriber>>) -> Self {
        Self { subscribers: subscribers.into() }
    }

    /// Whether anybody listens.
    pub fn is_heard(&self) -> bool {
        !self.subscribers.is_empty()
    }

    /// Stamps and tells an event; the closure runs only when somebody listens.
    pub fn emit(&self, event: impl FnOnce() -> Event) {
        if self.subscribers.is_empty() {
            return;
        }
        let ts = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let record = Record { ts, event: event() };
        for subscriber in self.subscribers.iter() {
            subscriber.on_record(&record);
        }
    }
}
