//! What stands between what is stored and who looks at it (STO-10).

use std::sync::{Arc, OnceLock};

use agent_protocol::{ModelMessage, ModelRequest, Node, Object, RuntimeEvent};
use agent_redact::{PatternsError, SecretPatterns};
use agent_store::{AgentInfo, ArtifactInfo, DamagedSession, ReplayPage, RunInfo, SessionInfo, StoreError};
use serde_json::Value;

use crate::error::ArchiveError;
use agent_redact::within::{in_error, in_object, in_optional_text, in_shared_blocks, in_text};

/// The patterns, made when they are first needed: a list without texts needs none.
#[derive(Clone, Default)]
pub(super) struct Screen(Arc<OnceLock<SecretPatterns>>);

impl Screen {
    pub(super) fn of(patterns: SecretPatterns) -> Self {
        Self(Arc::new(OnceLock::from(patterns)))
    }

    pub(super) fn patterns(&self) -> Result<&SecretPatterns, PatternsError> {
        if let Some(patterns) = self.0.get() {
            return Ok(patterns);
        }
        let patterns = SecretPatterns::new()?;
        Ok(self.0.get_or_init(|| patterns))
    }

    /// Redacts something big on a thread that may be busy for a while.
    pub(super) async fn shown<T: Send + 'static>(
        &self,
        mut what: T,
        redact: fn(&SecretPatterns, &mut T),
    ) -> Result<T, ArchiveError> {
        let patterns = self.patterns()?.clone();
        let work = tokio::task::spawn_blocking(move || {
            redact(&patterns, &mut what);
            what
        });
        work.await.map_err(|_| ArchiveError::BrokeOff { work: "taking secrets out of what is shown" })
    }

    /// Words about what is stored, which may quote it.
    pub(super) fn words(&self, words: String) -> String {
        match self.patterns() {
            Ok(patterns) => patterns.redact(&words).text.into_owned(),
            Err(_) => "it cannot be shown".to_owned(),
        }
    }

    /// The message of a damaged row's cause may quote what is stored.
    pub(super) fn error(&self, error: StoreError) -> ArchiveError {
        self.damage(error).into()
    }

    pub(super) fn damage(&self, error: StoreError) -> StoreError {
        damage(error, |words| self.words(words))
    }

    pub(super) fn damaged_session(&self, damaged: DamagedSession) -> DamagedSession {
        let DamagedSession { session, error } = damaged;
        DamagedSession { session: self.words(session), error: self.damage(error) }
    }
}

fn damage(error: StoreError, words: impl Fn(String) -> String) -> StoreError {
    let StoreError::CorruptRow { table, id, column, source } = error else { return error };
    let source = Arc::new(Said(words(source.to_string())));
    StoreError::CorruptRow { table, id: words(id), column, source }
}

/// A cause of which only the words are left.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Said(String);

pub(super) fn page(patterns: &SecretPatterns, page: &mut ReplayPage) {
    page.events.iter_mut().for_each(|each| event(patterns, each));
    page.nodes.iter_mut().for_each(|each| node(patterns, each));
    page.artifacts.iter_mut().for_each(|each| artifact(patterns, each));
    for row in &mut page.damaged {
        row.error = damage(row.error.clone(), |words| patterns.redact(&words).text.into_owned());
    }
}

pub(super) fn event(patterns: &SecretPatterns, event: &mut RuntimeEvent) {
    in_object(patterns, &mut event.payload);
}

/// A node that is not shown whole says so.
pub(super) fn node(patterns: &SecretPatterns, node: &mut Node) {
    let in_content = in_shared_blocks(patterns, &mut node.content);
    if in_object(patterns, &mut node.metadata) || in_content {
        node.metadata.insert("redacted".to_owned(), true.into());
    }
}

pub(super) fn artifact(patterns: &SecretPatterns, artifact: &mut ArtifactInfo) {
    in_optional_text(patterns, artifact.summary.as_mut());
    in_object(patterns, &mut artifact.metadata);
}

pub(super) fn session(patterns: &SecretPatterns, session: &mut SessionInfo) {
    in_object(patterns, &mut session.metadata);
}

pub(super) fn run(patterns: &SecretPatterns, run: &mut RunInfo) {
    if let Some(error) = &mut run.error {
        in_error(patterns, error);
    }
    in_object(patterns, &mut run.metadata);
    in_object(patterns, &mut run.usage.raw);
}

pub(super) fn agent(patterns: &SecretPatterns, agent: &mut AgentInfo) {
    in_optional_json(patterns, agent.result.as_mut());
    in_object(patterns, &mut agent.metadata);
}

fn in_optional_json(patterns: &SecretPatterns, value: Option<&mut Value>) {
    if let Some(value) = value {
        patterns.redact_json(value);
    }
}

/// A request that is not shown whole says so, too. Names of tools stay.
pub(super) fn request(patterns: &SecretPatterns, request: &mut ModelRequest) {
    let mut hit = in_object(patterns, &mut request.provider_options);
    for block in &mut Arc::make_mut(&mut request.system).blocks {
        hit |= in_text(patterns, &mut block.content);
    }
    for tool in &mut Arc::make_mut(&mut request.tools).tools {
        hit |= in_text(patterns, &mut tool.description) | patterns.redact_json(&mut tool.input_schema);
    }
    for each in &mut request.messages {
        hit |= message(patterns, Arc::make_mut(each));
    }
    if hit {
        mark(&mut request.metadata);
    }
}

fn message(patterns: &SecretPatterns, message: &mut ModelMessage) -> bool {
    let in_content = in_shared_blocks(patterns, &mut message.content);
    let hit = in_object(patterns, &mut message.metadata) || in_content;
    if hit {
        mark(&mut message.metadata);
    }
    hit
}

fn mark(metadata: &mut Object) {
    metadata.insert("redacted".to_owned(), true.into());
}

#[cfg(test)]
mod tests;
