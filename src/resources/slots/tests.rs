//! Slots, and adaptive limits against simulated services, under paused time.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::events::{Record, Subscriber};

#[tokio::test(start_paused = true)]
async fn amounts_are_taken_whole_and_given_back() {
    let cores = Slots::fixed("cores".into(), 4);
    let lease = cores.acquire(3).await;
    assert_eq!((cores.used(), lease.amount(), cores.largest_lease()), (3, 3, 4));
    assert!(cores.try_acquire(2).is_none());
    assert!(cores.try_acquire(1).is_some());
    drop(lease);
    assert!(timeout(Duration::from_secs(1), cores.acquire(4)).await.is_ok());
    assert_eq!(cores.used(), 0);
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "`cores` never grants 5: a lease is at most 4")]
async fn an_amount_that_can_never_be_granted_does_not_wait() {
    Slots::fixed("cores".into(), 4).acquire(5).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_gives_the_lease_back() {
    let cores = Slots::fixed("cores".into(), 1);
    let panics = tokio::spawn({
        let cores = cores.clone();
        async move {
            let _lease = cores.acquire(1).await;
            panic!("in the middle of the work");
        }
    });
    assert!(panics.await.is_err());
    assert_eq!(cores.used(), 0);
}

#[derive(Default)]
struct Heard(Mutex<Vec<Event>>);

impl Subscriber for Heard {
    fn on_record(&self, record: &Record) {
        self.0.lock().unwrap().push(record.event.clone());
    }
}

#[tokio::test(start_paused = true)]
async fn a_move_of_the_limit_is_told_and_in_force_at_once() {
    let heard = Arc::new(Heard::default());
    let slots = Slots::adaptive("connections".into(), 2, 64, 16)
        .telling(Emitter::new(vec![Arc::clone(&heard) as Arc<dyn Subscriber>]));
    let lease = slots.acquire(1).await;
    lease.report(Outcome::Throttled);
    assert_eq!((slots.limit(), slots.largest_lease()), (12, 2));
    let told =
        Event::LimitChanged { resource: "connections".into(), from: 16, to: 12, reason: "throttled".into() };
    assert_eq!(*heard.0.lock().unwrap(), [told]);
}

/// A service simulated under paused time, and what it delivered.
struct Service {
    /// How many requests it serves at full speed.
    capacity: u64,
    /// What it does beyond them.
    beyond: Beyond,
    running: Mutex<u64>,
    served: Mutex<u64>,
    is_out: Mutex<bool>,
}

#[derive(Clone, Copy)]
enum Beyond {
    /// Everybody is served slower.
    Shares,
    /// The request is turned away after a tenth of a service time.
    Refuses,
}

const SERVICE_TIME: Duration = Duration::from_millis(100);

impl Service {
    fn new(capacity: u64, beyond: Beyond) -> Arc<Self> {
        Arc::new(Self {
            capacity,
            beyond,
            running: Mutex::default(),
            served: Mutex::default(),
            is_out: Mutex::default(),
        })
    }

    async fn request(&self, bytes: u64) -> Outcome {
        let running = {
            let mut running = self.running.lock().unwrap();
            *running += 1;
            *running
        };
        let outcome = self.serve(bytes, running).await;
        *self.running.lock().unwrap() -= 1;
        outcome
    }

    async fn serve(&self, bytes: u64, running: u64) -> Outcome {
        let is_over = running > self.capacity && matches!(self.beyond, Beyond::Refuses);
        if is_over || *self.is_out.lock().unwrap() {
            sleep(SERVICE_TIME / 10).await;
            return Outcome::Throttled;
        }
        let crowding = (running as f64 / self.capacity as f64).max(1.0);
        let began = Instant::now();
        sleep(SERVICE_TIME.mul_f64(crowding * (0.5 + bytes as f64 / 20_000.0))).await;
        *self.served.lock().unwrap() += 1;
        Outcome::Served { bytes, seconds: began.elapsed().as_secs_f64() }
    }

    /// Requests served in `time`, as a part of the most that can be: sizes average to one service time.
    async fn throughput(&self, time: Duration) -> f64 {
        let before = *self.served.lock().unwrap();
        sleep(time).await;
        let served = *self.served.lock().unwrap() - before;
        served as f64 / (self.capacity as f64 * time.as_secs_f64() / SERVICE_TIME.as_secs_f64())
    }
}

/// 300 clients that ask without end for 1 to 19 thousand bytes.
fn ask_without_end(slots: &Slots, service: &Arc<Service>) {
    for client in 0..300_u64 {
        let (slots, service) = (slots.clone(), Arc::clone(service));
        tokio::spawn(async move {
            for turn in client.. {
                let lease = slots.acquire(1).await;
                let outcome = service.request(1000 * (1 + turn * 7 % 19)).await;
                lease.report(outcome);
            }
        });
    }
}

async fn converges_and_recovers(beyond: Beyond) {
    let slots = Slots::adaptive("connections".into(), 1, 256, 1);
    let service = Service::new(40, beyond);
    ask_without_end(&slots, &service);
    sleep(Duration::from_secs(20)).await;
    let settled = service.throughput(Duration::from_mins(1)).await;
    assert!(settled > 0.8, "{settled} of the best, at {}", slots.limit());
    assert!(slots.limit() < 80, "{} at once for a service of 40", slots.limit());

    *service.is_out.lock().unwrap() = true;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(slots.limit(), 1, "an outage takes the limit down to `from`");
    *service.is_out.lock().unwrap() = false;
    sleep(Duration::from_secs(10)).await;
    let recovered = service.throughput(Duration::from_secs(30)).await;
    assert!(recovered > 0.8, "{recovered} of the best after an outage, at {}", slots.limit());
}

#[tokio::test(start_paused = true)]
async fn finds_the_capacity_of_a_service_that_throttles() {
    converges_and_recovers(Beyond::Refuses).await;
}

#[tokio::test(start_paused = true)]
async fn finds_the_capacity_of_a_service_that_slows_down() {
    converges_and_recovers(Beyond::Shares).await;
}
