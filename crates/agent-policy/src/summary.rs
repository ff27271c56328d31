//! What a permission request shows of a call (PRM-6).

use std::path::Path;

use agent_protocol::{Object, path_line, path_text, shown_path};
use agent_redact::{KnownSecrets, escape_bounded, quote_name, shown_command, shown_word};

use crate::facts::Facts;

/// A size for [`RequestSummary::args_summary`] that shows a usual diff whole, bytes.
pub const ARGS_SUMMARY_BYTES: usize = 16 * 1024;
/// How many targets are named one by one.
const MAX_TARGETS: usize = 8;

/// The fields of a [`PermissionRequest`](agent_protocol::PermissionRequest) that come from a call's facts, without known
/// secrets. Paths are raw; everything else is bounded and escaped, so that it can be printed as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestSummary {
    /// The command in unambiguous quoting, else what the tool wants shown: a diff, the arguments. A `[…` in it is always
    /// the beginning of our note that something is not shown.
    pub args_summary: String,
    /// The resolved targets, one a line ([`path_line`]), or the program of a command; absent where the call has neither. Raw.
    pub target_scope: Option<String>,
    /// The first of them as a person is shown them: quoted and escaped, the others counted. For the timeline.
    pub shown_targets: Option<String>,
    /// The folder a command starts in ([`path_text`]); absent for other calls. Raw.
    pub cwd: Option<String>,
    /// `names`: the variables a command gets, never their values; empty for other calls.
    pub env_summary: Object,
    /// The host it will talk to.
    pub network_host: Option<String>,
}

/// Puts together what somebody must see to decide about a call. `max_bytes` bounds `args_summary`; a cut states its length
/// and shows both ends.
///
/// A command is shown from its argument list, not from the preview: what is approved is what runs (PRM-5). Secrets go
/// first, then the text is quoted, escaped and cut: the other way round a quote or a cut inside a secret would hide it. No two
/// calls look the same because of what stands for a secret ([`KnownSecrets::for_question`]).
#[must_use]
pub fn request_summary(facts: &Facts, secrets: &KnownSecrets, max_bytes: usize) -> RequestSummary {
    let shown = |path: &Path| quote_name(&secrets.for_question(&shown_path(path)));
    let network_host = facts.network_host.as_deref().map(|host| shown_word(&secrets.for_question(host)));
    let Some(command) = &facts.command else {
        return RequestSummary {
            args_summary: escape_bounded(&secrets.for_question(&facts.preview), max_bytes),
            target_scope: targets(facts, secrets),
            shown_targets: shown_targets(facts, &shown),
            cwd: None,
            env_summary: Object::new(),
            network_host,
        };
    };
    let argv: Vec<String> = command.argv.iter().map(|word| secrets.for_question(word).into_owned()).collect();
    let names: Vec<String> = command.env_names.iter().map(|name| shown_word(name)).collect();
    RequestSummary {
        args_summary: shown_command(&argv, max_bytes),
        target_scope: Some(raw(&command.program, secrets, path_line)),
        shown_targets: Some(shown(&command.program)),
        cwd: Some(raw(&command.cwd, secrets, path_text)),
        env_summary: Object::from_iter([("names".to_owned(), names.into())]),
        network_host,
    }
}

/// A path without known secrets. One that holds a secret comes back as no path in any case, so that it need not be kept byte by
/// byte; the others are.
fn raw(path: &Path, secrets: &KnownSecrets, form: fn(&Path) -> String) -> String {
    let text = shown_path(path);
    match secrets.redact(&text).hit {
        true => form(Path::new(&*secrets.for_question(&text))),
        false => form(path),
    }
}

/// All resolved targets of a call, one a line.
fn targets(facts: &Facts, secrets: &KnownSecrets) -> Option<String> {
    let lines: Vec<String> = facts.targets.iter().map(|target| raw(&target.resolved, secrets, path_line)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The first targets of a call for a person, one a line.
fn shown_targets(facts: &Facts, path: &dyn Fn(&Path) -> String) -> Option<String> {
    let mut lines: Vec<String> = facts.targets.iter().take(MAX_TARGETS).map(|target| path(&target.resolved)).collect();
    if let more @ 1.. = facts.targets.len().saturating_sub(MAX_TARGETS) {
        lines.push(format!("and {more} more"));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests;
