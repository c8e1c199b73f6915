//! Says what a file that is no raster looks like.

/// A sentence on a file of `size` bytes that begins with `start` and that no driver opened, if it is recognised.
pub(super) fn describe(start: &[u8], size: u64) -> Option<String> {
    if size == 0 {
        return Some("empty (0 bytes)".to_owned());
    }
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let begins = |words: &str| text.get(..words.len()).is_some_and(|head| head.eq_ignore_ascii_case(words));
    let looks = if begins("<!doctype html") || begins("<html") || begins("<head") {
        "it looks like an HTML page, perhaps a login or error page of a server"
    } else if begins("version https://git-lfs") {
        "it looks like a git-lfs pointer; run `git lfs pull` to get the file itself"
    } else if begins("<VRTDataset") {
        "it looks like a VRT, which opens from the local disk only, because it names other files"
    } else if begins("<?xml") || begins("<Error") {
        "it looks like an XML document, perhaps an error of an object store"
    } else if begins("{") || begins("[") {
        "it looks like a JSON document"
    } else if is_tiff(start) {
        return None;
    } else if start.starts_with(b"PK\x03\x04") {
        "it looks like a ZIP archive"
    } else if start.starts_with(b"\x1f\x8b") {
        "it looks like a gzip file"
    } else if start.starts_with(b"\x89HDF") || start.starts_with(b"CDF") {
        "it looks like HDF or netCDF, which is not read"
    } else if start.starts_with(b"PAR1") {
        "it looks like a Parquet file"
    } else {
        return None;
    };
    Some(looks.to_owned())
}

/// Whether the bytes begin as a TIFF or BigTIFF of either byte order does.
pub(super) fn is_tiff(start: &[u8]) -> bool {
    [b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"].iter().any(|magic| start.starts_with(*magic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_what_is_often_named_like_a_raster() {
        let cases: &[(&[u8], &str)] = &[
            (b"\n <!DOCTYPE HTML><html>", "HTML page"),
            (b"version https://git-lfs.github.com/spec/v1\n", "git-lfs pointer"),
            (b"<?xml version=\"1.0\"?><Error>", "XML document"),
            (b"<VRTDataset rasterXSize=\"1\">", "VRT"),
            (b"{\"error\": 1}", "JSON"),
            (b"PK\x03\x04..", "ZIP"),
        ];
        for (start, words) in cases {
            let said = describe(start, 99).unwrap();
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(describe(b"", 0).unwrap(), "empty (0 bytes)");
    }

    #[test]
    fn says_nothing_of_a_damaged_tiff_or_of_noise() {
        assert_eq!(describe(b"II*\0\x08\0\0\0", 99), None);
        assert_eq!(describe(b"\x01\x02\x03", 99), None);
    }
}
