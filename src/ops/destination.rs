//! Where an output goes: to a path of this machine, or into an object store.

use std::path::{Path, PathBuf};

use url::Url;

use crate::config::{Fault, Spanned};
use crate::contract::{Failure, Item, Location, Take, Template};

/// Object stores that can be written to.
const STORES: [&str; 3] = ["s3", "gs", "az"];

/// Places of outputs, one for each item.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    path: Template,
    folder: PathBuf,
    is_store: bool,
}

impl Destination {
    /// Checks a path with names of items in braces; it is relative to `folder`.
    pub(super) fn parse(text: &Spanned<String>, folder: &Path) -> Result<Self, Vec<Fault>> {
        let path = Template::parse(text)?;
        let is_store = is_store(text).map_err(|fault| vec![*fault])?;
        Ok(Self { path, folder: folder.to_owned(), is_store })
    }

    /// The place of an item's output.
    ///
    /// # Errors
    /// A name that the item does not have, or a value that is no part of a path.
    pub(super) fn of(&self, item: &Item) -> Result<Location, Failure> {
        let text = self.path.render(item)?;
        if !self.is_store {
            return Ok(Location::Local(self.folder.join(text)));
        }
        let url =
            object(&text).ok_or_else(|| Failure::item(format!("`{text}` is no address of an object")))?;
        Ok(Location::Remote(url))
    }

    /// As it is written in the pipeline.
    pub(super) fn text(&self) -> &str {
        self.path.text()
    }

    /// Whether it is the same for all items.
    pub(super) fn is_literal(&self) -> bool {
        self.path.is_literal()
    }

    /// What writing there takes: `connections` for every request to a store, one of `writers` for a file.
    pub(super) fn takes(&self) -> &'static [Take] {
        if self.is_store { &[Take::Connections] } else { &[Take::Writers] }
    }
}

/// Whether a path is one in a store, whose bucket is the same for all items.
fn is_store(text: &Spanned<String>) -> Result<bool, Box<Fault>> {
    let Some((scheme, rest)) = text.split_once("://") else { return Ok(false) };
    let fault = |message: String| Box::new(Fault::error("bad-location", text.span.clone(), message));
    if !STORES.contains(&scheme) {
        let known = STORES.map(|scheme| format!("`{scheme}://`")).join(", ");
        return Err(fault(format!("`{scheme}://` cannot be written to; known are paths, {known}")));
    }
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() || bucket.contains(['{', '}']) || key.is_empty() {
        let fault = fault(format!("`{}` does not name a bucket and an object in it", text.value));
        return Err(Box::new(fault.help("write for example `s3://bucket/out/{id}.tif`")));
    }
    Ok(true)
}

/// The address of an object whose key is written plainly: `#`, `?` and `%` are parts of names.
fn object(text: &str) -> Option<Url> {
    let (scheme, rest) = text.split_once("://")?;
    let (bucket, key) = rest.split_once('/')?;
    let mut url = Url::parse(&format!("{scheme}://{bucket}/")).ok()?;
    url.path_segments_mut().ok()?.clear().extend(key.split('/'));
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Lineage, Payload};

    fn parse(text: &str) -> Result<Destination, Vec<Fault>> {
        Destination::parse(&Spanned::new(text.to_owned(), 0..text.len()), Path::new("/jobs"))
    }

    fn place(text: &str, id: &str) -> String {
        let payload = Payload::Assets(Vec::new());
        let item = Item {
            id: id.into(),
            properties: std::sync::Arc::default(),
            lineage: Lineage::default(),
            payload,
        };
        parse(text).expect(text).of(&item).expect("a place").to_string()
    }

    #[test]
    fn paths_and_objects_are_told_apart() {
        assert_eq!(place("out/{id}.tif", "a#b"), "/jobs/out/a#b.tif");
        assert_eq!(place("s3://tiles/out/{id}.tif", "a b#c?d"), "s3://tiles/out/a%20b%23c%3Fd.tif");
        assert_eq!(place("az://tiles/{id}", "../up"), "az://tiles/.._up");
        assert_eq!(parse("gs://tiles/{id}.tif").expect("an object").takes(), [Take::Connections]);
        assert_eq!(parse("out/{id}.tif").expect("a file").takes(), [Take::Writers]);
    }

    #[test]
    fn what_is_no_place_to_write_is_a_fault() {
        for text in
            ["https://h.example/{id}.tif", "s3://{id}/a.tif", "s3://tiles", "s3:///a.tif", "s3://tiles/"]
        {
            assert_eq!(parse(text).expect_err(text)[0].code, "bad-location", "{text}");
        }
    }
}
