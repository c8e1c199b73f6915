//! A small HTTP server on loopback: it serves the files of a folder, with ranges, one request a connection.
//!
//! It keeps a log of what it was asked, and can hold back its answers until it is told to let them go, so that tests wait
//! for conditions instead of time. It can also allow so many requests a second and refuse the others.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// More connections at once than any client here opens.
const MOST_CONNECTIONS: usize = 64;

/// How long a condition may take; it is a bound for broken runs, not a time that is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running server. It ends with the process.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    folder: PathBuf,
    traffic: Mutex<Traffic>,
    changed: Condvar,
    /// Whether it neither knows ranges nor announces lengths.
    is_plain: bool,
}

/// What is going on.
#[derive(Default)]
pub(crate) struct Traffic {
    /// Each request that came in, in order.
    pub requests: Vec<Request>,
    /// Requests that wait for their answer.
    pub held: usize,
    /// Requests whose answer has not begun.
    pub open: usize,
    /// The most that were open at once.
    pub most_open: usize,
    connections: usize,
    /// How many requests a second are allowed, if not all are.
    allowed: Option<usize>,
    holds: Option<fn(&Request) -> bool>,
    /// How far away it plays to be: the time before each answer.
    distance: Duration,
    refuses: Option<fn(&Request) -> bool>,
    /// With more open at once it refuses.
    most_served: Option<usize>,
}

/// What a client asks for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub method: String,
    pub path: String,
    /// How often the path was asked for, this time included.
    pub nth: usize,
    /// When it came in.
    pub at: Instant,
    /// Whether the server refused it for coming too soon.
    pub is_refused: bool,
    range: Option<String>,
}

impl Server {
    /// Serves `folder` on any free port.
    pub(crate) fn start(folder: &Path) -> io::Result<Self> {
        Self::begin(folder, false)
    }

    /// As `start`, but ranges are ignored and no length is announced.
    #[allow(dead_code, reason = "not every test binary has such files")]
    pub(crate) fn start_plain(folder: &Path) -> io::Result<Self> {
        Self::begin(folder, true)
    }

