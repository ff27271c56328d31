//! `[permissions]` and `[hooks]`: what may happen unasked.

use crate::schema::{millis, section, words};
use crate::texts::HOST;

section! {
    /// `[permissions]`: what is asked and what is not.
    pub struct PermissionsConfig {
        /// Read-only tools: run, ask, or refuse.
        readonly_default: Verdict = Verdict::Allow;
        /// Writes when nobody can be asked. `allow` covers only files inside the write roots that are neither sensitive nor
        /// dangerous.
        write_without_callback: UnattendedWrites = UnattendedWrites::Deny;
        /// How long "allow for session" lasts. Nothing is ever written to disk.
        remember_scope: RememberScope = RememberScope::Session;
        /// Whether "allow for session" is remembered at all; if not, that answer counts once.
        allow_for_session_enabled: bool = true;
        /// Tools that reach the network.
        network_policy: NetworkPolicyConfig = NetworkPolicyConfig::default();
    }
}

section! {
    /// `[permissions.network_policy]`: read-only tools that reach the network. `tools.network` is the outer limit.
    pub struct NetworkPolicyConfig {
        /// Hosts that no list below names.
        default: Verdict = Verdict::Confirm;
        /// Hosts that need no question, exactly these.
        allowed_hosts: Vec<String> = Vec::new(), HOST;
        /// Domains that need no question, with all their subdomains.
        allowed_domains: Vec<String> = Vec::new(), HOST;
    }
}

section! {
    /// `[hooks]`: the commands of `hooks.json`.
    pub struct HooksConfig {
        /// Whether `hooks.json` is used. This version does not run hooks: while that file exists, no run starts unless this is
        /// false.
        enabled: bool = true;
        /// Time for a hook that sets none.
        default_timeout_ms: u64 = 30_000, millis(1);
    }
}

words! {
    /// What happens without further question.
    pub enum Verdict {
        /// It runs.
        Allow = "allow",
        /// Somebody is asked.
        Confirm = "confirm",
        /// It is refused.
        Deny = "deny",
    }
}

words! {
    /// What becomes of a write that nobody can be asked about.
    pub enum UnattendedWrites {
        /// It is refused.
        Deny = "deny",
        /// It runs, inside the write roots and nowhere delicate.
        Allow = "allow",
    }
}

words! {
    /// How long a permission is remembered.
    pub enum RememberScope {
        /// As long as the session is open in this process.
        Session = "session",
    }
}
