//! The decision about one call, from its facts.

mod assess;
mod grants;
mod network;
mod scope;
mod settings;
mod verdict;

use agent_protocol::{DecisionKind, ErrorCode, Permission, ToolDefinition, ToolDescriptor};
use agent_redact::escape_word;

use crate::{
    facts::{Access, Facts},
    paths::PathRules,
};
use assess::Assessment;
pub use grants::Grants;
pub use scope::GrantKey;
pub use settings::{HostList, NetworkPolicy, PolicySettings, Stance};
pub use verdict::{Question, Unattended, Verdict};

/// Decides about a call that is about to run (PRM-2, PRM-4, PRM-7, PRM-11 to PRM-13, COD-8, COD-13).
///
/// What nobody may allow is denied first; what only looks and touches nothing sensitive is allowed; the rest is a
/// question, unless a grant of this session covers it. The same facts must be what runs (PRM-5): a caller that lets
/// anything change in between decides about something else.
#[must_use]
pub fn decide(
    tool: &ToolDescriptor,
    facts: &Facts,
    rules: &PathRules,
    settings: &PolicySettings,
    grants: &Grants,
) -> Verdict {
    if let Some(denied) = never(facts, rules) {
        return denied;
    }
    if tool.is_of_core() {
        return Verdict::Allow { because: "it is core's own and changes nothing outside".to_owned() };
    }
    let definition = &tool.definition;
    if let Some(reason) = network::refused(definition, facts, &settings.network) {
        return Verdict::Deny { code: ErrorCode::PermissionDenied, reason };
    }
    if settings.readonly == Stance::Deny && definition.permission == Permission::Readonly {
        return reading_is_off(definition);
    }
    let assessed = Assessment::of(definition, facts, rules, settings);
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
        unattended: unattended(definition, facts, &assessed, settings),
        dangerous: assessed.dangerous,
        reasons: assessed.into_reasons(),
        grant,
        grant_covers,
    }))
}

fn reading_is_off(definition: &ToolDefinition) -> Verdict {
    let reason = format!("{} only reads, and permissions.readonly_default is \"deny\"", escape_word(&definition.name));
    Verdict::Deny { code: ErrorCode::PermissionDenied, reason }
}

/// What becomes of a question nobody can be asked: of writes, only plain ones in a root may run (PRM-11).
fn unattended(
    definition: &ToolDefinition,
    facts: &Facts,
    assessed: &Assessment,
    settings: &PolicySettings,
) -> Unattended {
    if assessed.outside {
        return Unattended::Deny(ErrorCode::WriteOutsideAllowedRoots);
    }
    let writes =
        definition.permission == Permission::Write && facts.targets.iter().any(|target| target.access == Access::Write);
    let plain =
        !assessed.unusual() && !assessed.dangerous && facts.command.is_none() && !network::talks(definition, facts);
    if settings.unattended_writes && writes && plain {
        return Unattended::Allow;
    }
    Unattended::Deny(ErrorCode::PermissionDenied)
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
