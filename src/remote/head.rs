//! What is known of an object before its body: size, version, beginning, and the raster's header.
//!
//! Each object is asked once; those who ask at the same time share the request. Failures are never remembered.
//! What is remembered is bounded by its bytes, and the least recently used goes first.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::OnceCell;
use url::Url;

use super::body::{Beginning, Prefix};
use super::exchange::Ask;
use super::sniff::no_raster;
use super::version::Version;
use super::{RequestError, StageClient, off_loop};
use crate::raster::ranges::widened;
use crate::raster::{Answer, FileBytes, Header};

/// The most further reads for one header.
const MAX_FURTHER_READS: usize = 16;

/// The most bytes that are read for one header.
const MAX_HEADER_BYTES: u64 = 64 << 20;

/// What a try to read a header from some bytes of a file came to.
#[derive(Clone, Debug)]
pub enum Parsed {
    /// The header.
    Header(Arc<Header>),
    /// These bytes are needed first.
    Missing(Vec<Range<u64>>),
    /// Only the whole file tells.
    WholeFile,
    /// The file is none that can be read, and why.
    Failed(String),
}

/// Reads a header from the bytes at hand, on a thread where that may take its time.
pub type ParseHeader = Arc<dyn Fn(FileBytes) -> BoxFuture<'static, Parsed> + Send + Sync>;

/// Reads headers as `raster` does.
pub fn parse_raster_header() -> ParseHeader {
    Arc::new(|bytes| {
        let parsed = off_loop(move || match Header::of_bytes(&bytes) {
            Ok(Answer::Known(header)) => Parsed::Header(Arc::new(header)),
            Ok(Answer::Missing(missing)) => Parsed::Missing(missing),
            Err(error) => Parsed::Failed(error.to_string()),
        });
        parsed.boxed()
    })
}

/// What is known of an object.
#[derive(Clone, Debug)]
pub struct Head {
    /// Its state; `size` is its size where the server tells it.
    pub version: Version,
    /// Whether the server answers with parts of it.
    pub has_ranges: bool,
    /// Whether `bytes` hold all of it.
    pub is_whole: bool,
    /// The bytes read so far.
    pub bytes: FileBytes,
    /// The raster's header; `None` where only the whole file tells it.
    pub header: Option<Arc<Header>>,
}

/// Heads by address.
#[derive(Default)]
pub(super) struct HeadCache(Mutex<Remembered>);

#[derive(Default)]
struct Remembered {
    entries: HashMap<Url, Entry>,
    clock: u64,
}

#[derive(Default)]
struct Entry {
    cell: Arc<OnceCell<Arc<Head>>>,
    used: u64,
}

impl Entry {
    /// Bytes it holds, a fixed part for the address and the header included.
    fn bytes(&self) -> u64 {
        4096 + self.cell.get().map_or(0, |head| head.bytes.held())
    }
}

impl HeadCache {
    fn cell(&self, url: &Url) -> Arc<OnceCell<Arc<Head>>> {
        let mut remembered = self.lock();
        remembered.clock += 1;
        let used = remembered.clock;
        let entry = remembered.entries.entry(url.clone()).or_default();
        entry.used = used;
        Arc::clone(&entry.cell)
    }

    fn known(&self, url: &Url) -> Option<Arc<Head>> {
        self.lock().entries.get(url)?.cell.get().cloned()
    }

    /// Remembers another head of an object.
    fn replace(&self, url: &Url, head: &Arc<Head>) {
        let mut remembered = self.lock();
        let used = remembered.clock;
        let cell = Arc::new(OnceCell::new_with(Some(Arc::clone(head))));
        remembered.entries.insert(url.clone(), Entry { cell, used });
    }

    /// Asks for this object again next time.
    fn forget(&self, url: &Url) {
        self.lock().entries.remove(url);
    }

    /// Forgets the least recently used until the rest holds at most three quarters of `limit`, once it holds more.
    fn shrink(&self, limit: u64) {
        let mut remembered = self.lock();
        let mut held: u64 = remembered.entries.values().map(Entry::bytes).sum();
        if held <= limit {
            return;
        }
        let mut by_use: Vec<_> =
            remembered.entries.iter().map(|(url, entry)| (entry.used, entry.bytes(), url.clone())).collect();
        by_use.sort_unstable_by_key(|(used, ..)| *used);
        for (_, bytes, url) in by_use {
            if held <= limit / 4 * 3 {
                break;
            }
            remembered.entries.remove(&url);
            held -= bytes;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().expect("nothing panics while it holds the heads")
    }
}

impl StageClient {
    /// What is known of an object that is to be a raster, by one small read, or from memory.
    ///
    /// # Errors
    /// The object cannot be read, or is no raster.
    pub async fn head(&self, url: &Url) -> Result<Arc<Head>, RequestError> {
        let cell = self.heads().cell(url);
        if let Some(head) = cell.get() {
            return Ok(Arc::clone(head));
        }
        let head = cell.get_or_try_init(|| self.read_head(url)).await.map(Arc::clone);
        match &head {
            Ok(_) => self.heads().shrink(self.options().remembered),
            Err(_) => self.heads().forget(url),
        }
        head
    }

    /// The size of an object of any kind, by one small read, or from memory; `None` where the server does not tell. A small
    /// object comes whole with it and is remembered, unless it is a page in place of a file.
    ///
    /// # Errors
    /// The object cannot be read.
    pub async fn size_of(&self, url: &Url) -> Result<Option<u64>, RequestError> {
        if let Some(head) = self.known_head(url) {
            return Ok(head.version.size);
        }
        let limit = self.options().prefix;
        let prefix = self.perform(&Ask::object(url, Some(0..limit), None), &mut Beginning { limit }).await?;
        if prefix.is_whole && no_raster(prefix.media_type.as_deref(), &prefix.bytes).is_none() {
            self.heads().replace(url, &Arc::new(Head::of(url, &prefix)));
            self.heads().shrink(self.options().remembered);
        }
        Ok(prefix.version.size)
    }

