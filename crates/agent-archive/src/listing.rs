//! Sessions as they stand in lists.

use agent_protocol::{
    ContentBlock, EventType, Node, NodeId, Role, RunMode, RunStatus, RuntimeEvent, SessionId, Timestamp,
};
use agent_redact::SecretPatterns;
use agent_store::{DamagedSession, Owner, RunInfo, SearchHit, SessionFilter, SessionSummary};
use serde::Serialize;
use serde_json::Value;

use crate::archive::{Archive, no_session};
use crate::error::ArchiveError;
use crate::screen;
use crate::stored;

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionListing {
    /// What is stored of it.
    pub summary: SessionSummary,
    /// Who owns it at this moment; nobody where no process has it open.
    pub owner: Option<Owner>,
    /// What the last run's status means now.
    pub standing: Standing,
    /// How the last run works or worked; none where there is no run. To go on in the same way takes the same mode.
    pub mode: Option<RunMode>,
    /// The question to a person that the run waits for, as its `permission_requested` event tells it.
    pub question: Option<RuntimeEvent>,
}

/// A session that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionHit {
    /// The session, as it stands in lists.
    pub listing: SessionListing,
    /// The node that has most of the words, the newest of several.
    pub node_id: NodeId,
    /// Who said it.
    pub role: Role,
    /// When it was stored.
    pub created_at: Timestamp,
    /// The text around the first word found, in one line, at most 200 characters.
    pub excerpt: String,
    /// How many nodes of the session have one of the words.
    pub nodes: u64,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundSessions {
    /// The sessions, the one used last first.
    pub hits: Vec<Result<SessionHit, DamagedSession>>,
    /// Sessions that could not be searched to their end, since something of them cannot be read. The same for every page.
    pub unsearched: Vec<DamagedSession>,
}

/// What the status of a session's last run means now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It has no run.
    Empty,
    /// The run is at work.
    Running,
    /// The run waits for an earlier one.
    Queued,
    /// The run's process ended before the run did.
    Interrupted,
    /// The run has ended.
    Ended(RunStatus),
}

/// Characters of a first message. The store hands out far more, so that secrets are seen whole before it is cut.
const FIRST_MESSAGE: usize = 400;
/// Behind how many characters the store cuts it.
const STORED_MESSAGE: usize = 4000;
/// Stands where it was cut.
const CUT: char = '…';

impl Archive {
    /// At most `limit` sessions after the first `offset`, the one used last first: whose run began or ended last. One of which
    /// something cannot be read has its place and counts; the others are shown.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn list_sessions(
        &self,
        filter: &SessionFilter,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<Result<SessionListing, DamagedSession>>, ArchiveError> {
        let found = self.told(self.archive.list_sessions(filter, limit, offset).await)?;
        let mut listings = Vec::with_capacity(found.len());
        for summary in found {
            listings.push(match summary {
                Ok(summary) => {
                    let id = summary.session.session_id.clone();
                    unless_damaged(self.listing(summary).await, &id)?
                }
                Err(damaged) => Err(self.screen.damaged_session(damaged)),
            });
        }
        Ok(listings)
    }

