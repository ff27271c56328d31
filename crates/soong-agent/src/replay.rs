//! `soong-agent replay`.

mod context;
mod place;
mod rows;
mod timeline;
mod which;

use std::ffi::OsStr;
use std::path::Path;

use agent_core::archive::{Archive, SessionListing, Standing, TimelineOptions};
use agent_core::id::{RunId, SessionId};
use agent_core::permission::path_from_text;
use agent_core::runtime::RunMode;
use agent_core::session::AgentInfo;

use crate::cli::ReplayArguments;
use crate::exit::{Exit, Failure, Outcome};
use crate::lines::{counted, one_line, whole_line};
use crate::moment;
use crate::output::{Look, Output};
use crate::shell;
use crate::standing;
use crate::stored::{self, REPAIR, Which, below_home, nothing_yet};
use context::{Contexts, Ending};
use timeline::Timeline;
use which::WhichRun;

pub(crate) fn run(arguments: ReplayArguments, output: &mut Output) -> Outcome {
    let which = Which::parse("SESSION", &arguments.session)?;
    let part = Part::of(&arguments)?;
    if arguments.path.is_some() && which != Which::Last {
        return Err(Failure::usage("--path says whose `last` is meant; leave it out where the session is named"));
    }
    let nothing = |path: &Path, _: &mut Output| Err(nothing_yet(path));
    stored::look(output, nothing, async |archive, output| {
        let session = which.clone().found(archive, arguments.path.as_deref(), output).await?;
        match &part {
            Part::Request(run, turn) => {
                let run = run.find(archive, &session).await?;
                request(archive, &session, &run, *turn, arguments.include_sensitive, output).await
            }
            Part::Run(run) => {
                let run = run.find(archive, &session).await?;
                shown(archive, &session, Some(&run), &arguments, output).await
            }
            Part::Session => shown(archive, &session, None, &arguments, output).await,
        }
    })
}

/// What of the session is wanted.
enum Part {
    Session,
    Run(WhichRun),
    /// What the model was sent in a turn of a run.
    Request(WhichRun, u32),
}

impl Part {
    fn of(arguments: &ReplayArguments) -> Result<Self, Failure> {
        match (&arguments.run, arguments.turn, &arguments.request) {
            (Some(run), Some(turn), _) => Ok(Self::Request(WhichRun::parse("--run", run)?, turn)),
            (Some(run), None, _) => Ok(Self::Run(WhichRun::parse("--run", run)?)),
            (None, Some(turn), _) => Ok(Self::Request(WhichRun::Last, turn)),
            (None, None, Some(request)) => {
                let wanted = || Failure::usage("--request: write a run and the number of its turn, as in run_…:2");
                let (run, turn) = request.rsplit_once(':').ok_or_else(wanted)?;
                Ok(Self::Request(WhichRun::parse("--request", run)?, turn.parse().map_err(|_| wanted())?))
            }
            (None, None, None) => Ok(Self::Session),
        }
    }
}

/// STO-11: what the model was sent, rebuilt.
async fn request(
    archive: &Archive,
    session: &SessionId,
    run: &RunId,
    turn: u32,
    include_sensitive: bool,
    output: &mut Output,
) -> Outcome {
    let inspection = archive.inspect_turn(run, turn, include_sensitive).await?;
    check_session(&inspection.run.session_id, session, run)?;
    let json = serde_json::to_string_pretty(&inspection.request);
    let json = json.map_err(|error| Failure::failed(format!("the request cannot be written as JSON: {error}")))?;
    output.page(&format!("{}\n", harmless(&json)));
    Ok(Exit::Completed)
}

fn check_session(own: &SessionId, session: &SessionId, run: &RunId) -> Result<(), Failure> {
    if own == session {
        return Ok(());
    }
    Err(Failure::usage(format!("{run} is a run of another session: soong-agent replay {own} --run {run}")))
}

/// The same JSON without characters that act on a terminal: outside of strings JSON has none, inside they may be escaped.
fn harmless(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                shown.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            other => shown.push(other),
        }
    }
    shown
}

async fn shown(
    archive: &Archive,
    session: &SessionId,
    run: Option<&RunId>,
    arguments: &ReplayArguments,
    output: &mut Output,
) -> Outcome {
    if arguments.context {
        return contexts(archive, session, run, arguments, output).await;
    }
    timeline(archive, session, run, arguments, output).await
}

/// CTX-1: what went into every request, page by page as a timeline.
async fn contexts(
    archive: &Archive,
    session: &SessionId,
    run: Option<&RunId>,
    arguments: &ReplayArguments,
    output: &mut Output,
) -> Outcome {
    let listing = archive.session(session).await?;
    let mut report = match run {
        Some(run) => archive.run_context(run, arguments.include_sensitive).await?,
        None => archive.session_context(session, arguments.include_sensitive).await?,
    };
    if let Some(run) = run {
        check_session(&report.session().session_id, session, run)?;
    }
    let mut contexts = Contexts::new(output.page_look());
    let page = header(&listing, output.page_look()) + &contexts.legend();
    output.page(&page);
    while let Some(entries) = report.next().await? {
        output.page(&contexts.page(&entries));
        if output.is_gone() {
            return Ok(Exit::Completed);
        }
    }
    output.page(&contexts.end(&ending(&listing, report.run().is_none_or(|run| !run.status.is_terminal()))));
    complete(contexts.is_damaged)
}

