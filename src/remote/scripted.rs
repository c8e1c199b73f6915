//! A server on loopback that answers as a test's script says, and remembers what it was asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// How many requests for the same path came before.
    pub(crate) before: usize,
    /// `host:port` that was asked.
    pub(crate) host: String,
}

impl Seen {
    /// A header, its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What is answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Bytes of the body after which the line is cut or, with `stalls`, kept open and silent.
    keep: Option<usize>,
    stalls: bool,
    is_chunked: bool,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), ..Self::default() }
    }

    pub(crate) fn with(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    pub(crate) fn redirect(target: impl std::fmt::Display) -> Self {
        Self::new(302, "").with("Location", target)
    }

    pub(crate) fn cut_after(self, bytes: usize) -> Self {
        Self { keep: Some(bytes), ..self }
    }

    pub(crate) fn stall_after(self, bytes: usize) -> Self {
        Self { keep: Some(bytes), stalls: true, ..self }
    }

    /// Without a stated length.
    pub(crate) fn chunked(self) -> Self {
        Self { is_chunked: true, ..self }
    }

    /// The part of `data` that was asked for, or all of it; with a strong tag that `If-Match` is compared with.
    pub(crate) fn part(seen: &Seen, data: &[u8], etag: &str) -> Self {
        if seen.header("if-match").is_some_and(|wanted| wanted != etag) {
            return Self::new(412, "");
        }
        let range = seen.header("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let Some((first, last)) = range else { return Self::new(200, data).with("ETag", etag) };
        let first: usize = first.parse().expect("a first byte");
        let end = (last.parse::<usize>().expect("a last byte") + 1).min(data.len());
        if first >= data.len() {
            return Self::new(416, "").with("Content-Range", format!("bytes */{}", data.len()));
        }
        let content_range = format!("bytes {first}-{}/{}", end - 1, data.len());
        Self::new(206, &data[first..end]).with("ETag", etag).with("Content-Range", content_range)
    }

    fn head(&self) -> String {
        let lines: String =
            self.headers.iter().map(|(name, value)| name.clone() + ": " + value + "\r\n").collect();
        let length = format!("Content-Length: {}\r\n", self.body.len());
        let form = if self.is_chunked { "Transfer-Encoding: chunked\r\n" } else { &length };
        format!("HTTP/1.1 {} Scripted\r\n{lines}{form}\r\n", self.status)
    }

    fn body(&self) -> Vec<u8> {
        let body = &self.body[..self.keep.unwrap_or(self.body.len()).min(self.body.len())];
        if !self.is_chunked {
            return body.to_vec();
        }
        let mut chunked = format!("{:x}\r\n", body.len()).into_bytes();
        chunked.extend_from_slice(body);
        chunked.extend_from_slice(if body.is_empty() { b"\r\n" } else { b"\r\n0\r\n\r\n" });
        chunked
    }
}

/// The server; it ends with the runtime of the test.
#[derive(Clone)]
pub(crate) struct Scripted {
    port: u16,
    log: Arc<Mutex<Vec<Seen>>>,
}

type Script = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

impl Scripted {
    pub(crate) async fn serve(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let server = Self { port, log: Arc::default() };
        let (log, script): (_, Script) = (Arc::clone(&server.log), Arc::new(script));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, Arc::clone(&log), Arc::clone(&script)));
            }
        });
        server
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://127.0.0.1:{}{path}", self.port)).expect("an address")
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.log.lock().expect("no test panics here").clone()
    }
}

/// Answers one connection; any fault of the line ends it.
async fn converse(mut stream: TcpStream, log: Arc<Mutex<Vec<Seen>>>, script: Script) -> Option<()> {
    loop {
        let mut seen = read_request(&mut stream).await?;
        {
            let mut log = log.lock().expect("no test panics here");
            seen.before = log.iter().filter(|other| other.path == seen.path).count();
            log.push(seen.clone());
        }
        let reply = script(&seen);
        stream.write_all(reply.head().as_bytes()).await.ok()?;
        stream.write_all(&reply.body()).await.ok()?;
        if reply.stalls {
            // The client hangs up; until then nothing is said.
            let mut ignored = [0];
            return stream.read(&mut ignored).await.ok().map(drop);
        }
        if reply.keep.is_some() {
            return Some(());
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Seen> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let mut lines = head.lines();
    let mut request = lines.next()?.split(' ');
    let (method, path) = (request.next()?.to_owned(), request.next()?.to_owned());
    let headers: HashMap<_, _> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let host = headers.get("host").cloned().unwrap_or_default();
    Some(Seen { method, path, headers, body, before: 0, host })
}