    /// At most `limit` ids of sessions that begin with `prefix`; one that is the prefix itself comes first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn sessions_beginning(&self, prefix: &str, limit: u32) -> Result<Vec<SessionId>, ArchiveError> {
        self.told(self.archive.sessions_beginning(prefix, limit).await)
    }

    /// At most `limit` sessions in which every word occurs, after the first `offset`. A word that ends with `*` stands for
    /// all words that begin so. One of which something cannot be read has its place and counts.
    ///
    /// # Errors
    /// If there is no word in `words`, or the store cannot be read.
    pub async fn search_sessions(
        &self,
        words: &str,
        filter: &SessionFilter,
        limit: u32,
        offset: u32,
    ) -> Result<FoundSessions, ArchiveError> {
        let found = self.told(self.archive.search(words, filter, limit, offset).await)?;
        let mut hits = Vec::with_capacity(found.hits.len());
        for hit in found.hits {
            match hit {
                Ok(hit) => {
                    let id = hit.summary.session.session_id.clone();
                    hits.extend(unless_damaged(self.show_hit(hit).await, &id)?.transpose());
                }
                Err(damaged) => hits.push(Err(self.screen.damaged_session(damaged))),
            }
        }
        let unsearched = found.unsearched.into_iter().map(|damaged| self.screen.damaged_session(damaged)).collect();
        Ok(FoundSessions { hits, unsearched })
    }

    /// One session, as it stands in a list.
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub async fn session(&self, id: &SessionId) -> Result<SessionListing, ArchiveError> {
        let summary = self.told(self.archive.session_summary(id).await)?;
        self.listing(summary.ok_or_else(|| no_session(id))?).await
    }

    pub(super) async fn listing(&self, mut summary: SessionSummary) -> Result<SessionListing, ArchiveError> {
        let owner = self.told(self.archive.owner(&summary.session.session_id).await)?;
        let standing = self.standing(&mut summary.last_run, owner.is_some()).await?;
        let question = match (&summary.last_run, standing) {
            (Some(run), Standing::Running) => self.open_question(run).await?,
            _ => None,
        };
        let mode = summary.last_run.as_ref().map(stored::mode_of).transpose();
        let mode = self.told(mode)?;
        self.show_summary(&mut summary)?;
        Ok(SessionListing { summary, owner, standing, mode, question })
    }

    /// People are asked one question at a time, so only the last one can be open.
    async fn open_question(&self, run: &RunInfo) -> Result<Option<RuntimeEvent>, ArchiveError> {
        let last = self.told(self.archive.last_question(&run.run_id).await)?;
        let Some(mut asked) = last.filter(|event| event.event_type == EventType::PermissionRequested) else {
            return Ok(None);
        };
        screen::event(self.screen.patterns()?, &mut asked);
        Ok(Some(asked))
    }

    /// A run that is not over while nobody owns its session was interrupted: only its own process goes on with it. Between
    /// the look at the run and the look at the owner it may have ended, so it is looked at again.
    async fn standing(&self, run: &mut Option<RunInfo>, owned: bool) -> Result<Standing, ArchiveError> {
        let Some(last) = run else { return Ok(Standing::Empty) };
        if !last.status.is_terminal()
            && !owned
            && let Some(now) = self.told(self.store.run(&last.run_id).await)?
        {
            *last = now;
        }
        Ok(meaning(last, owned))
    }

    fn show_summary(&self, summary: &mut SessionSummary) -> Result<(), ArchiveError> {
        let SessionSummary { session, last_run, first_message, .. } = summary;
        let silent = |run: &RunInfo| run.error.is_none() && run.metadata.is_empty() && run.usage.raw.is_empty();
        if session.metadata.is_empty() && last_run.as_ref().is_none_or(silent) && first_message.is_none() {
            return Ok(());
        }
        let patterns = self.screen.patterns()?;
        screen::session(patterns, session);
        if let Some(run) = last_run {
            screen::run(patterns, run);
        }
        if let Some(text) = first_message {
            *text = first_words(patterns, text);
        }
        Ok(())
    }

    /// A piece cut out of a text may hold half a secret, or one whose name stands outside of it: what the whole node would
    /// not show is not shown in the piece either. None if the session has been deleted meanwhile.
    pub(super) async fn show_hit(&self, hit: SearchHit) -> Result<Option<SessionHit>, ArchiveError> {
        let SearchHit { summary, node_id, role, created_at, mut excerpt, nodes } = hit;
        let Some(mut node) = self.told(self.store.node(&node_id).await)? else { return Ok(None) };
        let patterns = self.screen.patterns()?;
        screen::node(patterns, &mut node);
        let shown = patterns.redact(&excerpt);
        if shown.hit || node.metadata.contains_key("redacted") {
            excerpt = only_what_is_in(&shown.text, &words_of(&node));
        }
        let listing = self.listing(summary).await?;
        Ok(Some(SessionHit { listing, node_id, role, created_at, excerpt, nodes }))
    }
}

