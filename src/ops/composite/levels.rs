//! Which layers are reduced together, level by level.

use crate::contract::Failure;
use crate::raster::reduce::Reduce;

/// One step of a reduction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    /// How.
    pub(super) reduce: Reduce,
    /// Which layers of the step before become one; in the order of their first members.
    pub(super) groups: Vec<Vec<usize>>,
}

/// The steps for `members` members, innermost first. `reduces` has one entry for each level, outermost first; `keys` gives for each
/// inner level, outermost first, the key of every member.
///
/// # Errors
/// Another number of levels than of reductions.
pub(super) fn levels(
    reduces: &[Reduce],
    keys: &[Vec<String>],
    members: usize,
) -> Result<Vec<Level>, Failure> {
    if reduces.len() != keys.len() + 1 {
        let (found, expected) = (reduces.len(), keys.len() + 1);
        return Err(Failure::item(format!(
            "`reduce` has {found} entries, but the group has {expected} levels; name one for each level, outermost first"
        )));
    }
    if let Some(level) = keys.iter().find(|level| level.len() != members) {
        return Err(Failure::fatal(format!("a level has {} keys for {members} members", level.len())));
    }
    let mut layers: Vec<Vec<&str>> =
        (0..members).map(|member| keys.iter().map(|level| level[member].as_str()).collect()).collect();
    let step = |(depth, &reduce): (usize, &Reduce)| {
        let (outer, groups) = grouped(&layers, depth);
        layers = outer;
        Level { reduce, groups }
    };
    Ok(reduces.iter().enumerate().rev().map(step).collect())
}

/// Layers with equal outer keys, `depth` of them, together.
fn grouped<'a>(layers: &[Vec<&'a str>], depth: usize) -> (Vec<Vec<&'a str>>, Vec<Vec<usize>>) {
    let (mut outer, mut groups): (Vec<Vec<&str>>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    for (index, keys) in layers.iter().enumerate() {
        let key = &keys[..depth];
        if let Some(place) = outer.iter().position(|known| known == key) {
            groups[place].push(index);
        } else {
            outer.push(key.to_vec());
            groups.push(vec![index]);
        }
    }
    (outer, groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(levels: &[&[&str]]) -> Vec<Vec<String>> {
        levels.iter().map(|level| level.iter().map(|&key| key.to_owned()).collect()).collect()
    }

    #[test]
    fn inner_groups_are_reduced_before_outer_ones() {
        // Months of days of scenes: the same day number in two months is not the same day.
        let keys = keys(&[&["may", "june", "may", "may"], &["1", "1", "2", "1"]]);
        let found = levels(&[Reduce::Max, Reduce::Median, Reduce::First], &keys, 4).unwrap();
        let expected = [
            Level { reduce: Reduce::First, groups: vec![vec![0, 3], vec![1], vec![2]] },
            Level { reduce: Reduce::Median, groups: vec![vec![0, 2], vec![1]] },
            Level { reduce: Reduce::Max, groups: vec![vec![0, 1]] },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn every_level_needs_its_own_reduction() {
        let message = levels(&[Reduce::First], &keys(&[&["a"]]), 1).unwrap_err().message;
        assert!(message.starts_with("`reduce` has 1 entries, but the group has 2 levels"), "{message}");
        assert!(levels(&[Reduce::First], &[], 1).is_ok());
    }
}
