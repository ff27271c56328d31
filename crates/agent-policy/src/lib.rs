//! Pure rules about what a call may do: facts in, decision out.
//!
//! It holds the permission decision ([`decide`]) and what a person is asked ([`request_summary`]), the rules about paths,
//! the grants of a session, and which tools a run may use at all. Everything is a function of its arguments.
//!
//! It is deliberately *not* a sandbox and not a resolver: it opens no file, resolves no link, asks nobody and remembers
//! nothing. Whoever calls it gathers the [`Facts`] first, from the very files that will be used, and enforces the
//! [`Verdict`] afterwards. How secrets are taken out of a text and how a text is escaped is `agent-redact`'s part.
//!
//! What restricts compares loosely (case, odd spellings, links by their name), what permits compares exactly: where the
//! rules err, they ask once too often.
//!
//! Read in this order: [`Facts`] (what is known about a call), [`PathRules`] (what is known about paths), [`decide`] and
//! [`Verdict`], [`Grants`], [`request_summary`]; beside them [`ToolScope`] and [`DefinitionRegistry`] (which tools and agents
//! there are, and for whom).

mod decision;
mod definitions;
mod facts;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod paths;
mod summary;
#[cfg(test)]
mod testing;
mod tool_scope;

pub use decision::{
    GrantKey, Grants, HostList, NetworkPolicy, PolicySettings, Question, Stance, Unattended, Verdict, decide,
};
pub use definitions::{DefinitionError, DefinitionRegistry, Named};
pub use facts::{Access, CodeFile, Command, Facts, Target, TargetKind};
pub use paths::{PathRules, Places, Root, RulesError, Why};
pub use summary::{ARGS_SUMMARY_BYTES, RequestSummary, request_summary};
pub use tool_scope::{ToolScope, Withheld};
