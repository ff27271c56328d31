//! Why a script cannot be used.

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// Not JSON, or not in the format.
    #[error("read the script")]
    Json(#[from] serde_json::Error),
    /// A script must say something.
    #[error("the script has no replies")]
    NoReplies,
    /// A reply that no server could send; counted from 0.
    #[error("reply {at} of the script: {what}")]
    Reply {
        /// Its place.
        at: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A header with characters HTTP does not allow; counted from 0.
    #[error("reply {at} of the script: header {name}")]
    Header {
        /// The reply's place.
        at: usize,
        /// The header.
        name: String,
        /// What HTTP says.
        #[source]
        source: hyper::http::Error,
    },
}
