//! All that a request's answer depends on.

use std::net::SocketAddr;
use std::sync::Arc;

use super::script::Script;
use crate::model::Model;
use crate::record::Store;

/// A function from a canonical tool name to the adapter's wire name.
pub(crate) type Mapping = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// All that a request's answer depends on.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) models: Vec<Model>,
    pub(crate) mapping: Mapping,
    pub(crate) extra_fields: Vec<String>,
    pub(crate) checks: bool,
    pub(crate) script: Arc<Script>,
    pub(crate) store: Arc<Store>,
}
