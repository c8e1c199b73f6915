//! The one place where work goes to a blocking thread.
//!
//! The leases of the work move to the thread: they come back when the thread is done, also when nobody waits for it
//! any more.

use std::any::Any;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::contract::Failure;

/// How long cancelled work that ends by itself is waited for before it is left to itself.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Runs `work` on a blocking thread, which holds `leases` until it ends.
///
/// A panic becomes a failure. When `cancel` is cancelled the thread is given [`PATIENCE`] to notice; after that the
/// answer is a cancelled failure while the thread still holds its leases. Dropping the future leaves the thread to
/// itself likewise.
///
/// # Errors
/// What `work` says; its panic as an item's failure; that it was cancelled.
pub async fn run<T, L>(
    cancel: &CancellationToken,
    leases: L,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure>
where
    T: Send + 'static,
    L: Send + 'static,
{
    #[allow(clippy::disallowed_methods, reason = "this is the wrapper that all blocking work goes through")]
    let mut thread = tokio::task::spawn_blocking(move || {
        let result = work();
        drop(leases);
        result
    });
    let joined = tokio::select! {
        joined = &mut thread => joined,
        () = cancel.cancelled() => match tokio::time::timeout(PATIENCE, &mut thread).await {
            Ok(joined) => joined,
            Err(_) => return Err(Failure::cancelled()),
        },
    };
    joined.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => Err(panicked(panic.as_ref())),
        Err(_) => Err(Failure::cancelled()),
    })
}

/// The failure that a panic becomes: this item's, since the next may well succeed.
pub fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Failure::item(format!("panicked: {text}"))
}