/// What was read of a session, or why it cannot be. Any other failure is one of the whole.
fn unless_damaged<T>(
    read: Result<T, ArchiveError>,
    session: &SessionId,
) -> Result<Result<T, DamagedSession>, ArchiveError> {
    match read {
        Ok(value) => Ok(Ok(value)),
        Err(ArchiveError::Store(error)) if error.is_damage() => {
            Ok(Err(DamagedSession { session: session.to_string(), error }))
        }
        Err(error) => Err(error),
    }
}

fn meaning(run: &RunInfo, owned: bool) -> Standing {
    match run.status {
        RunStatus::Queued if owned => Standing::Queued,
        RunStatus::Pending | RunStatus::Running if owned => Standing::Running,
        RunStatus::Queued | RunStatus::Pending | RunStatus::Running => Standing::Interrupted,
        RunStatus::Failed if was_interrupted(run) => Standing::Interrupted,
        status @ (RunStatus::Completed | RunStatus::Failed | RunStatus::Aborted | RunStatus::Cancelled) => {
            Standing::Ended(status)
        }
    }
}

/// Whether a later owner of the session ended it in its process's place (RUN-20).
pub(crate) fn was_interrupted(run: &RunInfo) -> bool {
    run.error.as_ref().and_then(|error| error.details.get("kind")) == Some(&Value::from("interrupted"))
}

/// What is shown of a first message.
fn first_words(patterns: &SecretPatterns, text: &str) -> String {
    let kept = text.strip_suffix(CUT).filter(|kept| kept.chars().count() == STORED_MESSAGE);
    let mut shown = patterns.redact(kept.unwrap_or(text)).text.into_owned();
    if kept.is_some() {
        drop_broken_word(&mut shown);
        shown.push(CUT);
    }
    if let Some((end, _)) = shown.char_indices().nth(FIRST_MESSAGE) {
        shown.truncate(end);
        shown.push(CUT);
    }
    shown
}

/// Half a token looks like nothing in particular.
fn drop_broken_word(text: &mut String) {
    let in_token = |c: char| c.is_ascii_alphanumeric() || "_-+/=.~%".contains(c);
    let kept = text.trim_end_matches(in_token).len();
    text.truncate(kept);
}

/// The words of `piece` that `whole` has too.
fn only_what_is_in(piece: &str, whole: &str) -> String {
    let shown = |word: &&str| whole.contains(word.trim_matches('…'));
    let words: Vec<_> = piece.split(' ').map(|word| if shown(&word) { word } else { "[redacted]" }).collect();
    words.join(" ")
}

/// All text of a node, one piece a line.
fn words_of(node: &Node) -> String {
    let mut words = String::new();
    node.content.iter().for_each(|block| add_block(block, &mut words));
    words
}

fn add_block(block: &ContentBlock, words: &mut String) {
    let mut add = |text: &str| {
        words.push_str(text);
        words.push('\n');
    };
    match block {
        ContentBlock::Text(text) => add(&text.text),
        ContentBlock::Json(json) => {
            json.summary.iter().for_each(|summary| add(summary));
            json.data.iter().for_each(|data| add_value(data, words));
        }
        ContentBlock::ToolCall(call) => {
            add(&call.name);
            call.arguments.iter().for_each(|(name, value)| add_field(name, value, words));
        }
        ContentBlock::ToolResult(result) => {
            result.error.iter().for_each(|error| add(&error.message));
            result.content.iter().for_each(|inner| add_block(inner, words));
        }
        ContentBlock::ArtifactRef(artifact) => artifact.summary.iter().for_each(|summary| add(summary)),
    }
}

fn add_field(name: &str, value: &Value, words: &mut String) {
    words.push_str(name);
    words.push('\n');
    add_value(value, words);
}

fn add_value(value: &Value, words: &mut String) {
    match value {
        Value::String(text) => words.push_str(text),
        Value::Array(items) => items.iter().for_each(|item| add_value(item, words)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| add_field(name, field, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => words.push_str(&value.to_string()),
    }
    words.push('\n');
}

#[cfg(test)]
mod tests;