    fn begin(folder: &Path, is_plain: bool) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state =
            State { folder: folder.to_owned(), traffic: Mutex::default(), changed: Condvar::new(), is_plain };
        let state = Arc::new(state);
        let accepting = state.clone();
        thread::spawn(move || accepting.accept(&listener));
        Ok(Self { address, state })
    }

    /// The address of a file.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// From now on no more than so many requests are served in any second; the others are answered with 429 and asked to
    /// come again in a second.
    pub(crate) fn allow(&self, in_a_second: usize) {
        self.state.lock().allowed = Some(in_a_second);
    }

    /// From now on the answers to these requests wait.
    pub(crate) fn hold(&self, which: fn(&Request) -> bool) {
        self.state.lock().holds = Some(which);
    }

    /// From now on each answer takes so long, as that of a server far away does.
    #[allow(dead_code, reason = "not every binary has a far server")]
    pub(crate) fn move_away(&self, distance: Duration) {
        self.state.lock().distance = distance;
    }

    /// From now on these requests are answered 429 and asked to come again in a second.
    #[allow(dead_code, reason = "not every binary has a busy server")]
    pub(crate) fn refuse(&self, which: fn(&Request) -> bool) {
        self.state.lock().refuses = Some(which);
    }

    /// From now on requests beyond so many at once are answered 429.
    #[allow(dead_code, reason = "not every binary has a busy server")]
    pub(crate) fn refuse_above(&self, most: usize) {
        self.state.lock().most_served = Some(most);
    }

    /// All waiting answers go, and later ones do not wait.
    pub(crate) fn release(&self) {
        self.state.lock().holds = None;
        self.state.changed.notify_all();
    }

    /// Waits until the traffic is as wanted, and gives what `look` made of it. Panics when it never comes to be.
    pub(crate) fn wait_until<T>(&self, wanted: &str, mut look: impl FnMut(&Traffic) -> Option<T>) -> T {
        let mut traffic = self.state.lock();
        loop {
            if let Some(seen) = look(&traffic) {
                return seen;
            }
            let (next, waited) =
                self.state.changed.wait_timeout(traffic, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            assert!(!waited.timed_out(), "the server waits for {wanted} in vain: {:?}", next.requests);
            traffic = next;
        }
    }

    /// What was asked up to now.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.lock().requests.clone()
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: Arc<Self>, listener: &TcpListener) {
        for connection in listener.incoming().flatten() {
            let mut traffic = self.lock();
            while traffic.connections >= MOST_CONNECTIONS {
                traffic = self.changed.wait(traffic).unwrap_or_else(PoisonError::into_inner);
            }
            traffic.connections += 1;
            drop(traffic);
            let state = self.clone();
            thread::spawn(move || {
                // A client that goes away is its own affair.
                state.converse(connection).unwrap_or_default();
                state.lock().connections -= 1;
                state.changed.notify_all();
            });
        }
    }

    fn converse(&self, connection: TcpStream) -> io::Result<()> {
        let Some(mut request) = Request::read(&connection)? else { return Ok(()) };
        let mut traffic = self.lock();
        request.nth = 1 + traffic.requests.iter().filter(|earlier| earlier.path == request.path).count();
        request.is_refused = traffic.is_too_soon(request.at);
        traffic.requests.push(request.clone());
        traffic.open += 1;
        traffic.most_open = traffic.most_open.max(traffic.open);
        if traffic.holds.is_some_and(|holds| holds(&request)) {
            traffic = self.wait_for_release(traffic);
        }
        let is_too_many = traffic.most_served.is_some_and(|most| traffic.open > most);
        let is_refused = is_too_many || traffic.refuses.is_some_and(|refuses| refuses(&request));
        let distance = traffic.distance;
        drop(traffic);
        if !distance.is_zero() {
            thread::sleep(distance);
        }
        // Before the answer: whoever has it may ask again at once.
        self.lock().open -= 1;
        self.changed.notify_all();
        if is_refused { Self::refuse_politely(connection) } else { self.answer(&request, connection) }
    }

    fn wait_for_release<'a>(&self, mut traffic: MutexGuard<'a, Traffic>) -> MutexGuard<'a, Traffic> {
        traffic.held += 1;
        self.changed.notify_all();
        while traffic.holds.is_some() {
            traffic = self.changed.wait(traffic).unwrap_or_else(PoisonError::into_inner);
        }
        traffic.held -= 1;
        traffic
    }

    fn refuse_politely(mut to: TcpStream) -> io::Result<()> {
        to.write_all(
            b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        )
    }

    fn answer(&self, request: &Request, mut to: TcpStream) -> io::Result<()> {
        if request.is_refused {
            return to.write_all(
                b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
        let name = request.path.trim_start_matches('/').split('?').next().unwrap_or_default();
        let file = if name.contains("..") { None } else { fs::read(self.folder.join(name)).ok() };
        let Some(file) = file else {
            return to.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        };
        if self.is_plain {
            to.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: image/tiff\r\nConnection: close\r\n\r\n")?;
            return to.write_all(&file);
        }
        let size = file.len();
        let (status, part) = match request.range(size) {
            None => ("200 OK".to_owned(), 0..size),
            Some(part) => (
                format!("206 Partial Content\r\nContent-Range: bytes {}-{}/{size}", part.start, part.end - 1),
                part,
            ),
        };
        write!(
            to,
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Type: image/tiff\r\nAccept-Ranges: bytes\r\n\
             ETag: \"{size}\"\r\nConnection: close\r\n\r\n",
            part.len()
        )?;
        if request.method == "HEAD" { Ok(()) } else { to.write_all(&file[part]) }
    }
}

impl Traffic {
    /// Whether as many as are allowed were served in the second before.
    fn is_too_soon(&self, now: Instant) -> bool {
        let is_recent = |earlier: &&Request| {
            !earlier.is_refused && now.duration_since(earlier.at) < Duration::from_secs(1)
        };
        self.allowed.is_some_and(|allowed| self.requests.iter().filter(is_recent).count() >= allowed)
    }
}

impl Request {
    fn read(from: &TcpStream) -> io::Result<Option<Self>> {
        let mut reader = BufReader::new(from);
        let mut lines = reader.by_ref().lines();
        let Some(first) = lines.next().transpose()? else { return Ok(None) };
        let mut words = first.split(' ').map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
        let (mut range, mut body) = (None, 0);
        for line in lines {
            let line = line?;
            match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    body = value.trim().parse().unwrap_or(0);
                }
                Some((name, value)) if name.eq_ignore_ascii_case("range") => {
                    range = Some(value.trim().to_owned());
                }
                Some(_) => {}
                None => break,
            }
        }
        // What is sent is read, so that the answer is not lost with a connection that breaks, and has no say.
        io::copy(&mut reader.take(body), &mut io::sink())?;
        Ok(Some(Self { method, path, nth: 1, at: Instant::now(), is_refused: false, range }))
    }

    /// The part of a file of this size that is asked for: `bytes=0-99`, `bytes=100-` or `bytes=-100`.
    pub(crate) fn range(&self, size: usize) -> Option<Range<usize>> {
        let (from, to) = self.range.as_ref()?.strip_prefix("bytes=")?.split_once('-')?;
        let part = match (from.parse::<usize>(), to.parse::<usize>()) {
            (Ok(from), Ok(to)) => from..size.min(to + 1),
            (Ok(from), Err(_)) => from..size,
            (Err(_), Ok(last)) => size.saturating_sub(last)..size,
            (Err(_), Err(_)) => return None,
        };
        (part.start < part.end).then_some(part)
    }
}
