//! A key's text.

use std::fmt;
use std::sync::Arc;

/// A key's text. Never shown by `Debug`.
#[derive(Clone)]
pub(crate) struct Secret(Arc<str>);

impl Secret {
    pub(crate) fn new(key: &str) -> Self {
        Self(key.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
