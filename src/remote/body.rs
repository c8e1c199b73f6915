//! What a request is made for: a whole object, a part of one, the beginning of one, or a document.

use std::ops::Range;
use std::path::PathBuf;

use bytes::Bytes;
use reqwest::StatusCode;
use tokio::io::AsyncWriteExt;
use url::Url;

use super::exchange::Answer;
use super::gzip;
use super::perform::Reader;
use super::ranges::{parse_content_range, parse_unsatisfied};
use super::sniff::no_raster;
use super::version::{Version, is_compressed};
use super::{RequestError, redacted};
use crate::resources::ByteLease;

/// The largest document of a catalogue or a service that is read.
const DOCUMENT_LIMIT: u64 = 256 << 20;

/// Asked with the size of a body before any of it is read; an error ends the request.
pub type Admit<'a> = &'a mut (dyn FnMut(u64) -> Result<(), String> + Send);

/// Where a body of unannounced length goes.
#[derive(Debug)]
pub struct Spill {
    /// The file; it is made anew for each try and removed by its owner.
    pub path: PathBuf,
    /// Pays for it, and grows with it.
    pub lease: ByteLease,
    /// The most bytes it may have.
    pub cap: u64,
}

/// A whole object.
#[derive(Debug)]
pub enum Body {
    /// In one buffer.
    Memory(Bytes),
    /// In the file of the [`Spill`], with its size.
    File(u64),
}

/// A document of a catalogue or a service.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its bytes.
    pub bytes: Bytes,
    /// The address that answered, after redirects: what relative links are relative to.
    pub url: Url,
}

/// Reads a whole object.
pub(super) struct Whole<'a> {
    pub(super) admit: Admit<'a>,
    pub(super) spill: Option<&'a Spill>,
    /// Whether an HTML page or an XML document is refused.
    pub(super) expects_raster: bool,
}

impl Reader for Whole<'_> {
    type Output = Body;

    async fn read(&mut self, answer: Answer) -> Result<Body, RequestError> {
        check_whole(&answer)?;
        match (answer.content_length(), self.spill) {
            (Some(length), _) => Ok(Body::Memory(self.in_memory(answer, length).await?)),
            (None, Some(spill)) => {
                let mut to_file = ToFile { spill, expects_raster: self.expects_raster };
                Ok(Body::File(to_file.read(answer).await?))
            }
            (None, None) => {
                Err(answer.unusable("a body without `Content-Length`, for which there is no place"))
            }
        }
    }
}

impl Whole<'_> {
    async fn in_memory(&mut self, answer: Answer, length: u64) -> Result<Bytes, RequestError> {
        let url = answer.shown.clone();
        self.admitted(length, &url)?;
        let media_type = answer.header("content-type").map(str::to_owned);
        let coding = coding_of(&answer);
        let mut body = answer.into_buffer(length).await?;
        if let Some(coding) = coding {
            let size = gzip_size(&body, &coding, &url)?;
            self.admitted(length + size, &url)?;
            body = unpack(&body, size, &url)?;
        }
        check_raster(self.expects_raster, media_type.as_deref(), &body, &url)?;
        Ok(body)
    }

    fn admitted(&mut self, bytes: u64, url: &str) -> Result<(), RequestError> {
        (self.admit)(bytes).map_err(|reason| RequestError::TooLarge { url: url.to_owned(), reason })
    }
}

/// Reads a whole object into a file.
pub(super) struct ToFile<'a> {
    pub(super) spill: &'a Spill,
    /// Whether an HTML page or an XML document is refused.
    pub(super) expects_raster: bool,
}

