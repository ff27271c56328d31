//! A piece of a tool call.

use std::borrow::Cow;

use serde_json::Value;

/// A piece of a call, as a server sends it. Empty strings count as absent.
#[derive(Debug, Default)]
pub(crate) struct CallPiece<'a> {
    /// The call comes in one piece: whatever it shares with an earlier one, it is another, unless it is the same again.
    pub(crate) whole: bool,
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) arguments: Cow<'a, str>,
    /// What the server wants echoed with the call.
    pub(crate) extra: Option<Value>,
}

impl CallPiece<'_> {
    /// Key in a call's metadata under which [`CallPiece::extra`] is kept.
    pub(crate) const EXTRA: &'static str = "extra_content";
    /// Key under which stands the host it came from: nobody else understands it.
    pub(crate) const ORIGIN: &'static str = "extra_content_from";
}