    /// What is remembered of an object; nothing is asked.
    pub fn known_head(&self, url: &Url) -> Option<Arc<Head>> {
        self.heads().known(url)
    }

    /// Asks for an object again next time, because it is not what it was.
    pub fn forget(&self, url: &Url) {
        self.heads().forget(url);
    }

    async fn read_head(&self, url: &Url) -> Result<Arc<Head>, RequestError> {
        let limit = self.options().prefix;
        let prefix = self.perform(&Ask::object(url, Some(0..limit), None), &mut Beginning { limit }).await?;
        let found = no_raster(prefix.media_type.as_deref(), &prefix.bytes)
            .or_else(|| (prefix.version.size == Some(0)).then_some("an empty file (0 bytes)"));
        if let Some(found) = found {
            return Err(RequestError::NotARaster { url: prefix.shown, found });
        }
        let mut head = Head::of(url, &prefix);
        if let Some(parse) = self.parse().filter(|_| head.can_be_parsed()) {
            let parse = Arc::clone(parse);
            head.header = self.read_header(url, &mut head, &parse).await?;
        }
        Ok(Arc::new(head))
    }

    /// Reads on as long as the header asks for more bytes.
    async fn read_header(
        &self,
        url: &Url,
        head: &mut Head,
        parse: &ParseHeader,
    ) -> Result<Option<Arc<Header>>, RequestError> {
        for _ in 0..=MAX_FURTHER_READS {
            let missing = match parse(head.bytes.clone()).await {
                Parsed::Header(header) => return Ok(Some(header)),
                Parsed::WholeFile => return Ok(None),
                Parsed::Failed(reason) => return Err(unusable(url, reason)),
                Parsed::Missing(missing) => missing,
            };
            if !head.has_ranges && !head.is_whole || !self.read_on(url, head, &missing).await? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Reads further bytes of an object's header and remembers them with its head; `None` where that is too much to
    /// ask for and the object is better taken whole.
    ///
    /// # Errors
    /// The object cannot be read, is no longer what it was, or ends before those bytes.
    pub async fn head_with(
        &self,
        url: &Url,
        head: &Head,
        missing: &[Range<u64>],
    ) -> Result<Option<Arc<Head>>, RequestError> {
        let mut longer = head.clone();
        if !head.has_ranges || !self.read_on(url, &mut longer, missing).await? {
            return Ok(None);
        }
        let longer = Arc::new(longer);
        self.heads().replace(url, &longer);
        self.heads().shrink(self.options().remembered);
        Ok(Some(longer))
    }

    /// Whether the missing bytes could be had within the limits.
    async fn read_on(
        &self,
        url: &Url,
        head: &mut Head,
        missing: &[Range<u64>],
    ) -> Result<bool, RequestError> {
        let missing = widened(missing, self.options().prefix, head.bytes.size);
        let missing: Vec<_> = missing.into_iter().flat_map(|range| head.lacking(range)).collect();
        if missing.is_empty() {
            return Err(unusable(url, "its header points beyond its end".into()));
        }
        let more: u64 = missing.iter().map(|range| range.end - range.start).sum();
        if head.bytes.held() + more > MAX_HEADER_BYTES {
            return Ok(false);
        }
        for (start, bytes) in self.get_ranges(url, &missing, &head.version).await? {
            head.add(start, bytes);
        }
        Ok(true)
    }
}

fn unusable(url: &Url, reason: String) -> RequestError {
    RequestError::Unusable { url: super::redacted(url), reason }
}

impl Head {
    fn of(url: &Url, prefix: &Prefix) -> Self {
        let size = prefix.version.size.unwrap_or(prefix.bytes.len() as u64);
        let segments = if prefix.bytes.is_empty() { Vec::new() } else { vec![(0, prefix.bytes.clone())] };
        Self {
            version: prefix.version.clone(),
            has_ranges: prefix.has_ranges,
            is_whole: prefix.is_whole,
            bytes: FileBytes { name: super::redacted(url).into(), size, segments },
            header: None,
        }
    }

    /// Whether there is anything to read a header from.
    fn can_be_parsed(&self) -> bool {
        self.version.size.is_some() && !self.bytes.segments.is_empty()
    }

    /// The parts of a range that are not at hand.
    pub fn lacking(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut lacking = Vec::new();
        let mut at = range.start;
        for (start, bytes) in &self.bytes.segments {
            let end = start + bytes.len() as u64;
            if *start >= range.end {
                break;
            }
            lacking.push(at..(*start).max(at));
            at = at.max(end);
        }
        lacking.push(at..range.end.max(at));
        lacking.retain(|range| !range.is_empty());
        lacking
    }

    /// Takes further bytes in; parts that overlap what is there are cut off.
    pub fn add(&mut self, start: u64, bytes: Bytes) {
        self.bytes.segments.push((start, bytes));
        self.bytes.segments.sort_by_key(|(start, _)| *start);
        let mut end = 0_u64;
        for (start, bytes) in &mut self.bytes.segments {
            let overlap = end.saturating_sub(*start).min(bytes.len() as u64);
            *bytes = bytes.slice(overlap as usize..);
            *start += overlap;
            end = end.max(*start + bytes.len() as u64);
        }
        self.bytes.segments.retain(|(_, bytes)| !bytes.is_empty());
    }
}
