//! Where files are: read from text, shown without secrets, and told apart for the fingerprint.

use std::fmt;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use url::Url;

use super::Location;
use crate::remote::redacted;

/// Schemes of addresses that can be fetched.
const SCHEMES: [&str; 5] = ["http", "https", "s3", "gs", "az"];

impl Location {
    /// Reads a path, relative to `folder`, or an address.
    ///
    /// # Errors
    /// A sentence on a text that is neither.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, String> {
        if text.is_empty() {
            return Err("an empty text is neither a path nor an address".into());
        }
        if let Some(rest) = text.strip_prefix("/vsi") {
            let shown = rest.split('/').next().unwrap_or_default();
            return Err(format!(
                "`/vsi{shown}/…` is GDAL's own way to a file; write its path or address itself"
            ));
        }
        if text.contains("://") || text.starts_with("file:/") {
            parse_address(text)
        } else {
            parse_path(text, folder)
        }
    }

    /// The address relative to the document or folder that names it.
    ///
    /// # Errors
    /// As [`Location::parse`].
    pub fn join(&self, text: &str) -> Result<Self, String> {
        match self {
            Location::Remote(base) if !text.starts_with("file:") => {
                let url = base.join(text).map_err(|error| format!("`{text}` is no address: {error}"))?;
                of_url(url)
            }
            Location::Remote(_) => Err("a remote document names a local file".into()),
            Location::Local(path) => Location::parse(text, path.parent().unwrap_or(path)),
        }
    }

    /// The same place without a query.
    #[must_use]
    pub fn without_query(&self) -> Self {
        let mut place = self.clone();
        if let Location::Remote(url) = &mut place {
            url.set_query(None);
        }
        place
    }

    /// The file name without folder and last suffix, decoded; empty where there is none.
    pub fn stem(&self) -> String {
        let name = self.segments().pop().unwrap_or_default();
        let stem = Path::new(&name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.unwrap_or_default()
    }

    /// The name of the folder that holds the file; empty where there is none.
    pub fn folder(&self) -> String {
        let mut segments = self.segments();
        segments.pop();
        segments.pop().unwrap_or_default()
    }

    /// The location in the fingerprint of an item: without query, since that is where signatures stand, with what the
    /// listing says of the file's state.
    pub fn identity(&self, size: Option<u64>, version: Option<&str>) -> String {
        let size = size.map(|size| format!(" size={size}")).unwrap_or_default();
        let version = version.map(|version| format!(" version={version}")).unwrap_or_default();
        format!("{self}{size}{version}")
    }

    /// The parts of the path, decoded.
    fn segments(&self) -> Vec<String> {
        match self {
            Location::Local(path) => path.iter().map(|part| part.to_string_lossy().into_owned()).collect(),
            Location::Remote(url) => url
                .path_segments()
                .into_iter()
                .flatten()
                .filter(|segment| !segment.is_empty())
                .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
                .collect(),
        }
    }
}

impl fmt::Display for Location {
    /// A path, or an address without user, password and query.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Local(path) => path.display().fmt(f),
            Location::Remote(url) => f.write_str(&redacted(url)),
        }
    }
}

fn parse_address(text: &str) -> Result<Location, String> {
    of_url(Url::parse(text).map_err(|error| format!("`{text}` is no address: {error}"))?)
}

fn of_url(url: Url) -> Result<Location, String> {
    if url.scheme() == "file" {
        let path = url.to_file_path().map_err(|()| format!("`{url}` is no path of this machine"))?;
        return Ok(Location::Local(path));
    }
    if !SCHEMES.contains(&url.scheme()) || !url.has_host() {
        let known = SCHEMES.map(|scheme| format!("`{scheme}://`")).join(", ");
        return Err(format!("`{}` cannot be fetched; known are paths, `file://`, {known}", redacted(&url)));
    }
    Ok(Location::Remote(url))
}

fn parse_path(text: &str, folder: &Path) -> Result<Location, String> {
    let path: PathBuf = folder.join(text);
    match std::path::absolute(&path) {
        Ok(path) => Ok(Location::Local(path)),
        Err(error) => Err(format!("`{}` is no path: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Location, String> {
        Location::parse(text, Path::new("/jobs"))
    }

    #[test]
    fn paths_and_addresses_are_told_apart() {
        for (text, expected) in [
            ("in/a b.tif", "/jobs/in/a b.tif"),
            ("/data/a#b?c.tif", "/data/a#b?c.tif"),
            ("file:///data/a%20b.tif", "/data/a b.tif"),
            ("https://u:p@h.example/a%20b.tif?sig=x", "https://h.example/a%20b.tif"),
            ("https://h.example/a b.tif", "https://h.example/a%20b.tif"),
            ("s3://bucket/key.tif", "s3://bucket/key.tif"),
            ("a:b.tif", "/jobs/a:b.tif"),
        ] {
            assert_eq!(parse(text).expect(text).to_string(), expected);
        }
        for text in [
            "",
            "/vsicurl/https://h.example/a.tif",
            "ftp://h.example/a.tif",
            "https://",
            "file://other-host/a",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn stem_and_folder_come_from_the_path() {
        for (text, folder, stem) in [
            ("/data/2024/scene.v2.tif", "2024", "scene.v2"),
            ("https://h.example/a/b%20c/d%23e.tif?x=/y.z", "b c", "d#e"),
            ("https://h.example/a+b.tif", "", "a+b"),
            ("https://h.example/", "", ""),
        ] {
            let location = parse(text).expect(text);
            assert_eq!((location.folder().as_str(), location.stem().as_str()), (folder, stem), "{text}");
        }
    }

    #[test]
    fn documents_name_their_neighbours() {
        let remote = parse("https://h.example/stac/item.json?token=1").expect("an address");
        assert_eq!(remote.join("../b.tif").expect("an address").to_string(), "https://h.example/b.tif");
        assert!(remote.join("file:///etc/passwd").is_err());
        let local = parse("/data/stac/item.json").expect("a path");
        assert_eq!(local.join("b.tif").expect("a path").to_string(), "/data/stac/b.tif");
        assert_eq!(
            local.join("https://h.example/c.tif").expect("an address").to_string(),
            "https://h.example/c.tif"
        );
    }

    #[test]
    fn the_identity_has_no_signature() {
        let signed = parse("https://h.example/a.tif?sig=secret").expect("an address");
        assert_eq!(signed.identity(Some(5), Some("\"e\"")), "https://h.example/a.tif size=5 version=\"e\"");
    }
}