/// Page by page: the first is printed before the second is read.
async fn timeline(
    archive: &Archive,
    session: &SessionId,
    run: Option<&RunId>,
    arguments: &ReplayArguments,
    output: &mut Output,
) -> Outcome {
    let options = TimelineOptions { include_sensitive: arguments.include_sensitive, all_events: arguments.debug };
    let mut told = match run {
        Some(run) => archive.run_timeline(run, options).await?,
        None => archive.session_timeline(session, options).await?,
    };
    if let Some(run) = run {
        check_session(&told.session().session_id, session, run)?;
    }
    let cwd = &told.listing().summary.session.cwd;
    let mut timeline = Timeline::new(output.page_look(), cwd, how_to_go_on(told.listing()));
    let mut page = header(told.listing(), output.page_look());
    if let Some(run) = run {
        page.push_str(&place::of(archive, run, cwd, arguments.include_sensitive, output.page_look()).await?);
    }
    output.page(&page);
    while let Some(entries) = told.next().await? {
        output.page(&timeline.page(&entries));
        if output.is_gone() {
            return Ok(Exit::Completed);
        }
    }
    output.page(&timeline.end(session));
    let look = output.page_look();
    if arguments.debug {
        output.page(&told.internal().iter().map(|agent| child(agent, look)).collect::<String>());
    }
    complete(timeline.is_damaged)
}

/// What was shown is all there is, or not.
fn complete(is_damaged: bool) -> Outcome {
    if is_damaged {
        return Err(Failure::failed(format!("some of it cannot be read, as marked with `damage`; {REPAIR}")));
    }
    Ok(Exit::Completed)
}

fn header(listing: &SessionListing, look: Look) -> String {
    let session = &listing.summary.session;
    let mut runs = counted(listing.summary.runs, "run");
    match (&listing.standing, &listing.owner) {
        (Standing::Interrupted, _) => runs.push_str("; the last one was interrupted"),
        (_, Some(owner)) => runs.push_str(&format!("; in use by {owner}")),
        _ => {}
    }
    if let Some(question) = standing::question(listing) {
        runs.push_str(&format!("; waits for an answer: {question}"));
    }
    let between = moment::between(&session.created_at, &session.updated_at);
    let ago = moment::ago(&session.updated_at, moment::now());
    let facts = [
        ("project", whole_line(&below_home(&session.cwd))),
        ("time   ", format!("{between} ({ago})")),
        ("runs   ", one_line(&runs)),
    ];
    let id = session.session_id.to_string();
    let mut text = String::new();
    // An id has a row of its own where it would be broken.
    let facts = facts.iter().map(|(label, fact)| (format!("{label} "), "        ", fact));
    for (first, rest, fact) in std::iter::once(("session ".to_owned(), "  ", &id)).chain(facts) {
        for row in look.rows(&first, rest, fact) {
            text.push_str(&row);
            text.push('\n');
        }
    }
    text
}

/// What a run is that has no end in the report.
fn ending(listing: &SessionListing, open: bool) -> Ending {
    match (&listing.standing, open) {
        (_, false) => Ending::Nothing,
        (Standing::Running | Standing::Queued, true) => Ending::AtWork,
        (_, true) => Ending::Interrupted(how_to_go_on(listing)),
    }
}

/// The words that do, from the current folder.
fn how_to_go_on(listing: &SessionListing) -> String {
    let session = &listing.summary.session;
    let project = path_from_text(&session.cwd);
    if !project.is_dir() {
        let folder = whole_line(&below_home(&session.cwd));
        return format!("it cannot be gone on with, because its project folder {folder} is gone");
    }
    let mut words = vec![OsStr::new("soong-agent"), OsStr::new("run")];
    if stored::project_folder(None).ok().as_ref() != Some(&session.cwd) {
        words.extend([OsStr::new("--path"), project.as_os_str()]);
    }
    if listing.mode == Some(RunMode::Orchestrator) {
        words.push(OsStr::new("--orchestrator"));
    }
    words.extend([OsStr::new("--session-id"), OsStr::new(session.session_id.as_str())]);
    format!("go on with: {} \"…\"", shell::typed(words))
}

/// An agent that core made for itself, in a line.
fn child(agent: &AgentInfo, look: Look) -> String {
    let line = format!("{} ({}): {}", agent.agent_id, agent.agent_type.as_str(), agent.status.as_str());
    let rows = look.rows("child   ", "  ", &line);
    rows.iter().fold("\n".to_owned(), |text, row| text + row + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CLI-01: JSON that is printed on a terminal says the same and does nothing.
    #[test]
    fn json_is_harmless() {
        let odd = "a\u{7f}\u{9b}31m\u{202e}\u{2028}é中\u{1b}\n";
        let json = serde_json::to_string(odd).unwrap();
        let shown = harmless(&json);
        assert!(shown.chars().all(|c| !c.is_control() && !('\u{2028}'..='\u{202e}').contains(&c)), "{shown:?}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), odd);
    }
}
