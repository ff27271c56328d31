//! Showing text that somebody else wrote, on a terminal.

pub use agent_protocol::shown_path;
pub use agent_redact::{escape_for_terminal, quote_argv, quote_name, shorten};
