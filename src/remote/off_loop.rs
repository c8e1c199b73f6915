//! Short work that blocks: a header, the listing of a folder.

/// Runs short blocking work beside the event loop. What takes a core for longer runs under a lease in the engine.
///
/// Dropping the future lets the work end by itself; a panic in it goes on here.
pub async fn off_loop<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    #[expect(
        clippy::disallowed_methods,
        reason = "about a millisecond of a thread, for which no core is leased"
    )]
    let task = tokio::task::spawn_blocking(work);
    match task.await {
        Ok(result) => result,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
