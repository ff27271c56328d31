//! One look at a session, and what it leads to: the backlog, the question, the files, the events (MEM-2, MEM-6, MEM-10).

use std::sync::Arc;

use agent_engine::TokenCounter;
use agent_library::AssetId;
use agent_library::memory::{Applied, MemoryId};
use agent_protocol::{
    ErrorCode, ErrorPayload, EventDraft, EventType, Level, MemoryExtractionCompleted, MemoryExtractionFailed,
    MemoryExtractionStarted, Object, Timestamp, Usage,
};
use agent_redact::within::in_object;
use agent_store::{Commit, StoreError, Write};
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::answer;
use super::apply::{Decided, apply};
use super::ask::system_text;
use super::batch::{Batch, Source, Waiting};
use super::memories::in_words;
use super::place::{Inner, Place};
use super::prompt::{Known, told};
use super::schedule::Round;
use super::trigger::{Backlog, Reason, UserMessages};
use crate::owned::{Hold, OwnedSession};

/// The session was given up meanwhile, or its store refuses. Nothing can be said about it any more.
struct Gone;

impl From<StoreError> for Gone {
    fn from(_: StoreError) -> Self {
        Self
    }
}

/// What a look found.
struct Look {
    cursor: u64,
    new: UserMessages,
    reason: Option<Reason>,
}

/// How a job ended.
enum Ended {
    Done,
    /// Somebody else changed a memory that was to be changed.
    Conflict,
    Failed,
}

