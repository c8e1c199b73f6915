//! What a stage asks for: whole objects, parts of objects, documents.

use std::ops::Range;

use bytes::Bytes;
use futures::future::try_join_all;
use reqwest::Method;
use url::Url;

use super::body::{Admit, Body, Document, Part, Spill, ToFile, Whole, WholeDocument};
use super::exchange::{Ask, Payload};
use super::ranges::{MERGE_GAP, MERGE_LIMIT, merge};
use super::version::Version;
use super::{RequestError, StageClient};
use crate::events::WholeReason;

impl StageClient {
    /// A whole object in one buffer of its announced size, for which `admit` is asked before the first byte. A body of
    /// unannounced length goes to `spill`, and is refused where there is none. `why` all of it is asked for is told with the
    /// request.
    ///
    /// # Errors
    /// What a server and a network can do; where `expects_raster` also a page or document in its place.
    pub async fn get_whole(
        &self,
        url: &Url,
        admit: Admit<'_>,
        spill: Option<&Spill>,
        expects_raster: bool,
        why: WholeReason,
    ) -> Result<Body, RequestError> {
        self.perform(&Ask::whole(url, why), &mut Whole { admit, spill, expects_raster }).await
    }

    /// A whole object in the file of `spill`; its size. A body of announced length may be larger than the cap.
    ///
    /// # Errors
    /// As [`StageClient::get_whole`], and what a disk can do.
    pub async fn get_to_file(
        &self,
        url: &Url,
        spill: &Spill,
        expects_raster: bool,
        why: WholeReason,
    ) -> Result<u64, RequestError> {
        self.perform(&Ask::whole(url, why), &mut ToFile { spill, expects_raster }).await
    }

    /// Parts of an object in the state of `version`, neighbours read together, by offset and not overlapping.
    /// Requests go out at the same time, each under the stage's resources.
    ///
    /// # Errors
    /// What a server and a network can do; [`RequestError::Changed`] when the object is not in that state.
    pub async fn get_ranges(
        &self,
        url: &Url,
        ranges: &[Range<u64>],
        version: &Version,
    ) -> Result<Vec<(u64, Bytes)>, RequestError> {
        let parts = merge(ranges, MERGE_GAP, MERGE_LIMIT).into_iter().map(|range| async move {
            let start = range.start;
            Ok((start, self.get_range(url, range, version).await?))
        });
        try_join_all(parts).await
    }

    /// One part of an object in the state of `version`.
    ///
    /// # Errors
    /// As [`StageClient::get_ranges`].
    pub async fn get_range(
        &self,
        url: &Url,
        range: Range<u64>,
        version: &Version,
    ) -> Result<Bytes, RequestError> {
        let ask = Ask::object(url, Some(range.clone()), version.strong_etag());
        self.perform(&ask, &mut Part { range, version }).await
    }

    /// A document of a catalogue or a service.
    ///
    /// # Errors
    /// What a server and a network can do.
    pub async fn document(&self, url: &Url) -> Result<Document, RequestError> {
        self.perform(&Ask::document(url), &mut WholeDocument).await
    }

    /// The document that a service answers a JSON document with; `headers` come from its own links.
    ///
    /// # Errors
    /// What a server and a network can do.
    pub async fn post_json(&self, url: &Url, json: &serde_json::Value) -> Result<Document, RequestError> {
        let payload = Some(Payload::Json(json.to_string().into()));
        self.perform(&Ask { method: Method::POST, payload, ..Ask::document(url) }, &mut WholeDocument).await
    }
}
