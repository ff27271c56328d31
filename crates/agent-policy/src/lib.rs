//! Pure rules about what a call may do and what may be shown: facts in, decision out.
//!
//! It holds the permission decision ([`decide`]), the rules about paths, the grants of a session, the redaction of known
//! secret values and of what looks like a secret, and the escaping of text on its way to a person. Everything is a function
//! of its arguments.
//!
//! It is deliberately *not* a sandbox and not a resolver: it opens no file, resolves no link, asks nobody and remembers
//! nothing. Whoever calls it gathers the [`Facts`] first, from the very files that will be used, and enforces the
//! [`Verdict`] afterwards. To what the redaction is applied (known values to what is stored, STO-10's patterns to what is
//! shown) is not its part either.
//!
//! What restricts compares loosely (case, odd spellings, links by their name), what permits compares exactly: where the
//! rules err, they ask once too often.
//!
//! Read in this order: [`Facts`] (what is known about a call), [`PathRules`] (what is known about paths), [`decide`] and
//! [`Verdict`], [`Grants`]; beside them [`KnownSecrets`], [`SecretPatterns`] and [`request_summary`].

mod decision;
mod display;
mod facts;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod keys;
mod paths;
mod patterns;
mod secrets;
mod summary;
#[cfg(test)]
mod testing;
mod tool_scope;

pub use decision::{
    GrantKey, Grants, HostList, NetworkPolicy, PolicySettings, Question, Stance, Unattended, Verdict, decide,
};
pub use display::{
    escape_bounded, escape_for_prompt, escape_for_terminal, escape_word, quote_argv, quote_name, shorten,
};
pub use facts::{Access, CodeFile, Command, Facts, Target, TargetKind};
pub use paths::{PathRules, Places, Root, RulesError, Why};
pub use patterns::{PatternsError, SecretPatterns};
pub use secrets::{KnownSecrets, MAX_SECRET_BYTES, MIN_SECRET_BYTES, Redacted, SecretStream, SecretsError};
pub use summary::{ARGS_SUMMARY_BYTES, RequestSummary, request_summary};
pub use tool_scope::{ToolScope, Withheld};
