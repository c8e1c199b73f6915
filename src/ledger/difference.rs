//! What two manifests differ in, as sentences.

use serde_json::Value as Json;

type Table = serde_json::Map<String, Json>;

/// The longest value that is shown whole, in characters.
const LONGEST: usize = 60;

/// The first difference of `new` from `old`, in the order of `new` and then of what only `old` has:
/// `` `warp.resampling` was `nearest` and is `bilinear` ``. `None` when they are equal.
pub fn first_difference(old: &Json, new: &Json) -> Option<String> {
    differences(old, new).into_iter().next()
}

/// Every difference of `new` from `old`, in the same words and order. A list of pairs that begin with a name is compared
/// name by name, as the table that it was written as.
pub fn differences(old: &Json, new: &Json) -> Vec<String> {
    let mut found = Vec::new();
    compare("", old, new, &mut found);
    found
}

fn compare(path: &str, old: &Json, new: &Json, found: &mut Vec<String>) {
    match (old, new) {
        _ if old == new => {}
        (Json::Object(old), Json::Object(new)) => compare_tables(path, old, new, found),
        (Json::Array(old), Json::Array(new)) => match (named_pairs(old), named_pairs(new)) {
            (Some(old), Some(new)) if old == new => found.push(format!("{} has another order", quoted(path))),
            (Some(old), Some(new)) => compare_tables(path, &old, &new, found),
            _ => compare_lists(path, old, new, found),
        },
        _ => {
            let (old, new) = told_apart(shown(old), shown(new));
            found.push(format!("{} was `{old}` and is `{new}`", quoted(path)));
        }
    }
}

fn compare_tables(path: &str, old: &Table, new: &Table, found: &mut Vec<String>) {
    for (key, value) in new {
        compare_entry(&below(path, key), old.get(key), Some(value), found);
    }
    for (key, value) in old.iter().filter(|(key, _)| !new.contains_key(*key)) {
        compare_entry(&below(path, key), Some(value), None, found);
    }
}

fn compare_lists(path: &str, old: &[Json], new: &[Json], found: &mut Vec<String>) {
    for at in 0..old.len().max(new.len()) {
        compare_entry(&format!("{path}[{at}]"), old.get(at), new.get(at), found);
    }
}

fn compare_entry(path: &str, old: Option<&Json>, new: Option<&Json>, found: &mut Vec<String>) {
    match (old, new) {
        (Some(old), Some(new)) => compare(path, old, new, found),
        (None, Some(new)) => found.push(format!("{} is new: `{}`", quoted(path), cut(&shown(new)))),
        (Some(old), None) => found.push(format!("{} is gone: it was `{}`", quoted(path), cut(&shown(old)))),
        (None, None) => {}
    }
}

/// The pairs of a list as a table, where each begins with another name.
fn named_pairs(list: &[Json]) -> Option<Table> {
    let pair = |value: &Json| match value.as_array()?.as_slice() {
        [name, value] => Some((name.as_str()?.to_owned(), value.clone())),
        _ => None,
    };
    let table: Table = list.iter().map(pair).collect::<Option<_>>()?;
    (table.len() == list.len() && !list.is_empty()).then_some(table)
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn quoted(path: &str) -> String {
    if path.is_empty() { "it".to_owned() } else { format!("`{path}`") }
}

/// A value as text, strings without their quotes.
fn shown(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Two texts, cut where they are long, with the words that both begin with left out of long ones: so that what differs
/// is seen.
fn told_apart(old: String, new: String) -> (String, String) {
    if old.chars().count().max(new.chars().count()) <= LONGEST {
        return (old, new);
    }
    let same: usize = old
        .chars()
        .zip(new.chars())
        .take_while(|(old, new)| old == new)
        .map(|(same, _)| same.len_utf8())
        .sum();
    match old[..same].rfind([' ', '\n']) {
        Some(space) => (format!("…{}", cut(&old[space + 1..])), format!("…{}", cut(&new[space + 1..]))),
        None => (cut(&old), cut(&new)),
    }
}

/// A text, cut if it is long.
fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_named_with_both_values() {
        let long = "x".repeat(61);
        let cases = [
            (json!({"a": 1, "b": {"c": 2}}), json!({"a": 1, "b": {"c": 2}}), None),
            (
                json!({"warp": {"resampling": "nearest"}}),
                json!({"warp": {"resampling": "cubic"}}),
                Some("`warp.resampling` was `nearest` and is `cubic`"),
            ),
            (json!({"a": 1, "b": 2}), json!({"b": 3, "a": 4}), Some("`b` was `2` and is `3`")),
            (json!({"a": 1}), json!({"a": 1, "b": null}), Some("`b` is new: `null`")),
            (json!({"a": 1, "b": 2}), json!({"a": 1}), Some("`b` is gone: it was `2`")),
            (json!({"a": [1, 2]}), json!({"a": [1, 3, 4]}), Some("`a[1]` was `2` and is `3`")),
            (json!({"a": [1]}), json!({"a": [1, 4]}), Some("`a[1]` is new: `4`")),
            (json!({"a": [1]}), json!({"a": {"b": 1}}), Some("`a` was `[1]` and is `{\"b\":1}`")),
            (json!("etag-1"), json!("etag-2"), Some("it was `etag-1` and is `etag-2`")),
            (
                json!(format!("data=/{long} size=5 version=mtime:1")),
                json!(format!("data=/{long} size=5 version=mtime:2")),
                Some("it was `…version=mtime:1` and is `…version=mtime:2`"),
            ),
            (json!(long), json!(1), Some(&format!("it was `{}…` and is `1`", &long[..60]))),
        ];
        for (old, new, expected) in cases {
            assert_eq!(first_difference(&old, &new).as_deref(), expected, "{old} -> {new}");
        }
    }

    #[test]
    fn all_differences_are_named_and_pairs_by_their_name() {
        let old = json!({"calc": {"bands": [["a", "x"], ["b", "y"]], "dtype": "uint8"}});
        let new = json!({"calc": {"bands": [["a", "z"], ["c", "y"]], "dtype": "uint8"}, "warp": {}});
        assert_eq!(
            differences(&old, &new),
            [
                "`calc.bands.a` was `x` and is `z`",
                "`calc.bands.c` is new: `y`",
                "`calc.bands.b` is gone: it was `y`",
                "`warp` is new: `{}`"
            ]
        );
        let turned = json!({"calc": {"bands": [["b", "y"], ["a", "x"]], "dtype": "uint8"}});
        assert_eq!(differences(&old, &turned), ["`calc.bands` has another order"]);
        assert_eq!(differences(&old, &old), Vec::<String>::new());
    }
}
