//! Ranges of bytes of a file.

use std::ops::Range;

/// The same bytes as the fewest ranges: by offset, none empty, none touching.
pub fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The ranges widened to whole multiples of `step` bytes and cut to a file of `size` bytes, merged.
///
/// Headers are read in steps, because GDAL asks for a few bytes at a time.
pub fn widened(ranges: &[Range<u64>], step: u64, size: u64) -> Vec<Range<u64>> {
    let widen = |range: &Range<u64>| {
        range.start / step * step..range.end.div_ceil(step).saturating_mul(step).min(size)
    };
    merged(ranges.iter().map(widen).collect())
}

/// The ranges as messages write them: `0..16384, 20000..20004`, at most four of them.
pub(super) fn text(ranges: &[Range<u64>]) -> String {
    let some = ranges.iter().take(4).map(|range| format!("{range:?}")).collect::<Vec<_>>().join(", ");
    match ranges.len() {
        0..=4 => some,
        count => format!("{some} and {} more", count - 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_what_touches_and_drops_what_is_empty() {
        assert_eq!(merged(vec![8..10, 0..4, 4..6, 7..7, 9..12]), [0..6, 8..12]);
    }

    #[test]
    fn widens_to_whole_steps_within_the_file() {
        assert_eq!(widened(&[10..12, 90..95], 16, 92), [0..16, 80..92]);
        assert_eq!(widened(&[10..12, 16..20, 40..41], 16, 92), vec![0..48]);
    }
}
