//! `soong-agent run`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_core::error::{BuildError, ErrorPayload, RuntimeError, StoreError};
use agent_core::event::EventStream;
use agent_core::event::{ChildAgentCreated, ToolDenied};
use agent_core::id::SessionId;
use agent_core::permission::path_from_text;
use agent_core::runtime::{Background, RunMode};
use agent_core::session::project_name;
use agent_core::{AgentRuntime, EventType, PermissionDecision, RunHandle, RuntimeEvent, StartOptions};
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::cli::RunArguments;
use crate::config::{key_is_a_word, key_not_hidden};
use crate::exit::{Exit, Failure, Outcome};
use crate::hint;
use crate::limits;
use crate::lines;
use crate::message::{self, Message};
use crate::output::{Colour, Output};
use crate::prompt::{self, Answer, Answered, Asker, Channel, Question};
use crate::recap;
use crate::shell;
use crate::signals::{Signals, survive_file_size_limit, watch_from_outside};
use crate::stored::{self, Which, opening};
use crate::tasks;
use crate::view::View;

/// What is said in the middle of a run.
const STORING: &str = "waiting for the session database: another program may have it locked, or its disk is slow";

/// How often the status line is drawn.
const TICK: Duration = Duration::from_millis(120);
/// How often it is looked at what is waited for, where there is none.
const SLOW_TICK: Duration = Duration::from_millis(500);
/// How long is waited for what goes on beside a run that is over (MEM-9).
const AFTERWARDS: Duration = Duration::from_secs(3);

/// What is going on then.
const REMEMBERING: &str = "finding out what to remember";
/// What is said when it takes too long.
const NOT_REMEMBERED: &str = "nothing is remembered yet: finding out what to remember takes more than 3 s; it is tried again after \
    this session's next run";

/// So many files with something wrong are named by a run.
const FILE_PROBLEMS: usize = 5;

/// What is said where a script has given something that nobody read (DEC-203).
const UNREAD: &str = "what is on stdin was not read to its end: there it is read for answers to questions only. `soong-agent run -` \
    reads a message from there; what needs nothing from it, as in a loop over lines: </dev/null";

pub(crate) fn run(mut arguments: RunArguments, output: &mut Output) -> Outcome {
    let session = arguments.session_id.as_deref().map(|id| Which::parse("--session-id", id)).transpose()?;
    let message = message::read(arguments.message)?;
    let runtime = limits::runtime()?;
    let outcome = runtime.block_on(async {
        survive_file_size_limit();
        watch_from_outside();
        if session == Some(Which::Last) && arguments.path.is_none() {
            arguments.path = stored::project_above().await;
            if let Some(project) = &arguments.path {
                output.note(&stored::lies_in(&project_name(project)));
            }
        }
        let mode = if arguments.orchestrator { RunMode::Orchestrator } else { RunMode::Normal };
        let started_by = started_by(arguments.path.as_deref(), mode);
        let (asker, questions) = Asker::channel();
        let channel = Channel::for_message(message.from_stdin);
        let debug = wants_raw_exchanges();
        let mut builder = AgentRuntime::builder().debug(debug).short_lived(true);
        // Where nobody can be asked, the configuration decides (PRM-11).
        if !matches!(channel, Channel::Nobody) {
            builder = builder.permission_callback(asker);
        }
        if let Some(path) = &arguments.path {
            builder = builder.project_dir(path);
        }
        let built = opening(builder.build(), output).await;
        let agent = built.map_err(|error| not_built(error, session.as_ref()))?;
        let session = Wanted { session, mode, project: arguments.path, started_by, debug };
        let left = drive(&agent, message, session, (channel, questions), output).await;
        if !matches!(left, Ok(Left::AtOnce(_))) {
            agent.close().await;
        }
        left.map(Left::exit)
    });
    // Commands that still run are killed as they are dropped here. A thread that still waits for an answer on stdin must
    // not hold up the end.
    runtime.shutdown_background();
    outcome
}

/// Whether a call was denied because there is nobody to ask.
fn nobody_was_asked(event: &RuntimeEvent) -> bool {
    let denied = event.read::<ToolDenied>().ok().and_then(|ToolDenied(end)| end.error);
    denied.is_some_and(|error| error.details.get("denied_by").is_some_and(|by| by == "no_callback"))
}

/// Whether the run keeps what travels to and from the model server (PRV-14). A variable, since `run` has the options it has.
fn wants_raw_exchanges() -> bool {
    std::env::var_os("SOONG_AGENT_DEBUG").is_some_and(|value| is_on(&value.to_string_lossy()))
}

