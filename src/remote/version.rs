//! What tells one state of an object from another.

use super::exchange::Answer;
use super::ranges::parse_content_range;

/// Entity tag, modification time and size of an object, as far as a server tells them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// `ETag`, quotes and `W/` included.
    pub etag: Option<String>,
    /// `Last-Modified`, as sent.
    pub modified: Option<String>,
    /// Bytes of the whole object.
    pub size: Option<u64>,
}

impl Version {
    /// What the headers of an answer say; compressed bodies have no size.
    pub(super) fn of(answer: &Answer) -> Self {
        let size = match answer.header("content-range").and_then(parse_content_range) {
            Some((_, size)) => size,
            None if is_compressed(answer) => None,
            None => answer.content_length().filter(|_| answer.status() == reqwest::StatusCode::OK),
        };
        let text = |name| answer.header(name).map(str::to_owned);
        Self { etag: text("etag"), modified: text("last-modified"), size }
    }

    /// The tag for `If-Match`, which compares strongly (RFC 9110, 13.1.1).
    pub(super) fn strong_etag(&self) -> Option<String> {
        self.etag.clone().filter(|tag| tag.starts_with('"'))
    }

    /// How another state differs from this one, as far as both tell; `Last-Modified` counts where there are no tags.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let differ = |name: &str, a: &Option<String>, b: &Option<String>| match (a, b) {
            (Some(a), Some(b)) if a != b => Some(format!("`{name}` was `{a}` and is `{b}`")),
            _ => None,
        };
        if let (Some(a), Some(b)) = (self.size, other.size)
            && a != b
        {
            return Some(format!("its size was {a} bytes and is {b}"));
        }
        if self.etag.is_some() && other.etag.is_some() {
            return differ("ETag", &self.etag, &other.etag);
        }
        differ("Last-Modified", &self.modified, &other.modified)
    }

    /// The version as listings give it: the tag, else the time.
    pub fn text(&self) -> Option<&str> {
        self.etag.as_deref().or(self.modified.as_deref())
    }
}

/// Whether the server compressed the body although `identity` was asked for.
pub(super) fn is_compressed(answer: &Answer) -> bool {
    answer.header("content-encoding").is_some_and(|coding| !coding.eq_ignore_ascii_case("identity"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(etag: Option<&str>, modified: Option<&str>, size: Option<u64>) -> Version {
        Version { etag: etag.map(str::to_owned), modified: modified.map(str::to_owned), size }
    }

    #[test]
    fn states_differ_by_what_both_tell() {
        let base = version(Some("\"a\""), Some("monday"), Some(5));
        for (other, differs) in [
            (version(Some("\"a\""), Some("tuesday"), Some(5)), false),
            (version(Some("\"b\""), Some("monday"), Some(5)), true),
            (version(None, Some("tuesday"), None), true),
            (version(None, None, None), false),
            (version(Some("\"a\""), None, Some(6)), true),
        ] {
            assert_eq!(base.difference(&other).is_some(), differs, "{other:?}");
        }
    }

    #[test]
    fn only_a_strong_tag_is_matched() {
        assert_eq!(version(Some("W/\"a\""), None, None).strong_etag(), None);
        assert_eq!(version(Some("\"a\""), None, None).strong_etag().as_deref(), Some("\"a\""));
    }
}
