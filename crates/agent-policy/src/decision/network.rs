//! Calls that talk to other hosts (PRM-7, PRM-12).

use agent_protocol::{Permission, ToolDefinition};
use agent_redact::{escape_word, shown_word};

use super::settings::{NetworkPolicy, Stance};
use crate::facts::Facts;

/// Whether a call talks to other hosts, as far as its tool says.
pub(super) fn talks(definition: &ToolDefinition, facts: &Facts) -> bool {
    facts.network_host.is_some() || definition.has_tag(ToolDefinition::NETWORK)
}

/// Why a call is denied: it goes to a host that tools may not reach, or that nobody trusts where only trusted ones may be reached.
/// A host that the tool does not tell is neither inside a limit nor trusted.
pub(super) fn refused(definition: &ToolDefinition, facts: &Facts, policy: &NetworkPolicy) -> Option<String> {
    if !talks(definition, facts) {
        return None;
    }
    let host = facts.network_host.as_deref();
    let why = if !policy.limit.is_empty() && !host.is_some_and(|host| policy.limit.covers(host)) {
        "is not in tools.network, the hosts that tools may reach"
    } else if policy.default == Stance::Deny && !trusted(host, policy) {
        "is not in permissions.network_policy, which denies all other hosts"
    } else {
        return None;
    };
    let subject = host.map_or_else(
        || format!("the host that {} talks to is not told in advance, so it", escape_word(&definition.name)),
        shown_word,
    );
    Some(format!("{subject} {why}"))
}

/// Why a call must be asked for because of the host; nothing where it need not. The lists spare questions for readonly tools
/// only.
pub(super) fn asks(definition: &ToolDefinition, facts: &Facts, policy: &NetworkPolicy) -> Option<String> {
    if !talks(definition, facts) {
        return None;
    }
    let host = facts.network_host.as_deref();
    let free = policy.default == Stance::Allow || trusted(host, policy);
    if free && definition.permission == Permission::Readonly {
        return None;
    }
    Some(host.map_or_else(|| "it talks to other hosts".to_owned(), |host| format!("it talks to {}", shown_word(host))))
}

fn trusted(host: Option<&str>, policy: &NetworkPolicy) -> bool {
    host.is_some_and(|host| policy.trusted.covers(host))
}
