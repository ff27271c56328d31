//! The six `code.*` tools: reading, listing, searching, writing and editing files, and running commands.
//!
//! What they promise together: a path is resolved once, component by component, and what it led to stays open from the
//! decision to the deed, so that a link swapped in between redirects nothing (COD-1); the facts name that very file; a
//! write replaces a file whole or not at all (COD-5).
//!
//! It is deliberately *not* a sandbox and *not* a place for decisions about permission: the facts of a call say where a
//! write would land and what a command is tied to, `agent-policy` judges them. What a tool is and how its arguments are
//! checked is `agent-tool`'s, how a process is run `agent-exec`'s. It reads no environment: it is handed
//! [`CodeToolSettings`].
//!
//! Read in this order: [`code_tools()`], `place/` (folders that are held, paths that are walked), `workspace` (from a
//! path's words to a place and its facts), `tool` (a tool whose first phase blocks), `read_file`, `write` and
//! `edit_file` (from words to a change on disk), `search` over `traverse`, `run_command` and its `ties`.
//!
//! Unix only, as descriptors of folders are what keeps a path from being redirected between the phases.

mod artifact;
mod code_tools;
mod edit_file;
mod fail;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
#[cfg(test)]
mod known_secrets_tests;
mod list_dir;
mod next_call;
mod overflow;
mod path_notes;
mod place;
mod preview;
mod read_file;
mod run_command;
mod search;
mod second_names;
mod settings;
#[cfg(test)]
mod testing;
mod tool;
mod traverse;
mod version;
mod workspace;
mod write;
mod write_file;

pub use code_tools::{RUN_COMMAND, clear_drafts, code_tools};
pub use settings::{CodeLimits, CodeToolSettings};
