//! Byte ranges: merged into few requests, and read from `Content-Range`.

use std::ops::Range;

/// Neighbours closer than this are read with one request: a round trip costs more than the bytes between them.
pub const MERGE_GAP: u64 = 64 << 10;

/// No request reads more than this, so that several share the work and a retry costs little.
pub const MERGE_LIMIT: u64 = 8 << 20;

/// The ranges in order, joined where less than `gap` bytes lie between two and the sum stays within `limit`.
///
/// What is held in the end is the sum of the lengths returned. Empty ranges are dropped; a range longer than
/// `limit` stays in one piece.
pub fn merge(ranges: &[Range<u64>], gap: u64, limit: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<_> = ranges.iter().filter(|range| range.start < range.end).cloned().collect();
    sorted.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(last) if joins(last, &range, gap, limit) => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Bytes that [`merge`] would have read for these ranges.
pub fn merged_length(ranges: &[Range<u64>]) -> u64 {
    merge(ranges, MERGE_GAP, MERGE_LIMIT).iter().map(|range| range.end - range.start).sum()
}

/// Overlapping ranges are always joined, so that no byte is held twice.
fn joins(last: &Range<u64>, next: &Range<u64>, gap: u64, limit: u64) -> bool {
    let is_near = next.start <= last.end.saturating_add(gap) && next.end - last.start <= limit;
    next.start < last.end || is_near
}

/// `bytes 0-9/100` (RFC 9110, 14.4): the range, and the size of the object where it is told.
pub(super) fn parse_content_range(text: &str) -> Option<(Range<u64>, Option<u64>)> {
    let (range, size) = text.trim().strip_prefix("bytes")?.trim().split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse::<u64>().ok()?);
    (first <= last).then_some((first..last.checked_add(1)?, size.trim().parse().ok()))
}

/// `bytes */100`: the size that an unsatisfiable range was compared with.
pub(super) fn parse_unsatisfied(text: &str) -> Option<u64> {
    text.trim().strip_prefix("bytes")?.trim().strip_prefix("*/")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_are_merged_and_strangers_are_not() {
        assert_eq!(merge(&[20..30, 0..10, 45..50], 10, 1000), [0..30, 45..50]);
        assert_eq!(merge(&[0..10, 10..20, 20..30], 0, 20), [0..20, 20..30]);
        assert_eq!(merge(&[0..10, 5..5, 5..12], 0, 1), vec![0..12]);
        assert_eq!(merge(&[], 10, 10), []);
    }

    proptest! {
        #[test]
        fn every_byte_is_covered_once(starts in prop::collection::vec((0u64..500, 0u64..60), 0..20), gap in 0u64..40, limit in 1u64..200) {
            let ranges: Vec<_> = starts.into_iter().map(|(start, length)| start..start + length).collect();
            let merged = merge(&ranges, gap, limit);
            for range in ranges.iter().filter(|range| !range.is_empty()) {
                prop_assert!(merged.iter().any(|whole| whole.start <= range.start && range.end <= whole.end));
            }
            prop_assert!(merged.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }

    #[test]
    fn reads_content_range() {
        assert_eq!(parse_content_range("bytes 0-9/100"), Some((0..10, Some(100))));
        assert_eq!(parse_content_range("bytes 5-5/*"), Some((5..6, None)));
        for wrong in ["", "bytes */100", "bytes 9-0/100", "items 0-9/100", "bytes 0-18446744073709551615/*"] {
            assert_eq!(parse_content_range(wrong), None, "{wrong}");
        }
        assert_eq!(parse_unsatisfied("bytes */0"), Some(0));
        assert_eq!(parse_unsatisfied("bytes 0-9/100"), None);
    }
}
