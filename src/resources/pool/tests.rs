//! What holds for any mix of acquires, cancels and drops.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::*;

fn pool(limit: u64) -> Arc<Pool> {
    Pool::new("pool".into(), limit)
}

/// One task of the property test: when it asks, for how much, how long it holds, when it gives up.
#[derive(Clone, Debug)]
struct Act {
    asks_at: u64,
    amount: u64,
    holds: u64,
    gives_up_after: Option<u64>,
}

fn act() -> impl Strategy<Value = Act> {
    (0..50_u64, 0..=4_u64, 0..20_u64, proptest::option::of(0..30_u64))
        .prop_map(|(asks_at, amount, holds, gives_up_after)| Act { asks_at, amount, holds, gives_up_after })
}

/// Plays one act, and looks whether its grant passed the limit or somebody who asked before.
async fn play(pool: Arc<Pool>, start: Instant, act: Act) {
    sleep_until(start + Duration::from_millis(act.asks_at)).await;
    let work = async {
        let share = pool.acquire(act.amount, None).await;
        assert!(pool.used() <= pool.limit(), "the limit was passed");
        let head = pool.lock().line.front().map(|head| head.ticket);
        assert!(head.is_none_or(|head| head > share.ticket), "not first come first served");
        sleep(Duration::from_millis(act.holds)).await;
    };
    match act.gives_up_after {
        Some(after) => drop(timeout(Duration::from_millis(after), work).await),
        None => work.await,
    }
}

async fn play_all(acts: Vec<Act>) -> Arc<Pool> {
    let (pool, start) = (pool(4), Instant::now());
    let tasks: Vec<_> =
        acts.into_iter().map(|act| tokio::spawn(play(Arc::clone(&pool), start, act))).collect();
    for task in tasks {
        timeout(Duration::from_hours(1), task).await.expect("a wakeup was lost").unwrap();
    }
    pool
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_mix_of_acquires_cancels_and_drops_returns_everything_in_order(
        acts in proptest::collection::vec(act(), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time().start_paused(true).build().unwrap();
        let pool = runtime.block_on(play_all(acts));
        prop_assert_eq!((pool.used(), pool.waiting()), (0, 0));
        prop_assert!(pool.holders().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_request_at_the_head_blocks_small_ones_behind_it() {
    let pool = pool(4);
    let held = pool.acquire(3, None).await;
    let (large, large_bell) = pool.enter(4, None);
    let (small, small_bell) = pool.enter(1, None);
    assert!(large_bell.is_some() && small_bell.is_some());
    assert!(pool.try_acquire(1, None).is_none(), "nobody jumps the line");
    drop(held);
    assert_eq!((pool.used(), pool.waiting()), (4, 1));
    drop(large);
    assert_eq!((pool.used(), pool.waiting()), (1, 0));
    drop(small);
    assert!(pool.try_acquire(4, None).is_some(), "a free pool gives at once");
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_leaves_lets_the_next_in() {
    let pool = pool(4);
    let _held = pool.acquire(2, None).await;
    let (large, _) = pool.enter(4, None);
    let (small, _) = pool.enter(2, None);
    assert_eq!(small.amount(), 0, "it still waits");
    drop(large);
    assert_eq!(small.amount(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_share_dropped_between_grant_and_wakeup_is_given_back() {
    let pool = pool(1);
    let held = pool.acquire(1, None).await;
    let (granted, _bell) = pool.enter(1, None);
    drop(held);
    assert_eq!(pool.used(), 1, "the waiter was granted and has not woken");
    drop(granted);
    assert_eq!(pool.used(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lower_limit_holds_back_what_is_returned() {
    let pool = pool(4);
    let shares = [pool.acquire(2, None).await, pool.acquire(2, None).await];
    pool.set_limit(2);
    let (waiting, _bell) = pool.enter(2, None);
    let [first, second] = shares;
    drop(first);
    assert_eq!((pool.used(), pool.waiting()), (2, 1));
    drop(second);
    assert_eq!((pool.used(), waiting.amount()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn holders_and_waiters_are_named_for_stall_messages() {
    let pool = pool(4);
    let _small = pool.acquire(1, Some("ndvi: b".into())).await;
    let _large = pool.acquire(3, Some("ndvi: a".into())).await;
    let _waiting = pool.enter(2, None);
    assert_eq!(pool.holders(), ["ndvi: a (3)", "ndvi: b (1)"]);
    assert_eq!(pool.waiters(), ["unnamed (2)"]);
}
