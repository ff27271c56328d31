//! How much of a path goes into a request.

/// Where the kept part of the path begins. It only ever moves forward, and a move begins a new epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Groups that begin before this node index are left out, unless they must be kept.
    pub first_kept: usize,
    /// How far what tools brought is shortened, from 0 to [`Window::TIGHTEST`]: what is always kept may be too much together
    /// (CTX-6).
    pub squeeze: u8,
}

impl Window {
    /// Nothing that was loaded is kept, and results of a turn have a quarter of their share.
    pub const TIGHTEST: u8 = 3;

    /// A share in this window.
    pub(crate) fn share(self, tokens: u64) -> u64 {
        tokens * u64::from(Self::TIGHTEST + 1 - self.squeeze.min(Self::TIGHTEST)) / u64::from(Self::TIGHTEST + 1)
    }

    /// Room for what was loaded.
    pub(crate) fn pinned(self, tokens: u64) -> u64 {
        if self.squeeze >= Self::TIGHTEST { 0 } else { self.share(tokens) }
    }
}
