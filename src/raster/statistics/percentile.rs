//! Percentiles without sorting: the keys of the wanted ranks are found sixteen bits at a time, in passes over the values.

use std::collections::BTreeMap;

use super::Sample;
use crate::raster::{DataType, with_pixel_type};

/// Bits of a key that one pass tells.
const PASS: u32 = 16;
/// Bytes of one table of counts.
const TABLE: u64 = (1 << PASS) * 8;

/// Bytes of memory that finding so many percentiles takes.
pub fn scratch(percentiles: usize) -> u64 {
    // A percentile lies between two ranks, and in the worst case every rank has a table of its own.
    2 * percentiles as u64 * TABLE
}

/// The percentiles of `count` values of a type, whose keys `scan` tells as for [`keys_of_ranks`]; `None` without any value.
///
/// # Errors
/// Those of `scan`.
pub fn find<E>(
    percentiles: &[f64],
    data_type: DataType,
    count: u64,
    scan: impl FnMut(&mut dyn FnMut(&[u64])) -> Result<(), E>,
) -> Result<Vec<Option<f64>>, E> {
    if count == 0 || percentiles.is_empty() {
        return Ok(vec![None; percentiles.len()]);
    }
    with_pixel_type!(data_type, T => find_in::<T, E>(percentiles, count, scan))
}

fn find_in<T: Sample, E>(
    percentiles: &[f64],
    count: u64,
    scan: impl FnMut(&mut dyn FnMut(&[u64])) -> Result<(), E>,
) -> Result<Vec<Option<f64>>, E> {
    let places: Vec<(u64, f64)> = percentiles.iter().map(|&percentile| place(percentile, count)).collect();
    let above = |rank: u64| (rank + 1).min(count - 1);
    let ranks: Vec<u64> = places.iter().flat_map(|&(rank, _)| [rank, above(rank)]).collect();
    let keys = keys_of_ranks(&ranks, T::KEY_BITS, scan)?;
    let value = |rank: u64| T::of_key(keys[&rank]).to_f64();
    let between =
        |&(rank, fraction): &(u64, f64)| Some(interpolate(value(rank), value(above(rank)), fraction));
    Ok(places.iter().map(between).collect())
}

/// The place of a percentile among `count` sorted values: the rank below, counted from 0, and how far it is on the way to
/// the next (numpy's `linear` method, Hyndman and Fan's seventh).
pub fn place(percentile: f64, count: u64) -> (u64, f64) {
    let exact = percentile / 100.0 * count.saturating_sub(1) as f64;
    (exact as u64, exact.fract())
}

/// The value at a place, given the values of the two ranks around it.
pub fn interpolate(below: f64, above: f64, fraction: f64) -> f64 {
    if fraction == 0.0 { below } else { below + (above - below) * fraction }
}

/// The keys of the given ranks among all keys, by rank. `scan` calls its argument with every key, in any order and in as many
/// lists as it likes; it is called once for each sixteen bits of a key.
///
/// # Errors
/// Those of `scan`.
pub fn keys_of_ranks<E>(
    ranks: &[u64],
    key_bits: u32,
    mut scan: impl FnMut(&mut dyn FnMut(&[u64])) -> Result<(), E>,
) -> Result<BTreeMap<u64, u64>, E> {
    // For each rank the upper bits of its key, and its rank among the keys with these bits.
    let mut found: BTreeMap<u64, (u64, u64)> = ranks.iter().map(|&rank| (rank, (0, rank))).collect();
    let mut unknown = key_bits;
    while unknown > 0 && !found.is_empty() {
        let bits = PASS.min(unknown);
        let known = unknown;
        unknown -= bits;
        let mut tables: BTreeMap<u64, Vec<u64>> =
            found.values().map(|&(prefix, _)| (prefix, vec![0; 1 << bits])).collect();
        scan(&mut |keys| count(keys, known, unknown, &mut tables))?;
        for (prefix, rank) in found.values_mut() {
            let (digit, rest) = digit_of_rank(&tables[prefix], *rank);
            (*prefix, *rank) = (*prefix << bits | digit, rest);
        }
    }
    Ok(found.into_iter().map(|(rank, (key, _))| (rank, key)).collect())
}

/// Counts the keys under each known prefix by their next digit.
fn count(keys: &[u64], known: u32, unknown: u32, tables: &mut BTreeMap<u64, Vec<u64>>) {
    for &key in keys {
        let prefix = key.checked_shr(known).unwrap_or(0);
        if let Some(table) = tables.get_mut(&prefix) {
            let digit = (key >> unknown) as usize & (table.len() - 1);
            table[digit] += 1;
        }
    }
}

/// The digit under which a rank lies, and the rank among the keys with that digit.
fn digit_of_rank(table: &[u64], mut rank: u64) -> (u64, u64) {
    for (digit, &count) in table.iter().enumerate() {
        if rank < count {
            return (digit as u64, rank);
        }
        rank -= count;
    }
    // Only when there are fewer keys than the rank says.
    (table.len() as u64 - 1, 0)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn ranked<T: Sample>(values: &[T], ranks: &[u64]) -> Vec<T> {
        let keys: Vec<u64> = values.iter().map(|value| value.key()).collect();
        let scan = |visit: &mut dyn FnMut(&[u64])| {
            keys.chunks(7).for_each(visit);
            Ok::<(), Infallible>(())
        };
        let found = keys_of_ranks(ranks, T::KEY_BITS, scan).unwrap();
        ranks.iter().map(|rank| T::of_key(found[rank])).collect()
    }

    #[test]
    fn ranks_are_found_in_every_type() {
        let mixed: Vec<i32> = (0..101).map(|index| (index * 37 % 101 - 50) * 1000).collect();
        let all: Vec<u64> = (0..101).collect();
        let sorted: Vec<i32> = (-50..51).map(|value| value * 1000).collect();
        assert_eq!(ranked(&mixed, &all), sorted);
        let floats: Vec<f64> = mixed.iter().map(|&value| f64::from(value) * 1e-3).collect();
        assert_eq!(ranked(&floats, &[0, 50, 100]), [-50.0, 0.0, 50.0]);
        assert_eq!(ranked(&[7_u8, 7, 7, 1], &[0, 1, 3]), [1, 7, 7]);
        assert_eq!(ranked(&[u64::MAX, 0, 1 << 40], &[2, 1, 0]), [u64::MAX, 1 << 40, 0]);
    }

    #[test]
    fn percentiles_lie_between_ranks_as_in_numpy() {
        // numpy.percentile([1, 2, 3, 4], 40) = 2.2
        let (rank, fraction) = place(40.0, 4);
        assert_eq!(rank, 1);
        assert!((interpolate(2.0, 3.0, fraction) - 2.2).abs() < 1e-12);
        assert_eq!(place(50.0, 5), (2, 0.0));
        assert_eq!(place(100.0, 5), (4, 0.0));
        assert_eq!(place(0.0, 0), (0, 0.0));
    }
}
