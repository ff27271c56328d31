//! What a command line that is not understood was probably meant to be.

use std::ffi::OsString;

use agent_core::text::shorten;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::shell;

/// So much of a message is repeated, in columns.
const SHOWN: usize = 60;

/// The error with tips of ours: most of what is no command is a message without `run` before it, and a message may begin with a
/// dash.
pub(crate) fn with_tips(error: Error) -> Error {
    tipped(error, &std::env::args_os().skip(1).collect::<Vec<_>>())
}

fn tipped(mut error: Error, arguments: &[OsString]) -> Error {
    let said = |error: &Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand if is_first(&said(&error, ContextKind::InvalidSubcommand), arguments) => {
            let message = arguments.first().map(message_of).unwrap_or_default();
            Some(format!("to give the agent a message: soong-agent run {message}"))
        }
        ErrorKind::UnknownArgument if error.get(ContextKind::SuggestedArg).is_none() => {
            let unknown = said(&error, ContextKind::InvalidArg);
            let is_run = arguments.first().is_some_and(|command| command == "run");
            let message = arguments.iter().skip(1).find(|it| begins(it, &unknown)).filter(|_| is_run);
            message.map(|message| {
                format!(
                    "a message that begins with a dash goes behind `--`: soong-agent run -- {}",
                    message_of(message)
                )
            })
        }
        _ => None,
    };
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn is_first(named: &Option<String>, arguments: &[OsString]) -> bool {
    arguments.first().is_some_and(|first| named.as_ref().is_some_and(|named| first.as_os_str() == named.as_str()))
}

/// Whether this is the argument that was taken for an option which does not exist.
fn begins(argument: &OsString, unknown: &Option<String>) -> bool {
    let text = argument.to_string_lossy();
    unknown.as_ref().is_some_and(|unknown| text.starts_with('-') && text.starts_with(unknown.as_str()))
}

fn message_of(argument: &OsString) -> String {
    let shown = shorten(&argument.to_string_lossy(), SHOWN).into_owned();
    shell::argument(shown.as_ref())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    fn said(arguments: &[&str]) -> String {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let whole = std::iter::once(OsString::from("soong-agent")).chain(arguments.iter().cloned());
        tipped(Cli::try_parse_from(whole).expect_err("it is none"), &arguments).to_string()
    }

    /// FND-73: a message without `run` is told about `run`, whatever it is like.
    #[test]
    fn a_message_without_run() {
        for (message, typed) in
            [("hello", "hello"), ("fix the test", "'fix the test'"), ("hlep", "hlep"), ("it's", r"'it'\''s'")]
        {
            let said = said(&[message]);
            assert!(said.contains(&format!("tip: to give the agent a message: soong-agent run {typed}\n")), "{said}");
        }
        assert!(said(&["sesions"]).contains("'sessions'"), "what is nearly a command is still told");
        assert!(!said(&["config", "chek"]).contains("a message"));
    }

    /// FND-72: a message that begins with a dash is told how it is given; a misspelt option is not taken for one.
    #[test]
    fn a_message_with_a_dash() {
        for message in ["- fix this", "-x and y", "--- a/f", "--what is this"] {
            let said = said(&["run", message]);
            assert!(said.contains(&format!("soong-agent run -- '{message}'")), "{said}");
            assert_eq!(said.matches("tip:").count(), 1, "{said}");
        }
        let said = said(&["run", "--sesion-id", "last", "hi"]);
        assert!(said.contains("--session-id") && !said.contains("run -- "), "{said}");
    }
}
