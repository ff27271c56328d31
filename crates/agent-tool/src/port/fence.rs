//! No side effect after the end.
//!
//! A call that does not stop in time outlives its run (RUN-12). Its result is dropped, and it must not change anything
//! any more. A plain flag would leave a gap between the look and the deed; counting those inside closes it without
//! either side ever waiting.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

/// The top bit; the others count side effects that are under way.
const CLOSED: u32 = 1 << 31;

/// Lets side effects through until it is closed. Clones are the same fence.
#[derive(Debug, Clone, Default)]
pub struct Fence {
    state: Arc<AtomicU32>,
    /// Passed as well.
    outer: Option<Arc<Fence>>,
}

impl Fence {
    /// An open fence.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A fence inside this one, to be closed earlier: an effect has to pass both.
    #[must_use]
    pub fn inner(&self) -> Self {
        Self { state: Arc::default(), outer: Some(Arc::new(self.clone())) }
    }

    /// Lets one side effect through. It is under way until the guard is dropped.
    ///
    /// # Errors
    /// [`FenceClosed`] after [`close`](Self::close): the effect must not happen.
    pub fn enter(&self) -> Result<EffectGuard, FenceClosed> {
        let outer = self.outer.as_ref().map(|outer| outer.enter().map(Box::new)).transpose()?;
        self.state
            .try_update(Ordering::SeqCst, Ordering::SeqCst, |state| (state & CLOSED == 0).then_some(state + 1))
            .map(|_| EffectGuard { state: Arc::clone(&self.state), _outer: outer })
            .map_err(|_| FenceClosed)
    }

    /// Closes it for good and tells how many side effects had been let through and are still under way: these may or
    /// may not happen.
    pub fn close(&self) -> u32 {
        self.state.fetch_or(CLOSED, Ordering::SeqCst) & !CLOSED
    }

    /// Whether it is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state.load(Ordering::SeqCst) & CLOSED != 0 || self.outer.as_ref().is_some_and(|outer| outer.is_closed())
    }
}

/// A side effect under way.
#[derive(Debug)]
pub struct EffectGuard {
    state: Arc<AtomicU32>,
    _outer: Option<Box<EffectGuard>>,
}

impl Drop for EffectGuard {
    fn drop(&mut self) {
        self.state.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The call, or its run, has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the call or its run has ended: nothing may be changed any more")]
pub struct FenceClosed;

#[cfg(test)]
mod tests {
    use super::*;

    /// RUN-12: after the end nothing gets through, and what is under way is known.
    #[test]
    fn a_closed_fence_lets_nothing_through() {
        let fence = Fence::new();
        let clone = fence.clone();
        drop(fence.enter().unwrap());
        let first = fence.enter().unwrap();
        let second = clone.enter().unwrap();
        assert_eq!(fence.close(), 2);
        assert_eq!(clone.enter().unwrap_err(), FenceClosed);
        drop((first, second));
        assert_eq!(clone.close(), 0);
        assert!(clone.is_closed());
        assert_eq!(fence.enter().unwrap_err(), FenceClosed);
    }

    /// RUN-12: an inner fence closes by itself or with the outer one, and the outer one knows what is under way inside.
    #[test]
    fn a_fence_inside_another() {
        let outer = Fence::new();
        let (one, other) = (outer.inner(), outer.inner());
        assert_eq!(one.close(), 0);
        assert!(one.enter().is_err() && one.is_closed() && !outer.is_closed());
        let effect = other.enter().unwrap();
        assert_eq!(outer.close(), 1);
        assert!(other.enter().is_err() && other.is_closed());
        drop(effect);
        assert_eq!((outer.close(), other.close()), (0, 0));
    }
}
