use std::path::Path;

use futures::FutureExt;

use super::*;

fn ranges(scratch: &Path, capacity: u64) -> (SharedRanges, Budget) {
    let budget = Budget::new("scratch".into(), capacity);
    (SharedRanges::new(scratch.to_owned(), budget.clone()), budget)
}

/// The bytes of a range of a file whose byte at `n` is `n`.
fn bytes(range: &Range<u64>) -> Bytes {
    range.clone().map(|at| at as u8).collect()
}

fn claimed(sharing: &Sharing) -> Vec<Range<u64>> {
    sharing.claims.iter().map(Claim::range).collect()
}

async fn keep_all(sharing: Sharing) {
    for claim in sharing.claims {
        let bytes = bytes(&claim.range());
        claim.keep(bytes).await;
    }
}

fn kept(sharing: &Sharing) -> Vec<Range<u64>> {
    let check = |part: &KeptRange| {
        let range = part.start()..part.start() + part.length;
        assert_eq!(part.read().expect("it is there"), bytes(&range));
        range
    };
    sharing.kept.iter().map(check).collect()
}

#[tokio::test]
async fn a_range_is_fetched_by_the_first_and_read_by_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ranges, budget) = ranges(folder.path(), 1 << 20);
    let first = ranges.share(&[10..20, 30..40]);
    assert_eq!((claimed(&first), kept(&first)), (vec![10..40], vec![]), "near ranges are one request");
    let mut second = ranges.share(&[15..35, 50..60]);
    assert_eq!((claimed(&second), kept(&second)), (vec![50..60], vec![]));
    assert!(second.others().now_or_never().is_none(), "the first has not come to an end");
    keep_all(first).await;
    second.others().await;
    let again = ranges.share(&[15..35]);
    assert_eq!((claimed(&again), kept(&again)), (vec![], vec![15..35]));
    assert_eq!(budget.used(), 30);
    drop((second, again, ranges));
    assert_eq!((std::fs::read_dir(folder.path()).expect("there").count(), budget.used()), (0, 0));
}

#[tokio::test]
async fn a_gap_that_is_known_is_not_fetched_with_its_neighbours() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ranges, _) = ranges(folder.path(), 1 << 20);
    keep_all(ranges.share(&[20..30])).await;
    let sharing = ranges.share(&[10..15, 35..40]);
    assert_eq!(claimed(&sharing), [10..20, 30..40]);
}

#[tokio::test]
async fn a_claim_that_fails_is_free_for_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ranges, _) = ranges(folder.path(), 1 << 20);
    let first = ranges.share(&[0..10]);
    let mut second = ranges.share(&[0..10]);
    assert_eq!(claimed(&second), []);
    drop(first);
    second.others().await;
    assert_eq!(claimed(&ranges.share(&[0..10])), vec![0..10]);
}

#[tokio::test]
async fn the_oldest_ranges_go_when_the_disk_is_needed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ranges, budget) = ranges(folder.path(), 100);
    keep_all(ranges.share(&[0..60])).await;
    let held = ranges.share(&[0..60]);
    let other = budget.overdraw(80);
    keep_all(ranges.share(&[200..210])).await;
    assert_eq!(claimed(&ranges.share(&[0..60])), vec![0..60], "it is to be fetched again");
    assert_eq!(kept(&held), vec![0..60], "what somebody holds stays readable");
    assert_eq!(kept(&ranges.share(&[200..210])), vec![200..210]);
    drop((other, held));
    assert_eq!(budget.used(), 10);
}

#[tokio::test]
async fn a_disk_that_says_no_keeps_nothing_and_stops_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ranges, _) = ranges(&folder.path().join("missing"), 100);
    keep_all(ranges.share(&[0..10])).await;
    assert_eq!(claimed(&ranges.share(&[0..10])), vec![0..10]);
}
