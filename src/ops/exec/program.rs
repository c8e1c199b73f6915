//! Runs a program in a process group of its own, listens to its last words, and leaves nothing of it behind.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures::future::join;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::guard::{self, Watched};
use super::recipe::Call;
use crate::contract::Failure;
use crate::contract::program::{LastWords, how_it_ended};

/// Between the wish that a program ends and its end.
const GRACE: Duration = Duration::from_secs(2);

/// How long is listened to what a process still says that left the group and outlives it.
const ECHO: Duration = Duration::from_secs(1);

/// Variables by which libraries take the number of their threads.
const THREADS: &[&str] = &[
    "GDAL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "TORCH_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
];

/// GDAL takes `GDAL_CACHEMAX` below this number for mebibytes, from it on for bytes.
const MOST_MEBIBYTES: u64 = 99_999;

/// What a program finds around it.
pub(super) struct Surroundings<'a> {
    /// Where it runs.
    pub(super) folder: &'a Path,
    /// How many threads it may have at work.
    pub(super) cores: u64,
    /// Bytes of its share of GDAL's block cache.
    pub(super) gdal_cache: u64,
}

/// Runs a program to its end. When `cancel` is cancelled the group is asked to end, and made to after two seconds; when the
/// future is dropped it is made to at once.
///
/// # Errors
/// It cannot be started, ends with another code than 0 or by a signal, or was cancelled.
pub(super) async fn run(
    call: &Call,
    around: &Surroundings<'_>,
    cancel: &CancellationToken,
) -> Result<(), Failure> {
    let mut running = start(call, around).map_err(|error| not_started(call, &error))?;
    let (out, err) = (running.leader.stdout.take(), running.leader.stderr.take());
    let (mut said, mut complained) = (LastWords::default(), LastWords::default());
    let ended = {
        let listening = join(listen(out, &mut said), listen(err, &mut complained));
        tokio::pin!(listening);
        let mut is_heard = false;
        let ending = running.end(cancel);
        tokio::pin!(ending);
        let ended = loop {
            tokio::select! {
                ended = &mut ending => break ended,
                _ = &mut listening, if !is_heard => is_heard = true,
            }
        };
        if !is_heard {
            // What they said until now is heard, whether or not the pipe closes.
            drop(timeout(ECHO, listening).await);
        }
        ended
    };
    match ended.map_err(|error| Failure::item(format!("lost sight of `{}`: {error}", call.program)))? {
        _ if cancel.is_cancelled() => Err(Failure::cancelled()),
        status if status.success() => Ok(()),
        status => Err(failed(&call.program, status, &complained, &said)),
    }
}

fn start(call: &Call, around: &Surroundings) -> io::Result<Running> {
    let mut command = Command::new(located(&call.program, around.folder));
    command.args(&call.arguments).current_dir(around.folder);
    command.envs(THREADS.iter().map(|name| (name, around.cores.to_string())));
    command.env("GDAL_CACHEMAX", mebibytes(around.gdal_cache).to_string());
    command.envs(call.variables.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    guard::stand_by();
    let leader = command.process_group(0).kill_on_drop(true).spawn()?;
    let group = leader.id().and_then(|id| Pid::from_raw(id as i32));
    Ok(Running { leader, group: Group::of(group) })
}

/// A program with a `/` in its name is relative to the folder, whatever the platform makes of that.
fn located(program: &str, folder: &Path) -> PathBuf {
    if program.contains('/') { folder.join(program) } else { program.into() }
}

fn mebibytes(bytes: u64) -> u64 {
    (bytes >> 20).clamp(1, MOST_MEBIBYTES)
}

/// A program that runs; dropping it kills the whole group.
struct Running {
    leader: Child,
    group: Group,
}

impl Running {
    /// Waits for the leader's end, which it is asked for when cancelled, and ends the rest of the group.
    async fn end(&mut self, cancel: &CancellationToken) -> io::Result<ExitStatus> {
        let ended = tokio::select! {
            ended = self.leader.wait() => ended,
            () = cancel.cancelled() => {
                self.group.send(Signal::TERM);
                if let Ok(ended) = timeout(GRACE, self.leader.wait()).await {
                    ended
                } else {
                    self.group.send(Signal::KILL);
                    self.leader.wait().await
                }
            }
        };
        self.group.send(Signal::KILL);
        self.group = Group::of(None);
        ended
    }
}

/// The group of a program, killed when the value is dropped and when this process is killed.
struct Group {
    id: Option<Pid>,
    _watched: Option<Watched>,
}

impl Group {
    fn of(id: Option<Pid>) -> Self {
        Self { id, _watched: id.map(Watched::begin) }
    }

    /// A group keeps its number as long as it has members; one that is gone already is what was wanted.
    fn send(&self, signal: Signal) {
        if let Some(group) = self.id
            && let Err(error) = kill_process_group(group, signal)
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!(group = group.as_raw_nonzero(), %error, "a process group was not ended");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.send(Signal::KILL);
    }
}

/// Hears a stream to its end; one that breaks has ended.
async fn listen(stream: Option<impl AsyncRead + Unpin>, words: &mut LastWords) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 8192];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        words.hear(&buffer[..count]);
    }
}

/// May well succeed when tried again, but only a stage with `retry` does that.
fn failed(program: &str, status: ExitStatus, complained: &LastWords, said: &LastWords) -> Failure {
    let how = how_it_ended(status);
    let words = [complained.text(), said.text()].into_iter().find(|text| !text.is_empty());
    let words = words.map_or_else(|| " and said nothing".to_owned(), |text| format!(": {text}"));
    Failure::transient(format!("`{program}` {how}{words}"))
}

/// A program that is not there is there for no item.
fn not_started(call: &Call, error: &io::Error) -> Failure {
    let message = format!("cannot start `{}`: {error}", call.program);
    let is_for_all = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
    if is_for_all && call.is_fixed { Failure::fatal(message) } else { Failure::item(message) }
}