impl Inner {
    /// Looks, and does what is to be done.
    pub(super) async fn round(&self, place: &Place, quiet: bool) -> Round {
        if self.stop.is_cancelled() {
            return Round::Rest;
        }
        let Ok(look) = self.look(place, quiet).await else { return Round::Rest };
        let last = look.new.last_node_seq;
        let Some(reason) = look.reason else { return self.wait_or_rest(place, &look) };
        let one_at_a_time = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Round::Rest,
            held = self.home.lock() => held,
        };
        let Ok(ended) = self.job(place, &look, reason).await else { return Round::Rest };
        drop(one_at_a_time);
        let mut schedules = self.schedules();
        let tried = &mut schedules.entry(place.session_id.clone()).or_default().tried;
        match ended {
            Ended::Done => {
                *tried = Default::default();
                return Round::More;
            }
            Ended::Conflict if tried.conflicted(last, reason) => return Round::More,
            Ended::Conflict => {}
            Ended::Failed => tried.failed(last, reason),
        }
        drop(schedules);
        self.wait_or_rest(place, &look)
    }

    /// Whether the clock has something to wait for.
    fn wait_or_rest(&self, place: &Place, look: &Look) -> Round {
        let schedules = self.schedules();
        let tried = schedules.get(&place.session_id).map(|schedule| &schedule.tried);
        let may = tried.is_none_or(|tried| tried.allows(look.new.last_node_seq, Reason::Idle));
        if look.new.count > 0 && may { Round::Wait } else { Round::Rest }
    }

    async fn look(&self, place: &Place, quiet: bool) -> Result<Look, Gone> {
        let cursor = match self.cursor(place).await? {
            Ok(cursor) => cursor,
            Err(error) => {
                self.fail(place, MemoryExtractionFailed::new(None, error)).await?;
                return Err(Gone);
            }
        };
        let Waiting { new, wish } = self.source(place).waiting(cursor, self.memory.settings().every_messages).await?;
        let reason = {
            let mut schedules = self.schedules();
            let tried = &schedules.entry(place.session_id.clone()).or_default().tried;
            Backlog { new, wish, quiet }.reason(self.memory.settings(), tried)
        };
        Ok(Look { cursor, new, reason })
    }

    /// The place up to which everything was looked at.
    async fn cursor(&self, place: &Place) -> Result<Result<u64, ErrorPayload>, Gone> {
        let last = self.store.last_event(&place.session_id, EventType::MemoryExtractionCompleted).await?;
        let Some(event) = last else { return Ok(Ok(0)) };
        let completed = event.read::<MemoryExtractionCompleted>();
        Ok(completed
            .map(|completed| completed.scan_cursor)
            .map_err(|damaged| ErrorPayload::new(ErrorCode::StorageError, damaged.to_string())))
    }

    fn source<'a>(&'a self, place: &'a Place) -> Source<'a> {
        Source {
            store: &*self.store,
            session_id: &place.session_id,
            agent_id: &place.agent_id,
            patterns: &self.patterns,
        }
    }

    async fn job(&self, place: &Place, look: &Look, reason: Reason) -> Result<Ended, Gone> {
        let made = match self.prepare(place, look.cursor).await? {
            Ok(prepared) => self.make(place, look, reason, prepared).await?,
            Err(error) => Err(error),
        };
        match made {
            Ok(ended) => Ok(ended),
            Err(error) => {
                self.fail(place, MemoryExtractionFailed::new(Some(reason.told()), error)).await?;
                Ok(Ended::Failed)
            }
        }
    }

    /// What the model is to be shown.
    async fn prepare(&self, place: &Place, cursor: u64) -> Result<Result<Prepared, ErrorPayload>, Gone> {
        let system = system_text(AssetId::MemoryExtract, &[]);
        let room = self.memory.extract().room(&system);
        if room < LEAST_ROOM {
            return Ok(Err(no_room(self.memory.extract().context_window)));
        }
        let listing = match self.memory.listing().await {
            Ok(listing) => listing,
            Err(why) => return Ok(Err(write_failed(why))),
        };
        let known = Known::new(&listing, self.memory.project(), room / 3);
        let left = room.saturating_sub(known.tokens + TokenCounter.text(&told(&Known::default(), &Batch::default())));
        let batch = self.source(place).batch(cursor, left).await?;
        Ok(Ok(Prepared { system, known, batch }))
    }

    async fn make(
        &self,
        place: &Place,
        look: &Look,
        reason: Reason,
        prepared: Prepared,
    ) -> Result<Result<Ended, ErrorPayload>, Gone> {
        let Prepared { system, known, batch } = prepared;
        let started = MemoryExtractionStarted {
            reason: reason.told(),
            messages: batch.said.len() as u64,
            messages_waiting: look.new.count,
            model: self.memory.extract().settings.name.clone(),
        };
        let now = self.commit(place, EventDraft::of(started)).await?;
        let (text, usage) = match batch.said.is_empty() {
            // Nothing but messages without a word: there is nothing to ask.
            true => ("{\"decisions\":[]}".to_owned(), None),
            false => {
                let mut told = told(&known, &batch);
                self.redactor.text(&mut told);
                let asked = self.memory.extract().ask(system, told, Object::new(), self.stop.child_token()).await;
                let reply = match asked {
                    Ok(reply) => reply,
                    Err(unanswered) => return Ok(Err(unanswered.error)),
                };
                (reply.text().into_owned(), Some(reply.usage))
            }
        };
        let decisions = match answer::decisions(&text) {
            Ok(decisions) => decisions,
            Err(why) => return Ok(Err(write_failed(why))),
        };
        // Held until it is written down what was written: who gives the session up waits for that.
        let owned = place.owned.upgrade().ok_or(Gone)?;
        let hold = owned.hold()?;
        let decided = Decided {
            decisions,
            based: known.based,
            session_id: place.session_id.to_string(),
            node_ids: batch.said.iter().map(|said| said.node_id.clone()).collect(),
            now: now.as_str().to_owned(),
            rand: random(),
        };
        let applied = match self.apply(decided).await {
            Ok(applied) => applied,
            Err(error) => return Ok(Err(error)),
        };
        let completed = completed(&applied, reason, batch.said.len(), batch.cursor.max(look.cursor), usage);
        if !applied.is_complete() {
            let (ended, error) = match applied.conflicted.is_empty() {
                true => (Ended::Failed, misplaced(&applied)),
                false => (Ended::Conflict, changed_meanwhile(&applied)),
            };
            let failed = MemoryExtractionFailed::of(completed, error);
            self.commit_under(&hold, place, failed_event(failed)).await?;
            return Ok(Ok(ended));
        }
        self.commit_under(&hold, place, EventDraft::of(completed)).await?;
        Ok(Ok(Ended::Done))
    }

    async fn apply(&self, decided: Decided) -> Result<Applied, ErrorPayload> {
        let (memory, patterns, secrets) = (self.memory.clone(), self.patterns.clone(), self.redactor.secrets());
        let is_secret = move |text: &str| patterns.redact(text).hit || secrets.redact(text).hit;
        let write = spawn_blocking(move || apply(&memory, decided, is_secret));
        let broke_off =
            |error: tokio::task::JoinError| write_failed(format!("writing broke off: {}", in_words(&error)));
        write.await.unwrap_or_else(|error| Err(broke_off(error)))
    }

    async fn fail(&self, place: &Place, failed: MemoryExtractionFailed) -> Result<(), Gone> {
        self.commit(place, failed_event(failed)).await.map(drop)
    }

    /// Stores an event, without anything that is, or looks like, a secret; gives its time.
    async fn commit(&self, place: &Place, event: EventDraft) -> Result<Timestamp, Gone> {
        let owned: Arc<OwnedSession> = place.owned.upgrade().ok_or(Gone)?;
        self.commit_under(&owned.hold()?, place, event).await
    }

    /// The same for who holds the session already, even if it was released meanwhile.
    async fn commit_under(&self, hold: &Hold, place: &Place, mut event: EventDraft) -> Result<Timestamp, Gone> {
        self.redactor.object(&mut event.payload);
        in_object(&self.patterns, &mut event.payload);
        let commit = Commit {
            agent_id: place.agent_id.clone(),
            run_id: place.run_id.clone(),
            writes: vec![Write::Event(event)],
        };
        let committed = hold.commit(&*self.store, commit).await?;
        committed.events.first().map(|event| event.created_at.clone()).ok_or(Gone)
    }
}

