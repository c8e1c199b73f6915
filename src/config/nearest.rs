//! The nearest match of a misspelt name.

/// The candidate that `name` was most likely meant to be; `None` where nothing is near.
///
/// Near means one edit, or one in three characters of a longer name (a transposition is one edit), or that one is the
/// beginning of the other.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    candidates
        .into_iter()
        .filter_map(|candidate| distance(&lower, &candidate.to_lowercase()).map(|edits| (edits, candidate)))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Edits between two names, where they are near.
fn distance(name: &str, candidate: &str) -> Option<usize> {
    let edits = strsim::damerau_levenshtein(name, candidate);
    let longest = name.chars().count().max(candidate.chars().count());
    let is_abbreviation = name.len() >= 3 && (candidate.starts_with(name) || name.starts_with(candidate));
    (edits <= (longest / 3).clamp(1, 4) || is_abbreviation).then_some(edits)
}

/// `did you mean …` for a name, else the list of what there is; empty where there is nothing.
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    match nearest(name, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if candidates.is_empty() => String::new(),
        None => format!("expected one of {}", quoted(&candidates)),
    }
}

/// `` `a`, `b`, `c` ``
pub(crate) fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let ops = ["calc", "warp", "read", "write", "resampling"];
        let cases = [
            ("wrap", Some("warp")),
            ("wirte", Some("write")),
            ("Calc", Some("calc")),
            ("resample", Some("resampling")),
            ("banana", None),
            ("x", None),
            ("rest", None),
        ];
        for (name, meant) in cases {
            assert_eq!(nearest(name, ops), meant, "{name}");
        }
    }

    #[test]
    fn lists_what_there_is_when_nothing_is_near() {
        assert_eq!(suggestion("banana", ["calc", "warp"]), "expected one of `calc`, `warp`");
        assert_eq!(suggestion("banana", []), "");
    }
}
