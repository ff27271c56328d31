//! What an adapter learns about its server from refusals: the newest models refuse what older ones need. Lessons only ever add
//! up, so a request changes twice at most.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::fault::speaks_of_support;
use crate::{Refusal, RefusalKind};

/// The lessons of one adapter.
#[derive(Debug, Default)]
pub(super) struct Learned {
    no_temperature: AtomicBool,
    no_budgets: AtomicBool,
}

impl Learned {
    pub(super) fn no_temperature(&self) -> bool {
        self.no_temperature.load(Ordering::Relaxed)
    }

    pub(super) fn no_budgets(&self) -> bool {
        self.no_budgets.load(Ordering::Relaxed)
    }

    /// Takes the lesson of a refusal, if it holds one; says what changes if it is new.
    pub(super) fn learn(&self, refusal: &Refusal) -> Option<&'static str> {
        if !matches!(refusal.kind, RefusalKind::Unsupported | RefusalKind::InvalidRequest) {
            return None;
        }
        let text = refusal.words.to_ascii_lowercase();
        let (lesson, words) = if text.contains("thinking.type.enabled") {
            (&self.no_budgets, "the model is asked to think adaptively")
        } else if text.contains("temperature") && speaks_of_support(&text) {
            (&self.no_temperature, "temperature is left out")
        } else {
            return None;
        };
        (!lesson.swap(true, Ordering::Relaxed)).then_some(words)
    }
}
