//! Answers that are no rasters although the status says all is well: login pages, error documents, pointers.

/// What the first bytes of a body look like when they are surely no raster.
pub(super) fn no_raster(media_type: Option<&str>, first: &[u8]) -> Option<&'static str> {
    let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first).trim_ascii_start();
    if begins_with(text, "<!doctype html") || begins_with(text, "<html") {
        return Some("an HTML page");
    }
    if begins_with(text, "<?xml") || begins_with(text, "<error") {
        return Some("an XML document");
    }
    if begins_with(text, "version https://git-lfs") {
        return Some("a git-lfs pointer");
    }
    let media_type = media_type?.split(';').next()?.trim();
    (media_type.eq_ignore_ascii_case("text/html") && text.first() == Some(&b'<')).then_some("an HTML page")
}

fn begins_with(text: &[u8], prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::no_raster;

    #[test]
    fn pages_and_documents_are_told_from_rasters() {
        for (media_type, first, expected) in [
            (Some("text/html; charset=utf-8"), &b"<!DOCTYPE html><html>"[..], Some("an HTML page")),
            (None, b"\n <HTML lang=en>", Some("an HTML page")),
            (Some("text/html"), b"<center>", Some("an HTML page")),
            (None, b"\xef\xbb\xbf<?xml version='1.0'?><Error>", Some("an XML document")),
            (None, b"version https://git-lfs.github.com/spec/v1\n", Some("a git-lfs pointer")),
            (Some("text/html"), b"II*\0\x08\0\0\0", None),
            (Some("image/tiff"), b"MM\0*", None),
            (None, b"", None),
        ] {
            assert_eq!(no_raster(media_type, first), expected, "{media_type:?} {first:?}");
        }
    }
}