fn failed_event(failed: MemoryExtractionFailed) -> EventDraft {
    EventDraft::of(failed).level(Level::Warning)
}

/// What the model is shown.
struct Prepared {
    system: agent_protocol::PromptBlock,
    known: Known,
    batch: Batch,
}

/// What came of it, without a word of what is remembered (MEM-10).
fn completed(
    applied: &Applied,
    reason: Reason,
    messages: usize,
    scan_cursor: u64,
    usage: Option<Usage>,
) -> MemoryExtractionCompleted {
    let ids = |ids: &[MemoryId]| ids.iter().map(|id| id.as_str().to_owned()).collect();
    MemoryExtractionCompleted {
        reason: reason.told(),
        messages: messages as u64,
        created: ids(&applied.created),
        updated: ids(&applied.updated),
        conflict: ids(&applied.conflict),
        ignored: applied.ignored.len() as u64,
        duplicate: applied.duplicate.len() as u64,
        refused: applied.refused.iter().map(|refused| refused.why.to_string()).collect(),
        source_node_ids: applied.source_node_ids.clone(),
        files_changed: applied.files_changed.clone(),
        scan_cursor,
        usage,
    }
}

fn changed_meanwhile(applied: &Applied) -> ErrorPayload {
    let ids: Vec<_> = applied.conflicted.iter().map(|conflicted| conflicted.id.as_str()).collect();
    let message = format!("somebody else changed {} meanwhile: it was left as it is now", ids.join(", "));
    ErrorPayload::new(ErrorCode::MemoryWriteFailed, message).detail("kind", "conflict").detail("memory_ids", ids)
}

fn misplaced(applied: &Applied) -> ErrorPayload {
    let each = applied.misplaced.iter().map(|one| format!("decision {}: {}", one.index + 1, one.why));
    let message = format!("{}; the model is asked again about these messages", each.collect::<Vec<_>>().join("; "));
    write_failed(message).detail("kind", "misplaced")
}

/// With less room than this, in tokens, messages would be shown that say nothing.
const LEAST_ROOM: u64 = 400;

fn no_room(window: u64) -> ErrorPayload {
    let message = format!(
        "the model that finds out what is to be remembered has a window of {window} tokens, which leaves no room for \
         messages: give memory.extract_model_profile a larger context_window, or a smaller max_output_tokens"
    );
    ErrorPayload::new(ErrorCode::ConfigError, message)
}

fn write_failed(message: String) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::MemoryWriteFailed, message)
}

/// The random end of an id of this kind.
fn random() -> String {
    let id = Uuid::now_v7().simple().to_string();
    id[id.len() - 8..].to_owned()
}
