//! SIGINT and SIGTERM in three steps: the first stops admission, the second aborts, the third ends the process.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::engine::{Stop, StopReason};

/// Listens until the process ends. `grace` after the first signal the second step follows by itself.
pub(super) fn listen(stop: Stop, grace: Option<Duration>) {
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    if let (Ok(interrupt), Ok(terminate)) = signals {
        tokio::spawn(follow(stop, grace, Both { interrupt, terminate }));
    } else {
        tracing::warn!("signals end this run at once");
    }
}

struct Both {
    interrupt: Signal,
    terminate: Signal,
}

impl Both {
    /// The next signal's number.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
        }
    }
}

async fn follow(stop: Stop, grace: Option<Duration>, mut signals: Both) {
    let first = signals.next().await;
    stop.stop_admission(StopReason::Signal(first));
    let grace_ends = async {
        match grace {
            Some(grace) => tokio::time::sleep(grace).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = signals.next() => {}
        () = grace_ends => {}
    }
    stop.abort_work(StopReason::Signal(first));
    signals.next().await;
    std::process::exit(128 + first);
}
