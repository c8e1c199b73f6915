//! `run.jsonl`: the record of a run, one event a line, written while it happens.
//!
//! Whoever tells an event makes its line and appends it to a buffer in memory; one thread writes the buffer out. When
//! the disk is slower than the events, tellers wait: nothing is lost. A disk that fails ends the record, not the run.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Record, Subscriber};

/// How long a line may stay in memory.
const FLUSH: Duration = Duration::from_millis(200);
/// The buffer is written out before the time when it is as large as this.
const EARLY: usize = 1 << 20;
/// Tellers wait while the buffer is larger than this.
const FULL: usize = 16 << 20;

/// Writes every event to a file.
pub struct RunLog {
    path: PathBuf,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    buffer: Mutex<Buffer>,
    /// Rung when there is something to write early, or the end.
    filled: Condvar,
    /// Rung when there is room again.
    drained: Condvar,
}

#[derive(Default)]
struct Buffer {
    lines: Vec<u8>,
    is_finished: bool,
    failure: Option<io::Error>,
}

impl RunLog {
    /// Begins a record, over an older one of that name; makes its folder.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        Self::writing_to(File::create(&path)?, path)
    }

    fn writing_to(mut out: impl Write + Send + 'static, path: PathBuf) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let thread = std::thread::Builder::new().name("run-log".into()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.write_out(&mut out)
        })?;
        Ok(Self { path, shared, thread: Mutex::new(Some(thread)) })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes out what is left; later events are not recorded. Blocks until the file has it all.
    ///
    /// # Errors
    /// The first failure of the file, by which the record is cut.
    pub fn finish(&self) -> io::Result<()> {
        self.shared.lock().is_finished = true;
        self.shared.filled.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            return Err(io::Error::other("the thread of the record panicked"));
        }
        self.shared.lock().failure.take().map_or(Ok(()), Err)
    }
}

impl Subscriber for RunLog {
    fn on_record(&self, record: &Record) {
        thread_local! {
            static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        LINE.with_borrow_mut(|line| {
            line.clear();
            if let Err(error) = serde_json::to_writer(&mut *line, record) {
                tracing::error!(%error, "an event has no JSON form");
                return;
            }
            line.push(b'\n');
            self.shared.append(line);
        });
    }
}

impl Drop for RunLog {
    fn drop(&mut self) {
        if let Err(error) = self.finish() {
            tracing::error!(path = %self.path.display(), %error, "the record of the run is cut");
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Buffer> {
        // A panic leaves whole lines.
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, line: &[u8]) {
        let mut buffer = self
            .drained
            .wait_while(self.lock(), |buffer| buffer.lines.len() > FULL && buffer.takes_lines())
            .unwrap_or_else(PoisonError::into_inner);
        if !buffer.takes_lines() {
            return;
        }
        buffer.lines.extend_from_slice(line);
        if buffer.lines.len() > EARLY {
            self.filled.notify_one();
        }
    }

    /// Writes the buffer to `out` again and again until the record is finished.
    fn write_out(&self, out: &mut impl Write) {
        let mut lines = Vec::new();
        loop {
            let is_last = self.take(&mut lines);
            if let Err(error) = out.write_all(&lines).and_then(|()| out.flush()) {
                self.fail(error);
                return;
            }
            if is_last {
                return;
            }
        }
    }

    /// Waits, and swaps what came for the empty `lines`; whether it is the last.
    fn take(&self, lines: &mut Vec<u8>) -> bool {
        lines.clear();
        let (mut buffer, _) = self
            .filled
            .wait_timeout_while(self.lock(), FLUSH, |buffer| {
                buffer.lines.len() <= EARLY && !buffer.is_finished
            })
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut buffer.lines, lines);
        self.drained.notify_all();
        buffer.is_finished
    }

    fn fail(&self, error: io::Error) {
        tracing::error!(%error, "the record of the run ends here");
        let mut buffer = self.lock();
        buffer.lines = Vec::new();
        buffer.failure = Some(error);
        self.drained.notify_all();
    }
}

impl Buffer {
    fn takes_lines(&self) -> bool {
        !self.is_finished && self.failure.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::events::{Emitter, Event, read_records};

    fn finished(item: &str) -> Event {
        Event::ItemFinished { item: item.into() }
    }

    #[test]
    fn every_event_of_many_threads_is_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(RunLog::create(folder.path().join("runs/run.jsonl")).unwrap());
        let emitter = Emitter::new(vec![Arc::clone(&log) as Arc<dyn Subscriber>]);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let emitter = &emitter;
                scope.spawn(move || {
                    for item in 0..1000 {
                        emitter.emit(|| finished(&format!("{thread}/{item}")));
                    }
                });
            }
        });
        log.finish().unwrap();
        emitter.emit(|| finished("too late"));
        let records: Vec<Record> =
            read_records(File::open(log.path()).unwrap()).collect::<Result<_, _>>().unwrap();
        assert_eq!(records.len(), 4000);
        let own: Vec<_> = records
            .iter()
            .filter_map(|record| match &record.event {
                Event::ItemFinished { item } => item.as_str().strip_prefix("2/"),
                _ => None,
            })
            .collect();
        assert_eq!(own, (0..1000).map(|item| item.to_string()).collect::<Vec<_>>());
    }

    /// A file that writes only when it is allowed to.
    struct Gated(mpsc::Receiver<()>, Arc<Mutex<usize>>);

    impl Write for Gated {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.recv().map_err(io::Error::other)?;
            *self.1.lock().unwrap() += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn tellers_wait_for_a_slow_disk_and_lose_nothing() {
        let (open, gate) = mpsc::channel();
        let written = Arc::new(Mutex::new(0));
        let log = RunLog::writing_to(Gated(gate, Arc::clone(&written)), "slow".into()).unwrap();
        let line = vec![b'x'; EARLY + 1];
        let (told, telling) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..40 {
                    log.shared.append(&line);
                    told.send(()).unwrap();
                }
            });
            // At the gate stand what was swapped out first and a full buffer; 40 lines are more than both.
            let before = (0..16).map(|_| telling.recv().unwrap()).count();
            assert!(log.shared.lock().lines.len() <= FULL + line.len());
            for _ in before..60 {
                open.send(()).unwrap();
            }
        });
        for _ in 0..60 {
            open.send(()).unwrap();
        }
        log.finish().unwrap();
        assert_eq!(*written.lock().unwrap(), 40 * line.len());
    }

    #[test]
    fn a_failing_disk_ends_the_record_and_not_the_run() {
        let (open, gate) = mpsc::channel();
        drop(open);
        let log = RunLog::writing_to(Gated(gate, Arc::default()), "full".into()).unwrap();
        for _ in 0..40 {
            log.shared.append(&vec![b'x'; EARLY]);
        }
        assert!(log.finish().is_err());
    }
}