/// A variable is off by what people write for that.
fn is_on(value: &str) -> bool {
    !["", "0", "false", "no", "off"].iter().any(|off| value.trim().eq_ignore_ascii_case(off))
}

/// What starts another run on the same project, in the same mode: a wrapper says what it is called itself.
fn started_by(path: Option<&Path>, mode: RunMode) -> String {
    if let Some(wrapper) = std::env::var("SOONG_AGENT_STARTED_BY").ok().filter(|words| !words.trim().is_empty()) {
        return wrapper;
    }
    let mut words = vec![OsStr::new("soong-agent"), OsStr::new("run")];
    if let Some(path) = path {
        words.extend([OsStr::new("--path"), path.as_os_str()]);
    }
    if mode == RunMode::Orchestrator {
        words.push(OsStr::new("--orchestrator"));
    }
    shell::typed(words)
}

/// How a run is left.
#[derive(Debug, Clone, Copy)]
enum Left {
    /// It has ended.
    Ended(Exit),
    /// The second Ctrl-C means now. What was committed is safe.
    AtOnce(Exit),
}

impl Left {
    fn exit(self) -> Exit {
        match self {
            Self::Ended(exit) | Self::AtOnce(exit) => exit,
        }
    }
}

/// What is to be run, but for the message.
struct Wanted {
    /// The session that is to be gone on with.
    session: Option<Which>,
    mode: RunMode,
    project: Option<PathBuf>,
    /// The words that go on with the session, but for its id.
    started_by: String,
    /// What travels to and from the model server is kept.
    debug: bool,
}

impl Wanted {
    /// The session's id, and a line about it.
    async fn find(&self, agent: &AgentRuntime) -> Result<(Option<SessionId>, Option<String>), Failure> {
        let Some(which) = &self.session else { return Ok((None, None)) };
        let archive = agent.archive();
        let id = which.clone().find(&archive, self.project.as_deref()).await?;
        let recap = recap::of(&archive, &id).await;
        Ok((Some(id), recap))
    }
}

/// What is needed cannot be opened. A session whose project was moved can be taken along.
fn not_built(error: BuildError, session: Option<&Which>) -> Failure {
    let is_gone = matches!(&error, BuildError::Project { source, .. } if source.kind() == std::io::ErrorKind::NotFound);
    let mut failure = Failure::from(error);
    if let Some(which) = session.filter(|_| is_gone) {
        failure.message.push_str(&hint::moved_project(which.id()));
    }
    failure
}

/// The session cannot be had: what can be done about that.
fn not_started(error: RuntimeError) -> Failure {
    let more = match &error {
        RuntimeError::Store(StoreError::SessionActive { .. }) => {
            ", or leave --session-id out and begin another session"
        }
        RuntimeError::OtherProject { cwd, .. } if !path_from_text(cwd).is_dir() => {
            "; its folder is gone: if it was moved, `soong-agent sessions move SESSION PATH` takes the session along"
        }
        _ => "",
    };
    let mut failure = Failure::from(error);
    failure.message.push_str(more);
    failure
}

/// The next event of a stream, and the stream.
fn next_of(mut stream: EventStream) -> BoxFuture<'static, (EventStream, Result<Option<RuntimeEvent>, StoreError>)> {
    async move {
        let event = stream.next().await;
        (stream, event)
    }
    .boxed()
}

async fn drive(
    agent: &AgentRuntime,
    message: Message,
    wanted: Wanted,
    (channel, questions): (Channel, mpsc::Receiver<Question>),
    output: &mut Output,
) -> Result<Left, Failure> {
    let signals = Signals::new().map_err(|error| Failure::failed(format!("cannot watch for Ctrl-C: {error}")))?;
    let (session_id, recap) = wanted.find(agent).await?;
    let start = agent.start(message.text, StartOptions { session_id, mode: Some(wanted.mode) });
    let run = opening(start, output).await.map_err(not_started)?;
    if let Some(recap) = recap {
        output.marked(recap::MARK, Colour::Dim, &recap);
    }
    let events = run.events(false).map_err(|error| Failure::failed(error.to_string()))?;
    let mut face = Face {
        view: View::new(output),
        run,
        channel,
        wanted,
        signals,
        questions,
        told_why_nobody_is_asked: false,
        told_what_files_are_wrong: false,
        told_of_the_store: false,
        cancelled_by: None,
        leaving: false,
        last: None,
    };
    face.watch(agent, events).await?;
    Ok(face.leave(agent).await)
}

