//! Several threads make things, one after the other takes them: whoever made thing n waits until n − 1 was taken.

use std::sync::{Condvar, Mutex, PoisonError};

/// The order of `count` things. When one thread ends early, all that wait for it end too.
pub(super) struct Ordered<T> {
    count: usize,
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    next_to_make: usize,
    next_to_take: usize,
    is_broken: bool,
    taker: T,
}

impl<T> Ordered<T> {
    /// An order of things that `taker` takes.
    pub(super) fn new(count: usize, taker: T) -> Self {
        let state = State { next_to_make: 0, next_to_take: 0, is_broken: false, taker };
        Self { count, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The next thing to make; `None` when all are being made or a thread failed.
    pub(super) fn claim(&self) -> Option<Claim<'_, T>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_broken || state.next_to_make == self.count {
            return None;
        }
        let index = state.next_to_make;
        state.next_to_make += 1;
        Some(Claim { order: self, index, is_taken: false })
    }

    /// The taker, when every thread has ended.
    pub(super) fn into_taker(self) -> T {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).taker
    }
}

/// One thing under way. Dropping it before it is taken breaks the order, so that nobody waits for it.
pub(super) struct Claim<'a, T> {
    order: &'a Ordered<T>,
    /// Which thing.
    pub(super) index: usize,
    is_taken: bool,
}

impl<T> Claim<'_, T> {
    /// Waits for its turn and lets the taker have it. Does nothing in a broken order.
    pub(super) fn take(mut self, take: impl FnOnce(&mut T)) {
        let state = self.order.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |state: &mut State<T>| state.next_to_take != self.index && !state.is_broken;
        let mut state = self.order.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        if !state.is_broken {
            take(&mut state.taker);
            state.next_to_take += 1;
        }
        self.is_taken = true;
        self.order.changed.notify_all();
    }
}

impl<T> Drop for Claim<'_, T> {
    fn drop(&mut self) {
        if !self.is_taken {
            self.order.state.lock().unwrap_or_else(PoisonError::into_inner).is_broken = true;
            self.order.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_all(order: &Ordered<Vec<usize>>) {
        while let Some(claim) = order.claim() {
            let index = claim.index;
            claim.take(|taken| taken.push(index));
        }
    }

    #[test]
    fn things_are_taken_in_order_whoever_makes_them() {
        let order = Ordered::new(200, Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| make_all(&order));
            }
        });
        assert_eq!(order.into_taker(), (0..200).collect::<Vec<_>>());
    }

    #[test]
    fn a_thing_that_is_given_up_ends_everybody() {
        let order = Ordered::new(200, Vec::new());
        let first = order.claim();
        std::thread::scope(|scope| {
            scope.spawn(|| make_all(&order));
            drop(first);
        });
        assert!(order.claim().is_none());
        assert!(order.into_taker().is_empty());
    }
}
