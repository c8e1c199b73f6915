//! One worker process, as the run sees it.

use std::ffi::OsString;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::frame::{Answer, Greeting, Task, read_header, write_header};
use super::wire::{read_item, write_item};
use crate::contract::program::{LastWords, how_it_ended};
use crate::contract::{Failure, Item};

/// How worker processes are started, and what all of them are told.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// The program: this one.
    pub program: PathBuf,
    /// The arguments that make a worker of it.
    pub arguments: Vec<OsString>,
    /// The pipeline's text as the run read it.
    pub text: Arc<str>,
    /// `--set name=value`, in order.
    pub sets: Vec<(String, String)>,
}

/// After so many items a worker gives way to a new one, lest what a library leaks adds up.
const ITEMS_OF_A_WORKER: u32 = 256;

/// A worker process between two items; killed when it is dropped.
pub(super) struct Worker {
    /// How many items it has worked on.
    items: u32,
    process: Arc<Process>,
    stdin: BufWriter<ChildStdin>,
    stdout: ChildStdout,
    /// Collects what it complains of until it ends.
    listener: JoinHandle<LastWords>,
}

/// The end of a worker in the middle of an item.
pub(super) struct Death(String);

impl Worker {
    /// Starts a worker in a process group of its own, so that signals from a terminal reach the run alone, and greets it.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(command: &WorkerCommand, greeting: &Greeting) -> io::Result<Self> {
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let lacking = || io::Error::other("a new process has no pipes");
        let (stdin, stdout) = child.stdin.take().zip(child.stdout.take()).ok_or_else(lacking)?;
        let stderr = child.stderr.take().ok_or_else(lacking)?;
        let process = Arc::new(Process(Mutex::new(child)));
        let listener = thread::Builder::new().name("worker's words".into()).spawn(|| listen(stderr))?;
        let mut worker = Self { items: 0, process, stdin: BufWriter::new(stdin), stdout, listener };
        // A worker that dies over its greeting is told of by the first item.
        if let Err(error) = write_header(&mut worker.stdin, greeting) {
            tracing::debug!(%error, "a worker was not greeted");
        }
        Ok(worker)
    }

    /// The handle by which it can be killed from elsewhere.
    pub(super) fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// Whether it can take another item.
    pub(super) fn is_fit(&self) -> bool {
        self.items < ITEMS_OF_A_WORKER && self.is_alive()
    }

    fn is_alive(&self) -> bool {
        self.process.lock().try_wait().is_ok_and(|status| status.is_none())
    }

    /// Hands it an item and waits for what comes of it: the worker is ready for the next one then.
    ///
    /// # Errors
    /// It died; what it answered is in the inner result, with the bytes of memory that it needed beyond its own.
    pub(super) fn work(
        mut self,
        task: &Task,
        item: &Item,
    ) -> Result<(Self, Result<(Item, u64), Failure>), Death> {
        self.items += 1;
        match self.exchange(task, item) {
            Ok(answer) => Ok((self, answer)),
            Err(error) => Err(self.bury(&error)),
        }
    }

    fn exchange(&mut self, task: &Task, item: &Item) -> io::Result<Result<(Item, u64), Failure>> {
        write_header(&mut self.stdin, task)?;
        write_item(&mut self.stdin, item)?;
        self.stdin.flush()?;
        Ok(match read_header(&mut self.stdout)? {
            Answer::Done { beyond } => Ok((read_item(&mut self.stdout)?, beyond)),
            Answer::Failed { class, message, retry_after } => {
                Err(Failure { class, message, retry_after, is_bad_input: false })
            }
        })
    }

    /// How a worker ended that no longer answers; `error` is what its silence looked like.
    fn bury(self, error: &io::Error) -> Death {
        let ended = self.process.end();
        let words = self.listener.join().map(|words| words.text()).unwrap_or_default();
        let how = ended.map_or_else(|_| format!("was lost: {error}"), how_it_ended);
        let words = if words.is_empty() { words } else { format!(": {words}") };
        Death(format!("its worker process {how}{words}"))
    }
}

impl From<Death> for Failure {
    /// The next item has a worker of its own and may well succeed.
    fn from(Death(message): Death) -> Self {
        Failure::item(message)
    }
}

/// A child process that is killed when its last holder drops it.
pub(super) struct Process(Mutex<Child>);

impl Process {
    /// Kills it, if it still lives.
    pub(super) fn kill(&self) {
        if let Err(error) = self.lock().kill() {
            tracing::warn!(%error, "a worker process was not killed");
        }
    }

    /// Its end, which is brought about where it has not come: a process whose pipes are closed has its fate already.
    fn end(&self) -> io::Result<std::process::ExitStatus> {
        let mut child = self.lock();
        child.kill()?;
        child.wait()
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(%error, "a worker process was not ended");
        }
    }
}

fn listen(mut stderr: impl Read) -> LastWords {
    let mut words = LastWords::default();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        words.hear(&buffer[..count]);
    }
    words
}