/// A run and the person in front of it.
struct Face<'o> {
    view: View<'o>,
    run: RunHandle,
    channel: Channel,
    wanted: Wanted,
    signals: Signals,
    questions: mpsc::Receiver<Question>,
    /// It is said once.
    told_why_nobody_is_asked: bool,
    /// That as well.
    told_what_files_are_wrong: bool,
    /// The run waits for the store, and that was said.
    told_of_the_store: bool,
    cancelled_by: Option<u8>,
    /// The user cancelled twice.
    leaving: bool,
    /// The event that ended the loop.
    last: Option<RuntimeEvent>,
}

impl Face<'_> {
    /// Until the run has ended, or must be left.
    async fn watch(&mut self, agent: &AgentRuntime, mut events: EventStream) -> Result<(), Failure> {
        let is_live = self.view.output.style.live;
        let mut next = Instant::now();
        let mut children = FuturesUnordered::new();
        while !self.leaving {
            tokio::select! {
                biased;
                number = self.signals.next() => self.cancel(number),
                event = events.next() => match event {
                    Ok(Some(event)) => {
                        if event.event_type == EventType::ModelStarted {
                            self.say_what_files_are_wrong(agent);
                        }
                        children.extend(self.child_of(&event).map(next_of));
                        self.see(event);
                    }
                    Ok(None) => return Ok(()),
                    Err(error) => return Err(Failure::failed(format!("the run cannot be watched any further: {error}"))),
                },
                Some(question) = self.questions.recv() => self.ask(question).await,
                Some((stream, event)) = children.next() => match event {
                    Ok(Some(event)) => {
                        self.view.child_event(&event);
                        children.push(next_of(stream));
                    }
                    Ok(None) => {}
                    Err(error) => self.view.note(&format!("a child agent cannot be watched any further: {error}")),
                },
                () = tokio::time::sleep_until(next) => {
                    self.tick(is_live);
                    // Lines of children have nothing that moves but their seconds.
                    let moves = is_live && !self.view.has_children();
                    next = Instant::now() + if moves { TICK } else { SLOW_TICK };
                }
            }
        }
        Ok(())
    }

    /// The events of a child that begins, where its line is drawn.
    fn child_of(&mut self, event: &RuntimeEvent) -> Option<EventStream> {
        if event.event_type != EventType::ChildAgentCreated || !self.view.output.style.live {
            return None;
        }
        // One that cannot be read is told where it is shown.
        let created = event.read::<ChildAgentCreated>().ok()?;
        let stream = self.run.child_events(&created.child_run_id, false);
        stream.map_err(|error| self.view.note(&error.to_string())).ok()
    }

    /// Time has passed: what is waited for is said, each time once.
    fn tick(&mut self, is_live: bool) {
        let waits = self.run.waits_for_store().is_some_and(|waiting| waiting >= stored::SILENT);
        if waits && !self.told_of_the_store {
            self.view.note(STORING);
        }
        self.told_of_the_store = waits;
        self.view.say_if_silent();
        if is_live {
            self.view.tick();
        }
    }

    /// Before the first request, which is made of what could be read.
    fn say_what_files_are_wrong(&mut self, agent: &AgentRuntime) {
        if std::mem::replace(&mut self.told_what_files_are_wrong, true) {
            return;
        }
        for name in agent.keys_not_hidden() {
            self.view.note(&key_not_hidden(&name));
        }
        for name in agent.keys_that_are_words() {
            self.view.note(&key_is_a_word(&name));
        }
        let problems = agent.file_problems();
        for problem in problems.iter().take(FILE_PROBLEMS) {
            self.view.note(problem);
        }
        if let more @ 1.. = problems.len().saturating_sub(FILE_PROBLEMS) {
            self.view.note(&format!("{more} more files with something wrong: soong-agent config check"));
        }
    }

    fn see(&mut self, event: RuntimeEvent) {
        self.view.event(&event);
        if event.event_type == EventType::ToolDenied && nobody_was_asked(&event) && !self.told_why_nobody_is_asked {
            self.told_why_nobody_is_asked = true;
            self.view.note("there is no terminal to ask on; permissions.write_without_callback allows plain writes");
        }
        if matches!(event.event_type, EventType::LoopCompleted | EventType::LoopFailed | EventType::LoopAborted) {
            self.last = Some(event);
        }
    }

    async fn ask(&mut self, (request, mut answer): Question) {
        if answer.is_closed() {
            // Its agent has ended before it was its turn.
            return;
        }
        self.view.settle();
        if let Some(decision) = self.channel.never_asked() {
            // The run may have been cancelled meanwhile; then nobody waits for it.
            let _ = answer.send(decision);
            return;
        }
        self.channel.forget_typed_ahead();
        prompt::show(&request, self.view.output);
        let mut reading = match Answer::read(&self.channel) {
            Ok(reading) => reading,
            Err(error) => {
                self.view.note(&format!("the terminal cannot be read: {error}"));
                let _ = answer.send(PermissionDecision::unanswered("the terminal cannot be read"));
                return;
            }
        };
        let Answered { decision, note } = tokio::select! {
            biased;
            number = self.signals.next() => {
                // Ctrl-C at the prompt is a denial and the end of the run (CLI-06 c).
                self.view.output.ask("\n");
                return self.cancel(number);
            }
            () = answer.closed() => {
                self.view.output.ask("\n");
                self.view.note("no answer is needed any more: the agent that asked was stopped");
                return;
            }
            decision = reading.decision() => decision,
        };
        if decision.metadata.contains_key(PermissionDecision::UNANSWERED) {
            self.view.output.ask("\n");
        } else if !self.channel.is_seen() {
            // In a script's log what was answered would be missing.
            self.view.output.ask(&format!("{}\n", prompt::words(decision.decision)));
        }
        if let Some(note) = note {
            self.view.note(&note);
        }
        let _ = answer.send(decision);
    }

    /// The first signal cancels the run, the second leaves at once (CLI-4).
    fn cancel(&mut self, number: u8) {
        if self.cancelled_by.replace(number).is_some() {
            self.leaving = true;
            return;
        }
        self.view.note("stopping; once more quits at once");
        self.run.stop();
    }

    fn say_what_is_left(&mut self) {
        if self.channel.is_unread() {
            self.view.note(UNREAD);
        }
        let session = self.run.session_id();
        if self.wanted.mode == RunMode::Orchestrator {
            for line in tasks::still_open(self.wanted.project.as_deref(), session) {
                self.view.note(&line);
            }
        }
        if self.wanted.debug {
            self.view.where_exchanges_are(session);
        }
        self.view.how_to_go_on(session, &self.wanted.started_by);
    }

    /// Gives what goes on beside the run a moment; whether the user wants to leave at once instead.
    async fn afterwards(&mut self, agent: &AgentRuntime) -> Option<u8> {
        let Background { remembering, summarising } = agent.background();
        if !remembering && !summarising {
            return None;
        }
        self.view.waits_for(if remembering { REMEMBERING } else { lines::SUMMARISING });
        let mut work = std::pin::pin!(agent.background_work());
        let mut late = std::pin::pin!(tokio::time::sleep(AFTERWARDS));
        let mut ticks = tokio::time::interval(TICK);
        let (left_by, is_late) = loop {
            tokio::select! {
                biased;
                number = self.signals.next() => break (Some(number), false),
                () = &mut work => break (None, false),
                () = &mut late => break (None, true),
                _ = ticks.tick(), if self.view.output.style.live => self.view.tick(),
            }
        };
        self.view.waited();
        if is_late && agent.background().remembering {
            self.view.note(NOT_REMEMBERED);
        } else if remembering && left_by.is_none() {
            self.say_what_is_remembered(agent).await;
        }
        left_by
    }

    /// What came of looking for things to remember, if that is news.
    async fn say_what_is_remembered(&mut self, agent: &AgentRuntime) {
        // That the store cannot be read was said before, or will be.
        let Ok(Some(event)) = agent.last_extraction(self.run.session_id()).await else { return };
        let is_news = event.seq > self.last.as_ref().and_then(|last| last.seq);
        if let Some(line) = lines::remembered(&event).filter(|_| is_news) {
            self.view.note(&line);
        }
    }

    async fn leave(mut self, agent: &AgentRuntime) -> Left {
        let signal = self.cancelled_by.map(Exit::Signal);
        if let (true, Some(signal)) = (self.leaving, signal) {
            self.say_what_is_left();
            return Left::AtOnce(signal);
        }
        let result = self.run.wait().await;
        self.view.end(&result, self.last.as_ref());
        // What was moved away cannot be gone on with from here.
        let is_moved = |error: &ErrorPayload| error.details.get("kind").is_some_and(|kind| kind == "moved");
        if !result.error.as_ref().is_some_and(is_moved) {
            self.say_what_is_left();
        }
        let exit = signal.unwrap_or_else(|| Exit::of_run(&result));
        match (self.afterwards(agent).await, signal) {
            // The second one.
            (Some(_), Some(signal)) => Left::AtOnce(signal),
            // The run is done whatever becomes of the rest.
            _ => Left::Ended(exit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PRV-14: what people write for "off" is off.
    #[test]
    fn off_is_off() {
        for off in ["", " ", "0", "false", "FALSE", "no", "No", "off", "Off "] {
            assert!(!is_on(off), "{off:?}");
        }
        for on in ["1", "true", "yes", "on", "2"] {
            assert!(is_on(on), "{on:?}");
        }
    }
}
