//! The decision about one call, from its facts.

mod assess;
mod grants;
mod scope;
mod verdict;

use agent_protocol::{DecisionKind, ErrorCode, ToolDefinition};

use crate::{Access, Facts, PathRules};
use assess::Assessment;
pub use grants::Grants;
pub use scope::GrantKey;
pub use verdict::{Question, Verdict};

/// What of the configuration's `permissions` a decision depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySettings {
    /// `allow_for_session_enabled`: whether an answer may count for more than one call.
    pub session_grants: bool,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self { session_grants: true }
    }
}

/// Decides about a call that is about to run (PRM-2, PRM-4, COD-8, COD-13).
///
/// What nobody may allow is denied first; what only looks and touches nothing sensitive is allowed; the rest is a
/// question, unless a grant of this session covers it. The same facts must be what runs (PRM-5): a caller that lets
/// anything change in between decides about something else.
#[must_use]
pub fn decide(
    definition: &ToolDefinition,
    facts: &Facts,
    rules: &PathRules,
    settings: &PolicySettings,
    grants: &Grants,
) -> Verdict {
    if let Some(denied) = never(facts, rules) {
        return denied;
    }
    let assessed = Assessment::of(definition, facts, rules);
    if !assessed.asks {
        return Verdict::Allow { because: "it only reads, and nothing sensitive".to_owned() };
    }
    let grant = settings.session_grants.then(|| GrantKey::of(definition, facts, &assessed)).flatten();
    let grant_covers = grant.as_ref().map(|key| key.in_words(rules));
    if let (Some(key), Some(words)) = (&grant, &grant_covers)
        && grants.covers(key)
    {
        return Verdict::Allow { because: format!("allowed for this session: {words}") };
    }
    Verdict::Ask(Box::new(Question {
        suggested: if assessed.unusual() { DecisionKind::Deny } else { DecisionKind::AllowOnce },
        without_callback: if assessed.outside {
            ErrorCode::WriteOutsideAllowedRoots
        } else {
            ErrorCode::PermissionDenied
        },
        dangerous: assessed.dangerous,
        reasons: assessed.into_reasons(),
        grant,
        grant_covers,
    }))
}

/// What no answer opens: writes to our own files. The code is `write_outside_allowed_roots`: nobody said no, the place is
/// simply not one of those that may be written, wherever it lies.
fn never(facts: &Facts, rules: &PathRules) -> Option<Verdict> {
    let writes = facts.targets.iter().filter(|target| target.access == Access::Write);
    let mut paths = writes.flat_map(|target| std::iter::once(&target.resolved).chain(&target.aliases));
    paths.find_map(|path| {
        let why = rules.forbidden_write(path)?;
        let reason = format!("{} {}; code tools never write it", rules.show(path), why.because);
        Some(Verdict::Deny { code: ErrorCode::WriteOutsideAllowedRoots, reason })
    })
}

#[cfg(test)]
mod tests;
