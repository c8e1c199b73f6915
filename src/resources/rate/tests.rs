//! Accuracy, order and pauses of a rate, under paused time.

use proptest::prelude::*;
use tokio::time::{advance, sleep, timeout};

use super::*;

/// Seconds since `start` at which each of `count` takes of `amount` was granted, one after the other.
async fn grants(rate: &Rate, count: usize, amount: u64) -> Vec<f64> {
    let start = Instant::now();
    let mut times = Vec::new();
    for _ in 0..count {
        rate.take(amount).await;
        times.push(start.elapsed().as_secs_f64());
    }
    times
}

#[tokio::test(start_paused = true)]
async fn twenty_a_second_are_granted_evenly() {
    let times = grants(&Rate::new("provider".into(), 20.0, 1), 200, 1).await;
    let (due, last) = (199.0 / 20.0, times[199]);
    assert!(last >= due && last <= due * 1.05, "{last} s for {due} s");
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(gaps.into_iter().all(|gap| (gap - 0.05).abs() < 0.002), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn two_hundred_mebibytes_a_second_are_kept_in_small_blocks_and_large() {
    const SECOND: u64 = 200 << 20;
    for (block, burst) in [(64 << 10, 64 << 10), (1 << 20, SECOND), (3 * SECOND, SECOND)] {
        let rate = Rate::new("line".into(), SECOND as f64, burst);
        let count = (10 * SECOND / block + 2) as usize;
        let last = *grants(&rate, count, block).await.last().unwrap();
        // The last is granted when all before it are paid for, up to the burst that was there at the start.
        let due =
            ((count as u64 - 1) * block) as f64 / SECOND as f64 - 1.0_f64.min(burst as f64 / SECOND as f64);
        assert!(last >= due && last <= (due + 1.0) * 1.05, "{last} s for {due} s in blocks of {block}");
    }
}

#[tokio::test(start_paused = true)]
async fn faster_than_the_timer_ticks_loses_nothing() {
    let last = grants(&Rate::new("provider".into(), 3000.0, 1), 3001, 1).await[3000];
    assert!((1.0..=1.05).contains(&last), "{last} s for 1 s");
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_granted_at_once_and_again_after_a_rest() {
    let rate = Rate::new("provider".into(), 10.0, 3);
    assert!(rate.try_take(1) && rate.try_take(2) && !rate.try_take(1));
    advance(Duration::from_millis(100)).await;
    assert!(rate.try_take(1) && !rate.try_take(1));
    advance(Duration::from_mins(1)).await;
    assert!(rate.try_take(3) && !rate.try_take(1), "a rest fills it once only");
    assert_eq!(rate.taken(), 7);
}

#[tokio::test(start_paused = true)]
async fn more_than_a_burst_is_granted_from_a_full_bucket_into_debt() {
    let rate = Rate::new("line".into(), 10.0, 2);
    assert!(rate.try_take(1) && !rate.try_take(50));
    advance(Duration::from_millis(100)).await;
    assert!(rate.try_take(50));
    let start = Instant::now();
    rate.take(1).await;
    // 50 tokens from a full bucket of 2 are 48 of debt; the 49th is the next one's.
    assert!((start.elapsed().as_secs_f64() - 4.9).abs() < 0.002);
}

#[tokio::test(start_paused = true)]
async fn a_pause_holds_everybody_and_the_longest_counts() {
    let rate = Rate::new("provider".into(), 10.0, 5);
    rate.pause(Duration::from_secs(30));
    rate.pause(Duration::from_secs(10));
    assert_eq!(rate.paused_for(), Some(Duration::from_secs(30)));
    assert!(!rate.try_take(1));
    let start = Instant::now();
    rate.take(1).await;
    assert_eq!(start.elapsed(), Duration::from_secs(30));
    assert!(rate.paused_for().is_none() && rate.try_take(1));
}

#[tokio::test(start_paused = true)]
async fn a_pause_reaches_those_who_wait_already() {
    let rate = Rate::new("provider".into(), 1.0, 1);
    assert!(rate.try_take(1));
    let start = Instant::now();
    let waiting = tokio::spawn({
        let rate = rate.clone();
        async move { rate.take(1).await }
    });
    tokio::task::yield_now().await;
    assert_eq!(rate.waiting(), 1);
    rate.pause(Duration::from_secs(7));
    waiting.await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn a_charge_is_taken_first_and_waited_for_after() {
    let rate = Rate::new("line".into(), 100.0, 100);
    let start = Instant::now();
    rate.charge(100).await;
    assert_eq!(start.elapsed(), Duration::ZERO, "the bucket was full");
    rate.charge(250).await;
    assert_eq!(start.elapsed(), Duration::from_millis(2500));
    assert!(timeout(Duration::from_millis(1), rate.charge(50)).await.is_err());
    assert_eq!(rate.taken(), 400, "what came has come");
}

#[tokio::test(start_paused = true)]
async fn ready_takes_nothing() {
    let rate = Rate::new("provider".into(), 1.0, 1);
    rate.ready(1).await;
    rate.ready(1).await;
    assert_eq!(rate.taken(), 0);
    assert!(rate.try_take(1));
}

#[tokio::test(start_paused = true)]
async fn tokens_on_approval_come_back_when_dropped() {
    let rate = Rate::new("provider".into(), 1.0, 1);
    drop(rate.try_take_at(rate.rank(), 1).unwrap());
    assert_eq!(rate.taken(), 0);
    rate.try_take_at(rate.rank(), 1).unwrap().spend();
    assert!(rate.try_take_at(rate.rank(), 1).is_none());
    assert_eq!(rate.taken(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_mix_of_takes_and_cancels_keeps_the_order_and_the_rate(
        acts in proptest::collection::vec((0..3000_u64, 1..4_u64, proptest::option::of(0..2000_u64)), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (rate, granted) = (Rate::new("provider".into(), 10.0, 2), Arc::new(Mutex::new(Vec::new())));
            let start = Instant::now();
            let mut tasks = Vec::new();
            for (asks_at, amount, gives_up_after) in acts {
                let (rate, granted) = (rate.clone(), Arc::clone(&granted));
                tasks.push(tokio::spawn(async move {
                    sleep(Duration::from_millis(asks_at)).await;
                    let order = rate.rank().ticket;
                    let take = async {
                        rate.take(amount).await;
                        granted.lock().unwrap().push((order, amount, start.elapsed().as_secs_f64()));
                    };
                    match gives_up_after {
                        Some(after) => drop(timeout(Duration::from_millis(after), take).await),
                        None => take.await,
                    }
                }));
            }
            for task in tasks {
                timeout(Duration::from_hours(1), task).await.expect("a wakeup was lost").unwrap();
            }
            let granted = granted.lock().unwrap();
            let tokens: u64 = granted.iter().map(|(_, amount, _)| amount).sum();
            assert_eq!((rate.waiting(), rate.taken()), (0, tokens));
            assert!(granted.is_sorted_by_key(|(order, _, _)| *order), "{granted:?}");
            // All but the last grant were paid for by its time: 2 at the start, 10 a second, 3 for one debt.
            if let Some((_, last, at)) = granted.last() {
                assert!((tokens - last) as f64 <= 2.0 + 10.0 * at + 1.0 + 1e-6, "{granted:?}");
            }
        });
    }
}
