//! One item's work in blocks, on the op's own thread and on cores that happen to be idle.
//!
//! Blocks do not know of each other and each writes its own part of the output, so the bytes do not depend on who
//! worked on which.

use std::sync::Mutex;
use std::thread;

use crate::contract::{ComputeContext, Failure};
use crate::resources::SlotLease;

/// Pixels of a block: long enough to be worth a thread's start, short enough to look for a cancellation often.
pub(super) const BLOCK: usize = 1 << 17;

/// Stacks of threads, and what an allocator keeps of buffers that do not go back to the system; a part of the working memory
/// that ops state.
pub(super) const OVERHEAD: u64 = 2 << 20;

/// How many idle cores one item takes at most; a bound of the working memory that ops state.
pub(super) const HELPERS: usize = 15;

/// Does `work` on every block. The first failure ends the work; what was not begun is not done.
///
/// # Errors
/// The first failure, or a cancellation.
pub(super) fn for_each_block<B: Send>(
    context: &ComputeContext,
    blocks: Vec<B>,
    work: impl Fn(B) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let leases = idle_cores(context, blocks.len());
    let queue = Mutex::new(blocks.into_iter());
    let next = || queue.lock().ok()?.next();
    let drain = || -> Result<(), Failure> {
        while let Some(block) = next() {
            if context.cancelled() {
                return Err(Failure::cancelled());
            }
            work(block)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let helpers: Vec<_> = leases.into_iter().map(|lease| scope.spawn(|| held(lease, &drain))).collect();
        let own = drain();
        let others = helpers.into_iter().map(|helper| match helper.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // Every helper is joined, whatever the first result was.
        others.fold(own, Result::and)
    })
}

/// Works while the lease is held.
fn held(lease: SlotLease, drain: &impl Fn() -> Result<(), Failure>) -> Result<(), Failure> {
    let result = drain();
    drop(lease);
    result
}

/// Idle cores, one for each block but the first.
fn idle_cores(context: &ComputeContext, blocks: usize) -> Vec<SlotLease> {
    let Some(cores) = &context.idle_cores else { return Vec::new() };
    let wanted = blocks.saturating_sub(1).min(HELPERS);
    std::iter::from_fn(|| cores.try_acquire(1)).take(wanted).collect()
}
