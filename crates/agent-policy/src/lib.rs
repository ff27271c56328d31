//! Pure rules about what a call may do and what may be shown: facts in, decision out.
//!
//! It holds the permission decision ([`decide`]), the rules about paths, the grants of a session, the redaction of known
//! secret values, and the escaping of text on its way to a person. Everything is a function of its arguments.
//!
//! It is deliberately *not* a sandbox and not a resolver: it opens no file, resolves no link, asks nobody and remembers
//! nothing. Whoever calls it gathers the [`Facts`] first, from the very files that will be used, and enforces the
//! [`Verdict`] afterwards. Patterns of secrets nobody told us (STO-10's second class) are not its part either.
//!
//! What restricts compares loosely (case, odd spellings, links by their name), what permits compares exactly: where the
//! rules err, they ask once too often.
//!
//! Read in this order: [`Facts`] (what is known about a call), [`PathRules`] (what is known about paths), [`decide`] and
//! [`Verdict`], [`Grants`]; beside them [`KnownSecrets`] and [`request_summary`].

mod decision;
mod display;
mod facts;
mod paths;
mod secrets;
mod summary;
#[cfg(test)]
mod testing;

pub use decision::{GrantKey, Grants, PolicySettings, Question, Verdict, decide};
pub use display::{escape_bounded, escape_for_prompt, escape_for_terminal, escape_word, quote_argv, shorten};
pub use facts::{Access, CodeFile, Command, Facts, Target, TargetKind};
pub use paths::{PathRules, Places, Root, RulesError, Why};
pub use secrets::{KnownSecrets, MAX_SECRET_BYTES, MIN_SECRET_BYTES, Redacted, SecretStream, SecretsError};
pub use summary::{ARGS_SUMMARY_BYTES, RequestSummary, request_summary};
