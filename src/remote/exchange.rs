//! One request and its answer: what is asked, what came, and the account that is closed with it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use object_store::client::HttpRequestBody;
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::RequestError;
use super::error::innermost;
use crate::events::{Emitter, Event, WholeReason};
use crate::ids::{ItemId, StageName};
use crate::resources::{LeaseSet, Outcome};

/// What is asked of a server.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) method: Method,
    pub(super) url: Url,
    /// The part of the object that is wanted.
    pub(super) range: Option<Range<u64>>,
    /// A strong entity tag that the object must still have.
    pub(super) if_match: Option<String>,
    /// What is sent.
    pub(super) payload: Option<Payload>,
    /// Further headers.
    pub(super) headers: HeaderMap,
    /// Whether the address is an object's and so may have to be signed.
    pub(super) is_object: bool,
    /// Why all of an object is wanted, where parts could have been.
    pub(super) whole: Option<WholeReason>,
    /// Whether an answer that says no for good is an answer, and redirects are not followed.
    pub(super) is_raw: bool,
}

/// What a request sends.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    /// A JSON document.
    Json(Bytes),
    /// What the client of an object store sends.
    Store(HttpRequestBody),
}

impl Ask {
    /// An object, or a part of it.
    pub(super) fn object(url: &Url, range: Option<Range<u64>>, if_match: Option<String>) -> Self {
        Self { range, if_match, is_object: true, ..Self::document(url) }
    }

    /// All of an object, and why.
    pub(super) fn whole(url: &Url, why: WholeReason) -> Self {
        Self { whole: Some(why), ..Self::object(url, None, None) }
    }

    /// A document of a catalogue or a service.
    pub(super) fn document(url: &Url) -> Self {
        Self {
            method: Method::GET,
            url: url.clone(),
            range: None,
            if_match: None,
            payload: None,
            headers: HeaderMap::new(),
            is_object: false,
            whole: None,
            is_raw: false,
        }
    }
}

/// The account of one request: it holds the leases, and tells what came of them when it is dropped.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) leases: LeaseSet,
    pub(super) status: u16,
    pub(super) outcome: Option<Outcome>,
    /// Bytes of the body so far; outlives the account, for rates of bytes.
    pub(super) received: Arc<AtomicU64>,
    pub(super) begun: Instant,
    /// Asleep before it.
    pub(super) slept: Duration,
    /// Why all of an object was asked for.
    pub(super) whole: Option<WholeReason>,
    pub(super) told: Told,
}

/// Whom an account is told to, and as whose.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) events: Emitter,
    pub(super) stage: StageName,
    pub(super) item: ItemId,
}

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.stage, self.item)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let bytes = self.received.load(Ordering::Relaxed);
        let outcome = self.outcome.unwrap_or(Outcome::Silent);
        for slot in &self.leases.slots {
            slot.report(outcome);
        }
        let waited: BTreeMap<_, _> = std::mem::take(&mut self.leases.waited);
        self.told.events.emit(|| Event::Request {
            stage: self.told.stage.clone(),
            item: self.told.item.clone(),
            status: self.status,
            waited,
            slept: self.slept.as_secs_f64(),
            took: seconds,
            bytes,
            whole: self.whole,
        });
    }
}

impl Account {
    /// Remembers why the request failed.
    pub(super) fn fail(&mut self, error: &RequestError) {
        if error.is_throttling() {
            self.outcome = Some(Outcome::Throttled);
        }
    }
}

/// An answer whose status is looked at already and whose body is still on the way. Dropping it ends the request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) response: reqwest::Response,
    /// The address asked for first, without secrets.
    pub(super) shown: String,
    /// When the stage's `timeout` ends, and its length.
    pub(super) deadline: Option<(Instant, Duration)>,
    pub(super) stall: Duration,
    /// Whether a body was asked for: an answer to `HEAD` states a length and has none.
    pub(super) has_body: bool,
    pub(super) account: Account,
}

impl Answer {
    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// A header as text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    /// Bytes of the body as announced.
    pub(super) fn content_length(&self) -> Option<u64> {
        self.header("content-length")?.trim().parse().ok()
    }