impl Reader for ToFile<'_> {
    type Output = u64;

    async fn read(&mut self, mut answer: Answer) -> Result<u64, RequestError> {
        check_whole(&answer)?;
        if let Some(coding) = coding_of(&answer) {
            let reason = format!("a body with `Content-Encoding: {coding}`, which does not go to a file");
            return Err(answer.unusable(reason));
        }
        let cap = if answer.content_length().is_some() { u64::MAX } else { self.spill.cap };
        let (url, media_type) = (answer.shown.clone(), answer.header("content-type").map(str::to_owned));
        let failed = |error| self.failed(&url, &error);
        let mut file = tokio::fs::File::create(&self.spill.path).await.map_err(failed)?;
        let mut size = 0;
        while let Some(chunk) = answer.chunk().await? {
            if size == 0 {
                check_raster(self.expects_raster, media_type.as_deref(), &chunk, &url)?;
            }
            size += chunk.len() as u64;
            if size > cap {
                let reason = format!("a body of unannounced length with more than {cap} bytes");
                return Err(RequestError::TooLarge { url, reason });
            }
            self.spill.lease.grow_to(size);
            file.write_all(&chunk).await.map_err(failed)?;
        }
        file.flush().await.map_err(failed)?;
        Ok(size)
    }
}

impl ToFile<'_> {
    fn failed(&self, url: &str, error: &std::io::Error) -> RequestError {
        RequestError::Scratch {
            url: url.to_owned(),
            path: self.spill.path.display().to_string(),
            is_full: error.kind() == std::io::ErrorKind::StorageFull,
            reason: error.to_string(),
        }
    }
}

fn check_whole(answer: &Answer) -> Result<(), RequestError> {
    match answer.status() {
        StatusCode::OK => Ok(()),
        status => Err(answer.unusable(format!("{status} for a whole object"))),
    }
}

fn check_raster(
    expects: bool,
    media_type: Option<&str>,
    first: &[u8],
    url: &str,
) -> Result<(), RequestError> {
    match no_raster(media_type, first).filter(|_| expects) {
        Some(found) => Err(RequestError::NotARaster { url: url.to_owned(), found }),
        None => Ok(()),
    }
}

/// How the server compressed the body.
fn coding_of(answer: &Answer) -> Option<String> {
    is_compressed(answer).then(|| answer.header("content-encoding").unwrap_or_default().to_owned())
}

/// Reads one part of an object into a buffer.
pub(super) struct Part<'a> {
    pub(super) range: Range<u64>,
    /// The state of the object that the part has to belong to.
    pub(super) version: &'a Version,
}

impl Reader for Part<'_> {
    type Output = Bytes;

    async fn read(&mut self, answer: Answer) -> Result<Bytes, RequestError> {
        let changed = |url: &str, reason| RequestError::Changed { url: url.to_owned(), reason };
        if let Some(reason) = self.version.difference(&Version::of(&answer)) {
            return Err(changed(&answer.shown, reason));
        }
        if answer.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            return Err(changed(&answer.shown, format!("it ends before byte {}", self.range.start)));
        }
        if is_compressed(&answer) {
            return Err(answer.unusable("a compressed body where bytes of a range were asked for"));
        }
        match answer.status() {
            StatusCode::PARTIAL_CONTENT => self.of_partial(answer).await,
            _ => self.of_whole(answer).await,
        }
    }
}

impl Part<'_> {
    async fn of_partial(&self, answer: Answer) -> Result<Bytes, RequestError> {
        let content_range = answer.header("content-range").unwrap_or_default();
        match parse_content_range(content_range) {
            Some((range, _)) if range == self.range => {}
            _ => {
                let asked = format!("{}-{}", self.range.start, self.range.end - 1);
                return Err(answer.unusable(format!("`Content-Range: {content_range}` for bytes {asked}")));
            }
        }
        let (url, expected) = (answer.shown.clone(), self.range.end - self.range.start);
        let bytes = answer.into_buffer(expected).await?;
        let received = bytes.len() as u64;
        if received == expected {
            Ok(bytes)
        } else {
            Err(RequestError::Truncated { url, received, expected })
        }
    }

    /// The server ignored `Range`: the part is cut from the whole body as it comes.
    async fn of_whole(&self, mut answer: Answer) -> Result<Bytes, RequestError> {
        let expected = self.range.end - self.range.start;
        let mut buffer = Vec::with_capacity(expected as usize);
        let mut at = 0;
        while (buffer.len() as u64) < expected {
            let Some(chunk) = answer.chunk().await? else {
                let received = buffer.len() as u64;
                return Err(RequestError::Truncated { url: answer.shown.clone(), received, expected });
            };
            let end = at + chunk.len() as u64;
            let (from, to) = (self.range.start.clamp(at, end), self.range.end.clamp(at, end));
            buffer.extend_from_slice(&chunk[(from - at) as usize..(to - at) as usize]);
            at = end;
        }
        Ok(buffer.into())
    }
}

