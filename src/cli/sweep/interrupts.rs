//! SIGINT and SIGTERM while trials run: the trial is ended, its folder goes with it, and the sweep ends.

use std::io;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::Exit;

/// Listens from when it is made to the end of the process.
pub(super) struct Interrupts(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The trial that runs, which nobody has waited for yet.
    trial: Option<Pid>,
    /// How the sweep is to end.
    exit: Option<Exit>,
}

impl Interrupts {
    /// # Errors
    /// No thread can be started.
    pub(super) fn listen() -> io::Result<Self> {
        let state = Arc::new(Mutex::new(State::default()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let within = state.clone();
        thread::Builder::new().name("signals".into()).spawn(move || {
            if let Err(error) = runtime.block_on(follow(&within)) {
                tracing::warn!(%error, "signals end this sweep at once");
            }
        })?;
        Ok(Self(state))
    }

    /// How the sweep is to end, once a signal has come.
    pub(super) fn exit(&self) -> Option<Exit> {
        lock(&self.0).exit
    }

    /// Does something while a trial runs that signals end. What it does ends by waiting for the trial.
    pub(super) fn during<T>(&self, trial: Child, wait: impl FnOnce(Child) -> T) -> T {
        let mut state = lock(&self.0);
        state.trial = Some(Pid::from_child(&trial));
        if state.exit.is_some() {
            end(&state);
        }
        drop(state);
        let waited = wait(trial);
        lock(&self.0).trial = None;
        waited
    }
}

async fn follow(state: &Mutex<State>) -> io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    loop {
        let exit = tokio::select! {
            _ = interrupt.recv() => Exit::Interrupted,
            _ = terminate.recv() => Exit::Terminated,
        };
        let mut state = lock(state);
        state.exit.get_or_insert(exit);
        end(&state);
    }
}

/// Nothing of a trial is kept, so that it need not end in order.
fn end(state: &State) {
    if let Some(Err(error)) = state.trial.map(|trial| kill_process(trial, Signal::KILL)) {
        tracing::debug!(%error, "the trial has ended by itself");
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