    /// The address that answered.
    pub(super) fn url(&self) -> &Url {
        self.response.url()
    }

    /// The next bytes of the body; `None` at its end, which is checked against the announced length.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, RequestError> {
        let result = self.chunk_in_time().await;
        if let Err(error) = &result {
            self.account.fail(error);
        }
        result
    }

    async fn chunk_in_time(&mut self) -> Result<Option<Bytes>, RequestError> {
        let stalled = Instant::now() + self.stall;
        let end = self.deadline.map_or(stalled, |(deadline, _)| deadline.min(stalled));
        match timeout_at(end, self.response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                self.account.received.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                Ok(Some(bytes))
            }
            Ok(Ok(None)) => self.at_end(),
            Ok(Err(error)) => Err(self.broken(&error)),
            Err(_) => Err(self.too_slow(end == stalled)),
        }
    }

    /// Bytes of the body that arrived so far.
    pub(super) fn received(&self) -> u64 {
        self.account.received.load(Ordering::Relaxed)
    }

    fn at_end(&mut self) -> Result<Option<Bytes>, RequestError> {
        let received = self.received();
        if let Some(expected) =
            self.content_length().filter(|expected| self.has_body && *expected != received)
        {
            return Err(RequestError::Truncated { url: self.shown.clone(), received, expected });
        }
        let seconds = self.account.begun.elapsed().as_secs_f64();
        self.account.outcome.get_or_insert(Outcome::Served { bytes: received, seconds });
        Ok(None)
    }

    fn broken(&self, error: &reqwest::Error) -> RequestError {
        let (url, received) = (self.shown.clone(), self.received());
        match self.content_length() {
            Some(expected) if received < expected => RequestError::Truncated { url, received, expected },
            _ => RequestError::Broken { url, received, reason: innermost(error) },
        }
    }

    fn too_slow(&self, is_stall: bool) -> RequestError {
        let (url, received) = (self.shown.clone(), self.received());
        match self.deadline {
            Some((_, limit)) if !is_stall => RequestError::TimedOut { url, seconds: limit.as_secs_f64() },
            _ => RequestError::Stalled { url, seconds: self.stall.as_secs_f64(), received },
        }
    }

    /// Reads the whole body into one buffer of `length` bytes.
    pub(super) async fn into_buffer(mut self, length: u64) -> Result<Bytes, RequestError> {
        let mut buffer = Vec::with_capacity(length as usize);
        while let Some(chunk) = self.chunk().await? {
            buffer.extend_from_slice(&chunk);
        }
        Ok(buffer.into())
    }

    /// Reads at most `limit` bytes of the body; whether that is all of it.
    pub(super) async fn up_to(&mut self, limit: u64) -> Result<(Vec<u8>, bool), RequestError> {
        let mut buffer = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            let room = (limit as usize).saturating_sub(buffer.len());
            buffer.extend_from_slice(&chunk[..room.min(chunk.len())]);
            if chunk.len() > room {
                return Ok((buffer, false));
            }
        }
        Ok((buffer, true))
    }

    /// What is wrong with how the server speaks.
    pub(super) fn unusable(&self, reason: impl Into<String>) -> RequestError {
        RequestError::Unusable { url: self.shown.clone(), reason: reason.into() }
    }
}

/// What an answer says about why it is no success: the code or message of an XML or JSON body, one short line.
pub(super) async fn reason_in(mut answer: Answer) -> String {
    let Ok((body, _)) = answer.up_to(4096).await else { return String::new() };
    let text = String::from_utf8_lossy(&body);
    let found = from_json(&text).or_else(|| from_xml(&text));
    found.map(|reason| format!(": {}", one_line(&reason))).unwrap_or_default()
}

fn from_json(text: &str) -> Option<String> {
    let json: serde_json::Value = serde_json::from_str(text).ok()?;
    ["description", "detail", "message", "error"]
        .iter()
        .find_map(|key| Some(json.get(key)?.as_str()?.to_owned()))
}

fn from_xml(text: &str) -> Option<String> {
    let rest = text.split_once("<Code>")?.1;
    Some(rest.split_once("</Code>")?.0.to_owned())
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}