/// The beginning of an object.
pub(super) struct Prefix {
    pub(super) bytes: Bytes,
    pub(super) version: Version,
    /// Whether `bytes` is the whole object.
    pub(super) is_whole: bool,
    /// Whether the server answers with parts of the object.
    pub(super) has_ranges: bool,
    pub(super) media_type: Option<String>,
    pub(super) shown: String,
}

/// Reads the beginning of an object; what follows is left on the line.
pub(super) struct Beginning {
    pub(super) limit: u64,
}

impl Reader for Beginning {
    type Output = Prefix;

    async fn read(&mut self, mut answer: Answer) -> Result<Prefix, RequestError> {
        let mut version = Version::of(&answer);
        let has_ranges = answer.status() == StatusCode::PARTIAL_CONTENT;
        let media_type = answer.header("content-type").map(str::to_owned);
        let (shown, is_packed) = (answer.shown.clone(), is_compressed(&answer));
        if answer.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            version.size = answer.header("content-range").and_then(parse_unsatisfied);
            let is_whole = version.size == Some(0);
            return Ok(Prefix { bytes: Bytes::new(), version, is_whole, has_ranges, media_type, shown });
        }
        if has_ranges
            && answer
                .header("content-range")
                .and_then(parse_content_range)
                .is_none_or(|(range, _)| range.start != 0)
        {
            return Err(answer.unusable("a part without the `Content-Range` of the object's beginning"));
        }
        let coding = answer.header("content-encoding").unwrap_or_default().to_owned();
        let (bytes, is_end) = answer.up_to(self.limit).await?;
        let mut bytes = Bytes::from(bytes);
        let mut is_whole = if has_ranges { version.size == Some(bytes.len() as u64) } else { is_end };
        if is_packed {
            bytes = if is_whole {
                unpack(&bytes, gzip_size(&bytes, &coding, &shown)?, &shown)?
            } else {
                Bytes::new()
            };
        }
        if is_whole {
            version.size = Some(bytes.len() as u64);
        }
        is_whole &= !has_ranges || !is_packed;
        Ok(Prefix { bytes, version, is_whole, has_ranges: has_ranges && !is_packed, media_type, shown })
    }
}

/// Reads a document.
pub(super) struct WholeDocument;

impl Reader for WholeDocument {
    type Output = Document;

    async fn read(&mut self, mut answer: Answer) -> Result<Document, RequestError> {
        let url = answer.url().clone();
        let coding = answer.header("content-encoding").map(str::to_owned);
        let is_packed = is_compressed(&answer);
        let (bytes, is_whole) = answer.up_to(DOCUMENT_LIMIT).await?;
        if !is_whole {
            let reason = format!("a document with more than {DOCUMENT_LIMIT} bytes");
            return Err(RequestError::TooLarge { url: redacted(&url), reason });
        }
        let mut bytes = Bytes::from(bytes);
        if is_packed {
            let size = gzip_size(&bytes, &coding.unwrap_or_default(), &redacted(&url))?.min(DOCUMENT_LIMIT);
            bytes = unpack(&bytes, size, &redacted(&url))?;
        }
        Ok(Document { bytes, url })
    }
}

fn gzip_size(body: &[u8], coding: &str, url: &str) -> Result<u64, RequestError> {
    let unusable = |reason: String| RequestError::Unusable { url: url.to_owned(), reason };
    if !coding.eq_ignore_ascii_case("gzip") {
        return Err(unusable(format!("a body with `Content-Encoding: {coding}`, which was not asked for")));
    }
    gzip::unpacked_size(body).ok_or_else(|| unusable("a gzip body that is cut off".into()))
}

fn unpack(body: &[u8], size: u64, url: &str) -> Result<Bytes, RequestError> {
    gzip::unpack(body, size)
        .map(Bytes::from)
        .map_err(|reason| RequestError::Unusable { url: url.to_owned(), reason })
}
