//! What every conversation of an adapter shares.

use std::time::Duration;

use crate::dialect::SharedDialect;
use crate::http::Wire;
use crate::key::KeySource;
use crate::{LimitSettings, RawSink, RetrySettings};

/// What every conversation of an adapter shares.
pub(crate) struct Terms {
    pub(crate) dialect: SharedDialect,
    pub(crate) wire: Box<dyn Wire>,
    pub(crate) url: String,
    pub(crate) api_key: Option<KeySource>,
    pub(crate) context_window: u64,
    pub(crate) retry: RetrySettings,
    pub(crate) limits: LimitSettings,
    pub(crate) patience: Patience,
    pub(crate) raw: Option<RawSink>,
}

/// How long a server may stay silent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// From the request to the first content.
    pub(crate) first_content: Duration,
    /// Between bytes after it.
    pub(crate) idle: Duration,
    /// After a reply that seems finished, where the server does not close.
    pub(crate) linger: Duration,
}
