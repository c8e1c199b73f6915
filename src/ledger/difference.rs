//! The first thing in which two manifests differ, as a sentence.

use serde_json::Value as Json;

/// The longest value that is shown whole, in characters.
const LONGEST: usize = 60;

/// The first difference of `new` from `old`, in the order of `new` and then of what only `old` has:
/// `` `warp.resampling` was `nearest` and is `bilinear` ``. `None` when they are equal.
pub fn first_difference(old: &Json, new: &Json) -> Option<String> {
    first_below("", old, new)
}

fn first_below(path: &str, old: &Json, new: &Json) -> Option<String> {
    match (old, new) {
        _ if old == new => None,
        (Json::Object(old), Json::Object(new)) => {
            let added = new.iter().map(|(key, value)| (key, old.get(key), Some(value)));
            let removed = old.iter().filter(|(key, _)| !new.contains_key(*key));
            added
                .chain(removed.map(|(key, value)| (key, Some(value), None)))
                .find_map(|(key, old, new)| between(&below(path, key), old, new))
        }
        (Json::Array(old), Json::Array(new)) => (0..old.len().max(new.len()))
            .find_map(|at| between(&format!("{path}[{at}]"), old.get(at), new.get(at))),
        _ => Some(format!("{} was {} and is {}", quoted(path), shown(old), shown(new))),
    }
}

fn between(path: &str, old: Option<&Json>, new: Option<&Json>) -> Option<String> {
    match (old, new) {
        (Some(old), Some(new)) => first_below(path, old, new),
        (None, Some(new)) => Some(format!("{} is new: {}", quoted(path), shown(new))),
        (Some(old), None) => Some(format!("{} is gone: it was {}", quoted(path), shown(old))),
        (None, None) => None,
    }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn quoted(path: &str) -> String {
    if path.is_empty() { "it".to_owned() } else { format!("`{path}`") }
}

/// A value in backticks, strings without their quotes, long ones cut.
fn shown(value: &Json) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
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
            (json!(long), json!(1), Some(&format!("it was `{}…` and is `1`", &long[..60]))),
        ];
        for (old, new, expected) in cases {
            assert_eq!(first_difference(&old, &new).as_deref(), expected, "{old} -> {new}");
        }
    }
}
