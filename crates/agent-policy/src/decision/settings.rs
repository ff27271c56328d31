//! What of the configuration a decision depends on.

use core::net::IpAddr;

/// What of the configuration's `permissions` and `tools.network` a decision depends on. The default is the contract's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySettings {
    /// `allow_for_session_enabled`: whether an answer may count for more than one call.
    pub session_grants: bool,
    /// `readonly_default`: calls that only look (PRM-11).
    pub readonly: Stance,
    /// `write_without_callback = "allow"`: whether plain writes run where nobody can be asked (PRM-11).
    pub unattended_writes: bool,
    /// Calls that talk to other hosts (PRM-7, PRM-12).
    pub network: NetworkPolicy,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            session_grants: true,
            readonly: Stance::Allow,
            unattended_writes: false,
            network: NetworkPolicy::default(),
        }
    }
}

/// What happens without further question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stance {
    /// It runs.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// What is known about other hosts (PRM-12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// `network_policy.default`: hosts that [`trusted`](Self::trusted) does not name.
    pub default: Stance,
    /// The hosts and domains of `network_policy`: they need no question by themselves.
    pub trusted: HostList,
    /// `tools.network`: what tools may reach at all; empty is no limit.
    pub limit: HostList,
}

impl Default for NetworkPolicy {
    fn default() -> Self {
        Self { default: Stance::Ask, trusted: HostList::default(), limit: HostList::default() }
    }
}

/// Host names and addresses, and domains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostList {
    hosts: Vec<String>,
    domains: Vec<String>,
}

impl HostList {
    /// `hosts` are exactly those, `domains` with all their subdomains. Names in the form they have on the wire: a name of
    /// other letters than ASCII matches its punycode only if it is given as that.
    #[must_use]
    pub fn new(hosts: &[String], domains: &[String]) -> Self {
        let canonical = |names: &[String]| names.iter().map(|name| canonical_host(name)).collect();
        Self { hosts: canonical(hosts), domains: canonical(domains) }
    }

    /// Whether nothing is listed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.domains.is_empty()
    }

    /// Whether a host is listed, or lies in a listed domain. An address lies in no domain.
    #[must_use]
    pub fn covers(&self, host: &str) -> bool {
        let host = canonical_host(host);
        let inside = |domain: &String| {
            host.strip_suffix(domain.as_str())
                .is_some_and(|rest| rest.is_empty() || (rest.ends_with('.') && rest.len() > 1))
        };
        self.hosts.contains(&host) || (host.parse::<IpAddr>().is_err() && self.domains.iter().any(inside))
    }
}

/// One spelling for one host: in lower case, without the final dot and the brackets of an address.
pub(super) fn canonical_host(name: &str) -> String {
    let name = name.strip_suffix('.').unwrap_or(name);
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().to_string(),
        Err(_) => bare.to_ascii_lowercase(),
    }
}
