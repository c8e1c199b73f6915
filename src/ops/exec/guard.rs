//! Ends the programs of a run that was killed: whoever is killed by SIGKILL can end nothing itself.
//!
//! One shell, started with the first program, reads from a pipe which process groups begin and end. The pipe closes with
//! this process, however that ends, and then the shell kills the groups that are left. The kernel's own signal at the
//! parent's death would reach the first process of a group alone, and would come when the thread ends that started it.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use rustix::process::Pid;

/// Lines are `+ GROUP` and `- GROUP`. The numbers that are left when the input ends are those of living groups.
const SCRIPT: &str = r#"
groups=
while read -r sign group; do
  others=
  for known in $groups; do [ "$known" = "$group" ] || others="$others $known"; done
  groups=$others
  [ "$sign" = - ] || groups="$groups $group"
done
for group in $groups; do kill -KILL "-$group"; done
"#;

static GUARD: LazyLock<Guard> = LazyLock::new(Guard::start);

/// Starts the shell if there is none yet, so that a program that is started next is told of at once.
pub(super) fn stand_by() {
    LazyLock::force(&GUARD);
}

/// A group that is ended with this process; dropping it says that it has ended.
pub(super) struct Watched(Pid);

impl Watched {
    /// From now on the group does not outlive this process.
    pub(super) fn begin(group: Pid) -> Self {
        GUARD.tell('+', group);
        Self(group)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        GUARD.tell('-', self.0);
    }
}

/// The pipe to the shell; `None` where there is no shell.
struct Guard(Option<Mutex<ChildStdin>>);

impl Guard {
    /// In a group of its own, so that signals from a terminal do not reach it, and in no folder that could go.
    fn start() -> Self {
        let shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT])
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match shell {
            Ok(mut shell) => Self(shell.stdin.take().map(Mutex::new)),
            Err(error) => {
                tracing::warn!(%error, "programs may outlive a run that is killed: `/bin/sh` does not start");
                Self(None)
            }
        }
    }

    fn tell(&self, sign: char, group: Pid) {
        let Some(pipe) = &self.0 else { return };
        let line = format!("{sign} {}\n", group.as_raw_nonzero());
        let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let told: io::Result<()> = pipe.write_all(line.as_bytes());
        if let Err(error) = told {
            tracing::warn!(%error, "a program may outlive a run that is killed");
        }
    }
}
