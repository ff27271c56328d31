//! `soong-agent cleanup artifacts|session|tasks`.

mod session;
mod tasks;

use std::collections::HashMap;
use std::path::Path;

use agent_core::archive::{Archive, ArtifactCleanup, CleanupCandidate, CleanupFailure, CleanupReason, CleanupResult};
use agent_core::id::SessionId;
use agent_core::text::{quote_argv, shown_path};

use crate::cli::{CleanupArtifacts, CleanupCommand};
use crate::exit::{Exit, Failure, Outcome};
use crate::lines::{counted, whole_line};
use crate::moment;
use crate::output::{Columns, GAP, Look, Output, Width, widest};
use crate::size::readable;
use crate::stored::{self, Which, below_home, nothing_yet};

/// The end of a path gets at least this much room; where it would not, ages give way, then reasons.
const PATH: usize = 24;

pub(crate) fn run(command: CleanupCommand, output: &mut Output) -> Outcome {
    match command {
        CleanupCommand::Artifacts(arguments) => artifacts(&arguments, output),
        CleanupCommand::Tasks(arguments) => tasks::run(&arguments, output),
        CleanupCommand::Session { session, yes } => {
            let which = Which::parse("SESSION", &session)?;
            let nothing = |path: &Path, _: &mut Output| Err(nothing_yet(path));
            stored::look(output, nothing, async |archive, output| {
                let id = which.found(archive, None, output).await?;
                match yes {
                    true => session::remove(archive, &id, output).await,
                    false => session::show(archive, &id, output).await,
                }
            })
        }
    }
}

fn artifacts(arguments: &CleanupArtifacts, output: &mut Output) -> Outcome {
    let which = arguments.session.as_deref().map(|id| Which::parse("--session", id)).transpose()?;
    let nothing = |path: &Path, output: &mut Output| {
        if arguments.session.is_some() {
            return Err(nothing_yet(path));
        }
        output.note("there is nothing to remove: nothing has been stored yet");
        Ok(Exit::Completed)
    };
    stored::look(output, nothing, async |archive, output| {
        let session_id = match which {
            Some(which) => Some(which.found(archive, None, output).await?),
            None => None,
        };
        let options = ArtifactCleanup {
            session_id,
            dry_run: !arguments.yes,
            include_all: arguments.all,
            older_than: arguments.older_than.as_ref().map(|span| span.before(moment::now())),
            max_bytes: arguments.max_bytes.as_ref().map(|size| size.bytes),
        };
        let result = archive.cleanup_artifacts(&options).await?;
        let listed = Listed::of(archive, &result, output.page_look()).await?;
        Ok(report(&result, &listed, arguments, options.session_id.as_ref(), output))
    })
}

/// What is listed of a result, and the names of its sessions in a list for people.
struct Listed<'r> {
    candidates: Vec<&'r CleanupCandidate>,
    sessions: HashMap<&'r SessionId, String>,
}

impl<'r> Listed<'r> {
    /// What may go, or is gone.
    async fn of(archive: &Archive, result: &'r CleanupResult, look: Look) -> Result<Self, Failure> {
        let removed =
            |candidate: &&CleanupCandidate| result.dry_run || !result.failures.iter().any(|it| concerns(it, candidate));
        let candidates: Vec<_> = result.candidates.iter().filter(removed).collect();
        let mut sessions = HashMap::new();
        for candidate in candidates.iter().filter(|_| look.width.is_some()) {
            if !sessions.contains_key(&candidate.session_id) {
                sessions.insert(&candidate.session_id, stored::short(archive, &candidate.session_id).await?);
            }
        }
        Ok(Self { candidates, sessions })
    }
}

/// What may go, or is gone, and what could not be removed.
fn report(
    result: &CleanupResult,
    listed: &Listed<'_>,
    arguments: &CleanupArtifacts,
    session: Option<&SessionId>,
    output: &mut Output,
) -> Exit {
    let text = list(listed, arguments, output.page_look());
    output.page(&text);
    for failure in &result.failures {
        let path = failure.path.as_ref().map(|path| format!("{}: ", shown_path(path))).unwrap_or_default();
        let message = format!("{path}{}", failure.message);
        match result.dry_run {
            true => output.note(&format!("left alone: {message}")),
            false => output.error(&format!("not removed: {message}")),
        }
    }
    let files = counted(listed.candidates.len() as u64, "file");
    let size = readable(result.bytes);
    if !result.dry_run {
        output.note(&format!("removed {files}, {size}"));
    } else if listed.candidates.is_empty() {
        output.note(nothing_found(arguments));
    } else {
        let command = command(arguments, session);
        output.note(&format!("{files}, {size}; nothing was removed. To remove them: {command}"));
    }
    if result.dry_run || result.failures.is_empty() { Exit::Completed } else { Exit::Failed }
}

