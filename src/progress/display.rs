//! Follows a run and shows it.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::bars::Bars;
use super::lines::Lines;
use super::notice::Notices;
use super::tally::Tally;
use crate::events::{Record, Subscriber};

/// How often bars are looked after.
const BARS_EVERY: Duration = Duration::from_millis(100);
/// Words that may wait for a slow terminal; more are counted.
const BACKLOG: usize = 10_000;

/// How progress is shown.
pub enum Mode {
    /// Not at all: failures neither.
    Quiet,
    /// As lines to this writer: words at once, how far the run is every so often.
    Lines {
        /// Where they go.
        out: Box<dyn Write + Send>,
        /// The time between two lines.
        every: Duration,
    },
    /// As bars on standard error, which is a terminal.
    Bars,
}

/// How words are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether colours are wanted (no `NO_COLOR`, and a terminal).
    pub is_coloured: bool,
    /// Whether every item, failure, retry and change of a limit is told.
    pub is_verbose: bool,
}

/// Shows a run as it goes.
pub struct Progress {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    /// Rung when there are words, and at the end.
    bell: Condvar,
}

struct State {
    tally: Tally,
    notices: Notices,
    words: Vec<String>,
    unsaid: u64,
    is_finished: bool,
    is_quiet: bool,
}

/// What is drawn on.
enum View {
    Lines(Lines),
    Bars(Bars),
}

impl Style {
    pub(super) fn error(self, text: &str) -> String {
        self.painted("31", text)
    }

    pub(super) fn warning(self, text: &str) -> String {
        self.painted("33", text)
    }

    fn painted(self, colour: &str, text: &str) -> String {
        if self.is_coloured { format!("\u{1b}[{colour}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

impl Progress {
    /// Shows nothing until the first event.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn new(mode: Mode, style: Style) -> io::Result<Self> {
        let state = State {
            tally: Tally::default(),
            notices: Notices::new(style),
            words: Vec::new(),
            unsaid: 0,
            is_finished: false,
            is_quiet: matches!(mode, Mode::Quiet),
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), bell: Condvar::new() });
        let (view, every) = match mode {
            Mode::Quiet => return Ok(Self { shared, thread: Mutex::new(None) }),
            Mode::Lines { out, every } => (View::Lines(Lines::new(out)), every),
            Mode::Bars => (View::Bars(Bars::new(style)), BARS_EVERY),
        };
        let thread = std::thread::Builder::new().name("progress".into()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.show(view, every)
        })?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Says what is left to say and takes the bars away. Blocks until that is done.
    pub fn finish(&self) {
        self.shared.lock().is_finished = true;
        self.shared.bell.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that shows progress panicked");
        }
    }
}

impl Subscriber for Progress {
    fn on_record(&self, record: &Record) {
        let mut state = self.shared.lock();
        if state.is_quiet {
            return;
        }
        state.tally.add(record);
        let Some(words) = state.notices.of(record) else { return };
        if state.words.len() < BACKLOG {
            state.words.push(words);
            self.shared.bell.notify_one();
        } else {
            state.unsaid += 1;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws every so often, and says words as they come, until the end. A terminal that is gone ends it.
    fn show(&self, mut view: View, every: Duration) {
        let began = Instant::now();
        let mut next = began + every;
        loop {
            let (words, tally, is_finished) = self.wait_until(next);
            let is_due = Instant::now() >= next;
            let tally = is_due.then_some(tally);
            if is_due {
                next = Instant::now() + every;
            }
            if view.show(&words, began.elapsed().as_secs_f64(), tally).is_err() {
                self.lock().is_quiet = true;
                return;
            }
            if is_finished {
                view.close();
                return;
            }
        }
    }

    /// Waits for words, the end, or `next`; the words, how far the run is, whether it ended.
    fn wait_until(&self, next: Instant) -> (Vec<String>, Tally, bool) {
        let time = next.saturating_duration_since(Instant::now());
        let (mut state, _) = self
            .bell
            .wait_timeout_while(self.lock(), time, |state| state.words.is_empty() && !state.is_finished)
            .unwrap_or_else(PoisonError::into_inner);
        let mut words = std::mem::take(&mut state.words);
        if state.unsaid > 0 {
            words.push(format!("and {} more", std::mem::take(&mut state.unsaid)));
        }
        (words, state.tally.clone(), state.is_finished)
    }
}

impl View {
    fn show(&mut self, words: &[String], seconds: f64, tally: Option<Tally>) -> io::Result<()> {
        for words in words {
            match self {
                View::Lines(lines) => lines.say(words)?,
                View::Bars(bars) => bars.say(words)?,
            }
        }
        match (self, tally) {
            (View::Lines(lines), Some(tally)) => lines.draw(seconds, &tally),
            (View::Bars(bars), Some(tally)) => {
                bars.draw(seconds, &tally);
                Ok(())
            }
            (_, None) => Ok(()),
        }
    }

    fn close(&self) {
        if let View::Bars(bars) = self
            && let Err(error) = bars.clear()
        {
            tracing::debug!(%error, "the bars stay");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::events::{Event, FailureClass};

    /// Hands over what is written.
    struct Channel(mpsc::Sender<String>);

    impl Write for Channel {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(String::from_utf8_lossy(bytes).into_owned()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn following(every: Duration) -> (Progress, mpsc::Receiver<String>) {
        let (tx, rx) = mpsc::channel();
        let mode = Mode::Lines { out: Box::new(Channel(tx)), every };
        (Progress::new(mode, Style::default()).unwrap(), rx)
    }

    fn failure() -> Record {
        let event = Event::ItemFailed {
            item: "a".into(),
            stage: "bands".into(),
            class: FailureClass::Item,
            message: "no CRS".into(),
        };
        Record { ts: 0.0, event }
    }

    #[test]
    fn a_failure_is_told_at_once() {
        let (progress, lines) = following(Duration::from_hours(1));
        progress.on_record(&failure());
        assert_eq!(lines.recv().unwrap(), "failed: `a` in `bands`: no CRS\n");
        progress.finish();
    }

    #[test]
    fn lines_come_by_themselves() {
        let (progress, lines) = following(Duration::from_millis(1));
        progress.on_record(&Record { ts: 0.0, event: Event::ItemFinished { item: "a".into() } });
        let told = lines.iter().find(|line| line.contains("1 of 0 items"));
        assert!(told.is_some());
        progress.finish();
    }

    #[test]
    fn a_terminal_that_is_gone_ends_the_showing_and_not_the_run() {
        let (progress, lines) = following(Duration::from_hours(1));
        drop(lines);
        progress.on_record(&failure());
        progress.finish();
        assert!(progress.shared.lock().is_quiet);
        progress.on_record(&failure());
    }

    #[test]
    fn quiet_says_nothing() {
        let progress = Progress::new(Mode::Quiet, Style::default()).unwrap();
        progress.on_record(&failure());
        progress.finish();
        assert!(progress.shared.lock().words.is_empty());
    }
}
