//! Why a connection could not be made, or broke, in words for people. What the HTTP client calls it is kept beside.

/// What happened to a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionFault {
    /// It was closed at the other end.
    #[error("the server closed the connection")]
    Closed,
    /// The host's name leads nowhere.
    #[error("the host's name cannot be resolved; check base_url, and that the network is up")]
    UnknownHost,
    /// The system says why.
    #[error("{0}")]
    System(String),
    /// What answers breaks the rules of HTTP in the middle of its answer.
    #[error("its answer is not valid HTTP")]
    BadHttp,
    /// What answers does not speak TLS.
    #[error(
        "the server does not speak TLS there; if it speaks plain HTTP, begin base_url with http:// instead of https://"
    )]
    NotTls,
    /// What answers speaks neither HTTP/1 nor HTTP/2.
    #[error(
        "what answers there does not speak HTTP; if it speaks TLS, begin base_url with https:// instead of http://"
    )]
    NotHttp,
    /// TLS is spoken, and the two sides do not come to terms.
    #[error(
        "the server broke off the TLS handshake; if it speaks plain HTTP, begin base_url with http:// instead of https://"
    )]
    Handshake,
    /// Who answers does not prove to be the host.
    #[error("the server's certificate is not accepted: {0}")]
    Certificate(&'static str),
    /// The proxy does not lead there.
    #[error("the proxy that HTTPS_PROXY names does not connect to it")]
    Proxy,
    /// The body is compressed, and damaged.
    #[error("its answer is compressed and cannot be unpacked")]
    Compression,
    /// Nothing we have a word for.
    #[error("the exchange failed")]
    Other,
}