fn concerns(failure: &CleanupFailure, candidate: &CleanupCandidate) -> bool {
    match (&failure.path, &failure.artifact_id) {
        (Some(path), _) => candidate.path.starts_with(path) || path.starts_with(&candidate.path),
        (None, Some(artifact)) => candidate.artifact_id.as_ref() == Some(artifact),
        // A session that was passed over.
        (None, None) => candidate.artifact_id.is_some() && candidate.session_id == failure.session_id,
    }
}

fn nothing_found(arguments: &CleanupArtifacts) -> &'static str {
    match arguments.all {
        true => "there is nothing to remove",
        false => "there is nothing to remove; with --all also what results of tools refer to, such as long output",
    }
}

/// The words that do what was shown, for the same session, whatever is the last one by then.
fn command(arguments: &CleanupArtifacts, session: Option<&SessionId>) -> String {
    let mut words = vec!["soong-agent".to_owned(), "cleanup".to_owned(), "artifacts".to_owned()];
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), value]);
        }
    };
    option("--session", session.map(ToString::to_string));
    option("--older-than", arguments.older_than.as_ref().map(ToString::to_string));
    option("--max-bytes", arguments.max_bytes.as_ref().map(ToString::to_string));
    words.extend(arguments.all.then(|| "--all".to_owned()));
    words.push("--yes".to_owned());
    quote_argv(&words)
}

fn list(listed: &Listed<'_>, arguments: &CleanupArtifacts, look: Look) -> String {
    match look.width {
        Some(width) => for_people(listed, arguments, width, look),
        None => listed.candidates.iter().map(|candidate| for_scripts(candidate, arguments)).collect(),
    }
}

/// Why it may go: where the command line asked for it, in its words.
fn why(candidate: &CleanupCandidate, arguments: &CleanupArtifacts) -> String {
    match (candidate.reason, &arguments.older_than, &arguments.max_bytes) {
        (CleanupReason::Older, Some(span), _) => format!("older than {span}"),
        (CleanupReason::OverMaxBytes, _, Some(size)) => format!("over {size}"),
        (CleanupReason::Asked, ..) => "--all".to_owned(),
        (reason, ..) => reason.to_string(),
    }
}

/// Size in bytes, moment, session, artifact, path, reason; separated by tabs.
fn for_scripts(candidate: &CleanupCandidate, arguments: &CleanupArtifacts) -> String {
    let bytes = candidate.bytes.to_string();
    let columns = [
        bytes.as_str(),
        candidate.created_at.as_str(),
        candidate.session_id.as_str(),
        candidate.artifact_id.as_ref().map_or("-", |id| id.as_str()),
        &whole_line(&shown_path(&candidate.path)),
        &why(candidate, arguments),
    ];
    format!("{}\n", columns.join("\t"))
}

fn for_people(listed: &Listed<'_>, arguments: &CleanupArtifacts, width: Width, look: Look) -> String {
    let now = moment::now();
    let row = |candidate: &&CleanupCandidate| {
        let size = format!("{:>8}", readable(candidate.bytes));
        let session = listed.sessions.get(&candidate.session_id).cloned().unwrap_or_default();
        let path = whole_line(&below_home(&shown_path(&candidate.path)));
        ([size, session, moment::ago(&candidate.created_at, now), why(candidate, arguments)], path)
    };
    let rows: Vec<_> = listed.candidates.iter().map(row).collect();
    let mut columns = [0, 1, 2, 3].map(|at| widest(rows.iter().map(|(row, _)| row[at].as_str()), width));
    let room = |columns: &[usize]| {
        let taken = columns.iter().filter(|columns| **columns > 0).map(|columns| columns + GAP).sum();
        width.usable().saturating_sub(taken)
    };
    for gives_way in [2, 3] {
        if room(&columns) < PATH {
            columns[gives_way] = 0;
        }
    }
    let shown = |(row, path): &([String; 4], String)| {
        let mut line = Columns::new(width, look);
        for (text, columns) in row.iter().zip(columns).filter(|(_, columns)| *columns > 0) {
            line.add(text, columns, None);
        }
        // The end of a path says more than its beginning.
        line.add(&width.path_tail(path, line.room()), line.room(), None);
        line.line()
    };
    rows.iter().map(shown).collect()
}
