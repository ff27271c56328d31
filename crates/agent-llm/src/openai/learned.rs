//! What an adapter learns about its server from refusals: many servers imitate the protocol, and each leaves out something
//! else. Lessons only ever add up, so a request changes a few times at most.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::fault::speaks_of_support;
use crate::{Refusal, RefusalKind};

/// The lessons of one adapter.
#[derive(Debug, Default)]
pub(super) struct Learned {
    no_stream_options: AtomicBool,
    other_limit_field: AtomicBool,
    no_temperature: AtomicBool,
    merge_users: AtomicBool,
}

impl Learned {
    pub(super) fn no_stream_options(&self) -> bool {
        self.no_stream_options.load(Ordering::Relaxed)
    }

    pub(super) fn other_limit_field(&self) -> bool {
        self.other_limit_field.load(Ordering::Relaxed)
    }

    pub(super) fn no_temperature(&self) -> bool {
        self.no_temperature.load(Ordering::Relaxed)
    }

    pub(super) fn merge_users(&self) -> bool {
        self.merge_users.load(Ordering::Relaxed)
    }

    /// Takes the lesson of a refusal, if it holds one.
    pub(super) fn learn(&self, refusal: &Refusal) {
        let rejected = matches!(refusal.kind, RefusalKind::Unsupported | RefusalKind::InvalidRequest);
        let template = matches!(refusal.kind, RefusalKind::InvalidRequest | RefusalKind::Server);
        let text = refusal.words.to_ascii_lowercase();
        let names = |field: &str| refusal.param.as_deref() == Some(field) || text.contains(field);
        let lesson = if rejected && names("stream_options") {
            &self.no_stream_options
        } else if rejected && (names("max_completion_tokens") || names("max_tokens")) && speaks_of_support(&text) {
            &self.other_limit_field
        } else if rejected && names("temperature") && speaks_of_support(&text) {
            &self.no_temperature
        } else if template && text.contains("roles must alternate") {
            &self.merge_users
        } else {
            return;
        };
        lesson.store(true, Ordering::Relaxed);
    }
}
