//! Replies that are not what the protocol promises.

/// What is wrong with a reply's bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenStream {
    /// It ends without the protocol's end mark.
    #[error("the connection ended early, before the reply was complete")]
    Truncated,
    /// It ends without having said anything.
    #[error("it holds no content at all")]
    Empty,
    /// The server counted tokens but delivered none of them, as some do when they fail to parse a call.
    #[error("the server generated {tokens} tokens and delivered none of them")]
    NothingDelivered {
        /// What the server counted.
        tokens: u64,
    },
    /// The server only loaded or unloaded the model.
    #[error("the server reports \"{reason}\" instead of an answer")]
    NoAnswer {
        /// The server's word for it.
        reason: String,
    },
    /// The server stopped on its own account.
    #[error("the server broke off with \"{reason}\"")]
    BrokenOff {
        /// The server's word for it.
        reason: String,
    },
    /// A piece of it is not the JSON it should be.
    #[error("a piece of the stream is not valid: {reason} in {sample}")]
    Malformed {
        /// Why.
        reason: String,
        /// Its beginning.
        sample: String,
        /// Whether something secret was taken out of either.
        redacted: bool,
    },
    /// It is a web page.
    #[error(
        "it is a web page; base_url must be the address of the server's API, which is another than that of its pages"
    )]
    WebPage,
    /// A single line or event is too long.
    #[error("one event is longer than {limit} bytes")]
    EventTooLong {
        /// The bound.
        limit: usize,
    },
    /// All of it is too long.
    #[error("it is longer than {limit} bytes")]
    ReplyTooLong {
        /// The bound.
        limit: usize,
    },
    /// More calls than any turn can mean.
    #[error("it holds more than {limit} tool calls")]
    TooManyCalls {
        /// The bound.
        limit: usize,
    },
}

impl BrokenStream {
    /// Whether a bound of ours ended it.
    pub(crate) fn is_too_long(&self) -> bool {
        matches!(self, Self::EventTooLong { .. } | Self::ReplyTooLong { .. } | Self::TooManyCalls { .. })
    }
}
