//! `soong-agent cleanup artifacts|session`.

use agent_core::{
    Archive, ArtifactCleanup, CleanupCandidate, CleanupFailure, CleanupResult, DeletedSession, RuntimeError, SessionId,
    StoreError, quote_argv,
};

use crate::Outcome;
use crate::cli::{CleanupArtifacts, CleanupCommand};
use crate::exit::{Exit, Failure};
use crate::lines::{counted, one_line};
use crate::moment;
use crate::output::{Columns, Look, Output, Width, widest};
use crate::size::readable;
use crate::stored::{self, below_home, nothing_yet};

pub(crate) fn run(command: CleanupCommand, output: &mut Output) -> Outcome {
    match command {
        CleanupCommand::Artifacts(arguments) => artifacts(&arguments, output),
        CleanupCommand::Session { session, yes } => {
            let id = stored::session_id("SESSION", &session)?;
            let nothing = |path: &std::path::Path, _: &mut Output| Err(nothing_yet(path));
            stored::look(output, nothing, async |archive, output| match yes {
                true => remove_session(archive, &id, output).await,
                false => show_session(archive, &id, output).await,
            })
        }
    }
}

fn artifacts(arguments: &CleanupArtifacts, output: &mut Output) -> Outcome {
    let session_id = arguments.session.as_deref().map(|id| stored::session_id("--session", id)).transpose()?;
    let nothing = |path: &std::path::Path, output: &mut Output| {
        if arguments.session.is_some() {
            return Err(nothing_yet(path));
        }
        output.note("there is nothing to remove: nothing has been stored yet");
        Ok(Exit::Completed)
    };
    let options = ArtifactCleanup {
        session_id,
        dry_run: !arguments.yes,
        include_all: arguments.all,
        older_than: arguments.older_than.as_ref().map(|span| span.before(moment::now())),
        max_bytes: arguments.max_bytes.as_ref().map(|size| size.bytes),
    };
    stored::look(output, nothing, async |archive, output| {
        let result = archive.cleanup_artifacts(&options).await?;
        Ok(report(&result, arguments, output))
    })
}

/// What may go, or is gone, and what could not be removed.
fn report(result: &CleanupResult, arguments: &CleanupArtifacts, output: &mut Output) -> Exit {
    let removed =
        |candidate: &&CleanupCandidate| result.dry_run || !result.failures.iter().any(|it| concerns(it, candidate));
    let listed: Vec<_> = result.candidates.iter().filter(removed).collect();
    let text = list(&listed, output.page_look());
    output.page(&text);
    for failure in &result.failures {
        let path = failure.path.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default();
        let message = format!("{path}{}", failure.message);
        match result.dry_run {
            true => output.note(&format!("left alone: {message}")),
            false => output.error(&format!("not removed: {message}")),
        }
    }
    let files = counted(listed.len() as u64, "file");
    let size = readable(result.bytes);
    if !result.dry_run {
        output.note(&format!("removed {files}, {size}"));
    } else if listed.is_empty() {
        output.note(nothing_found(arguments));
    } else {
        output.note(&format!("{files}, {size}; nothing was removed. To remove them: {}", command(arguments)));
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

/// The words that do what was shown.
fn command(arguments: &CleanupArtifacts) -> String {
    let mut words = vec!["soong-agent".to_owned(), "cleanup".to_owned(), "artifacts".to_owned()];
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), value]);
        }
    };
    option("--session", arguments.session.clone());
    option("--older-than", arguments.older_than.as_ref().map(ToString::to_string));
    option("--max-bytes", arguments.max_bytes.as_ref().map(ToString::to_string));
    words.extend(arguments.all.then(|| "--all".to_owned()));
    words.push("--yes".to_owned());
    quote_argv(&words)
}

fn list(candidates: &[&CleanupCandidate], look: Look) -> String {
    match look.width {
        Some(width) => for_people(candidates, width, look),
        None => candidates.iter().map(|candidate| for_scripts(candidate)).collect(),
    }
}

