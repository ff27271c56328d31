//! `soong-agent cleanup tasks`.

use agent_core::archive::{self, CleanupCandidate, CleanupReason, CleanupResult, TaskArchive, TaskCleanup};
use agent_core::config::Location;
use agent_core::error::ArchiveError;
use agent_core::text::quote_argv;

use crate::cli::CleanupTasks;
use crate::exit::{Exit, Outcome};
use crate::lines::{counted, whole_line};
use crate::moment;
use crate::output::{Columns, Look, Output, Width, widest};
use crate::size::readable;
use crate::stored::below_home;

pub(super) fn run(arguments: &CleanupTasks, output: &mut Output) -> Outcome {
    let location = match &arguments.path {
        Some(path) => Location::default().project_dir(path),
        None => Location::default(),
    };
    let tasks = archive::open_tasks(&location)?;
    let options = TaskCleanup {
        dry_run: !arguments.yes,
        include_failed: arguments.failed,
        include_cancelled: arguments.cancelled,
        older_than: arguments.older_than.as_ref().map(|span| span.before(moment::now())),
    };
    let result = tasks.cleanup(&options)?;
    let more = if result.dry_run && result.candidates.is_empty() { more(&tasks, &options)? } else { Vec::new() };
    Ok(report(&result, &more, arguments, output))
}

/// The options that would cover something, where what was asked for covers nothing.
fn more(tasks: &TaskArchive, options: &TaskCleanup) -> Result<Vec<&'static str>, ArchiveError> {
    let failed = TaskCleanup { include_failed: true, ..options.clone() };
    let cancelled = TaskCleanup { include_cancelled: true, ..options.clone() };
    let mut more = Vec::new();
    for (option, options) in [("--failed", failed), ("--cancelled", cancelled)] {
        if !tasks.cleanup(&options)?.candidates.is_empty() {
            more.push(option);
        }
    }
    Ok(more)
}

/// What may go, or is gone, and what stays and why.
fn report(result: &CleanupResult, more: &[&str], arguments: &CleanupTasks, output: &mut Output) -> Exit {
    let failed = |candidate: &CleanupCandidate| {
        result.failures.iter().any(|failure| failure.path.as_ref() == Some(&candidate.path))
    };
    let listed: Vec<_> = result.candidates.iter().filter(|candidate| result.dry_run || !failed(candidate)).collect();
    let text = list(&listed, output.page_look());
    output.page(&text);
    for kept in &result.kept {
        output.note(&format!("left alone: {}: {}", kept.path.display(), kept.why));
    }
    for failure in &result.failures {
        let path = failure.path.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default();
        let message = format!("{path}{}", failure.message);
        match result.dry_run {
            true => output.note(&format!("left alone: {message}")),
            false => output.error(&format!("not removed: {message}")),
        }
    }
    let is_folder = |candidate: &&&CleanupCandidate| candidate.reason == CleanupReason::EmptyFolder;
    let folders = listed.iter().filter(is_folder).count();
    let mut what = counted((listed.len() - folders) as u64, "log");
    if folders > 0 {
        what = format!("{what} and {}", counted(folders as u64, "empty folder"));
    }
    let size = readable(result.bytes);
    if !result.dry_run {
        output.note(&format!("removed {what}, {size}"));
    } else if listed.is_empty() {
        output.note(&nothing_found(more));
    } else {
        output.note(&format!("{what}, {size}; nothing was removed. To remove them: {}", command(arguments)));
    }
    if result.dry_run || result.failures.is_empty() { Exit::Completed } else { Exit::Failed }
}

fn nothing_found(more: &[&str]) -> String {
    match more {
        [] => "there is nothing to remove".to_owned(),
        [one] => format!("there is nothing to remove; {one} covers more"),
        several => format!("there is nothing to remove; {} cover more", several.join(" and ")),
    }
}

/// The words that do what was shown.
fn command(arguments: &CleanupTasks) -> String {
    let mut words = ["soong-agent", "cleanup", "tasks"].map(str::to_owned).to_vec();
    if let Some(path) = &arguments.path {
        words.extend(["--path".to_owned(), path.to_string_lossy().into_owned()]);
    }
    words.extend(arguments.failed.then(|| "--failed".to_owned()));
    words.extend(arguments.cancelled.then(|| "--cancelled".to_owned()));
    if let Some(span) = &arguments.older_than {
        words.extend(["--older-than".to_owned(), span.to_string()]);
    }
    words.push("--yes".to_owned());
    quote_argv(&words)
}

fn list(listed: &[&CleanupCandidate], look: Look) -> String {
    match look.width {
        Some(width) => for_people(listed, width, look),
        None => listed.iter().map(|candidate| for_scripts(candidate)).collect(),
    }
}

/// Size in bytes, moment of the end, session, path, reason; separated by tabs.
fn for_scripts(candidate: &CleanupCandidate) -> String {
    let columns = [
        &candidate.bytes.to_string(),
        candidate.created_at.as_str(),
        candidate.session_id.as_str(),
        &whole_line(&candidate.path.to_string_lossy()),
        &candidate.reason.to_string(),
    ];
    format!("{}\n", columns.join("\t"))
}

fn for_people(listed: &[&CleanupCandidate], width: Width, look: Look) -> String {
    let now = moment::now();
    let row = |candidate: &&CleanupCandidate| {
        let size = format!("{:>8}", readable(candidate.bytes));
        let path = whole_line(&below_home(&candidate.path.to_string_lossy()));
        ([size, moment::ago(&candidate.created_at, now), candidate.reason.to_string()], path)
    };
    let rows: Vec<_> = listed.iter().map(row).collect();
    let columns = [0, 1, 2].map(|at| widest(rows.iter().map(|(row, _)| row[at].as_str()), width));
    let shown = |(row, path): &([String; 3], String)| {
        let mut line = Columns::new(width, look);
        for (text, columns) in row.iter().zip(columns) {
            line.add(text, columns, None);
        }
        // The end of a path says more than its beginning.
        line.add(&width.path_tail(path, line.room()), line.room(), None);
        line.line()
    };
    rows.iter().map(shown).collect()
}
