//! A check.

use futures::future::BoxFuture;

use super::target::Target;
use super::verdict::Verdict;

/// One live check.
pub(crate) struct Check {
    /// What `--only` calls it.
    pub(crate) name: &'static str,
    /// What is known if it passes.
    pub(crate) proves: &'static str,
    /// Asks the server.
    pub(crate) run: for<'a> fn(&'a Target) -> BoxFuture<'a, Verdict>,
}