/// Size in bytes, moment, session, artifact, path, reason; separated by tabs.
fn for_scripts(candidate: &CleanupCandidate) -> String {
    let bytes = candidate.bytes.to_string();
    let columns = [
        bytes.as_str(),
        candidate.created_at.as_str(),
        candidate.session_id.as_str(),
        candidate.artifact_id.as_ref().map_or("-", |id| id.as_str()),
        &one_line(&candidate.path.to_string_lossy()),
        &candidate.reason.to_string(),
    ];
    format!("{}\n", columns.join("\t"))
}

fn for_people(candidates: &[&CleanupCandidate], width: Width, look: Look) -> String {
    let now = moment::now();
    let rows: Vec<_> = candidates
        .iter()
        .map(|candidate| {
            let path = one_line(&below_home(&candidate.path.to_string_lossy()));
            let age = moment::ago(&candidate.created_at, now);
            [format!("{:>8}", readable(candidate.bytes)), age, candidate.reason.to_string(), path]
        })
        .collect();
    let of = |column: usize| widest(rows.iter().map(|row| row[column].as_str()), width);
    let columns = [of(0), of(1), of(2)];
    rows.iter()
        .map(|row| {
            let mut line = Columns::new(width, look);
            row.iter().zip(columns).for_each(|(text, columns)| line.add(text, columns, None));
            // The end of a path says more than its beginning.
            line.add(&width.tail(&row[3], line.room()), line.room(), None);
            line.line()
        })
        .collect()
}

/// What would go with a session.
async fn show_session(archive: &Archive, id: &SessionId, output: &mut Output) -> Outcome {
    let listing = archive.session(id).await?;
    if let Some(owner) = listing.owner {
        let in_use = StoreError::SessionActive { session_id: id.clone(), owner: Some(owner) };
        return Err(RuntimeError::Store(in_use).into());
    }
    let (mut events, mut nodes) = (0, 0);
    let mut replay = archive.replay_session(id, None, None, true).await?;
    while let Some(page) = replay.next().await? {
        events += page.events.len() as u64;
        nodes += page.nodes.len() as u64;
    }
    let all = ArtifactCleanup { session_id: Some(id.clone()), include_all: true, ..ArtifactCleanup::default() };
    let files = archive.cleanup_artifacts(&all).await?;
    let went =
        Went { runs: listing.summary.runs, nodes, events, files: files.candidates.len() as u64, bytes: files.bytes };
    output.page(&went.line(id));
    let words = ["soong-agent", "cleanup", "session", id.as_str(), "--yes"];
    output.note(&format!("nothing was removed. To remove it: {}", words.join(" ")));
    Ok(Exit::Completed)
}

async fn remove_session(archive: &Archive, id: &SessionId, output: &mut Output) -> Outcome {
    let DeletedSession { nodes, events, runs, artifacts, bytes, failures, .. } = archive.delete_session(id).await?;
    output.page(&Went { runs, nodes, events, files: artifacts, bytes }.line(id));
    for failure in &failures {
        output.error(&format!("not removed: {}: {}", failure.path.display(), failure.message));
    }
    if !failures.is_empty() {
        let left = format!("the session is gone, but {} could not be removed", counted(failures.len() as u64, "file"));
        return Err(Failure::failed(format!("{left}: remove what is named above by hand")));
    }
    output.note("removed");
    Ok(Exit::Completed)
}

/// What goes with a session.
struct Went {
    runs: u64,
    nodes: u64,
    events: u64,
    files: u64,
    bytes: u64,
}

impl Went {
    fn line(&self, id: &SessionId) -> String {
        let Self { runs, nodes, events, files, bytes } = self;
        let (runs, nodes, events) = (counted(*runs, "run"), counted(*nodes, "message"), counted(*events, "event"));
        format!("{id}: {runs}, {nodes}, {events}, {}, {}\n", counted(*files, "file"), readable(*bytes))
    }
}
