//! Many short sessions.

use std::sync::Arc;

use agent_engine::TokenCounter;
use agent_protocol::{
    ContentBlock, EventDraft, LoopCompleted, LoopStarted, MessageCompleted, MessageCreated, ModelCompleted,
    ModelStarted, NodeDraft, NodeType, Object, Role, RunEnd, StopKind, Usage,
};
use agent_store::{SessionStore as _, SqliteStore, Write};
use agent_testkit::TestHome;
use futures::{StreamExt as _, TryStreamExt as _};

use super::Ids;
use crate::error::BenchError;
use crate::words::Words;

/// Sessions made at once, so that the writer puts them into one transaction.
const AT_ONCE: usize = 64;
/// One session in so many speaks of [`RARE_WORD`].
const RARE_EVERY: usize = 100;
/// What a search looks for.
pub(crate) const RARE_WORD: &str = "marmalade";

/// Sessions of one question and one answer each.
pub(crate) struct Many;

impl Many {
    pub(crate) const SESSIONS: usize = 10_000;

    /// Makes them in a home, for the home's project.
    pub(crate) async fn lay(home: &TestHome) -> Result<(), BenchError> {
        let store = super::open(&home.home.join("sessions.sqlite"), &home.home.join("sessions")).await?;
        let project = home.project.to_string_lossy();
        let making = futures::stream::iter((0..Self::SESSIONS).map(|number| one(&store, &project, number)));
        making.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        store.close().await;
        Ok(())
    }
}

async fn one(store: &SqliteStore, project: &str, number: usize) -> Result<(), BenchError> {
    let ids = Ids::fresh()?;
    let lease = store.create_session(ids.session(project)).await?;
    let mut words = Words(number as u64);
    let mut text = |bytes: usize| {
        let mut text = format!("session {number}: ");
        if number.is_multiple_of(RARE_EVERY) {
            text.push_str(RARE_WORD);
            text.push(' ');
        }
        while text.len() < bytes {
            text.push_str(words.next_word());
        }
        text
    };
    let (question, answer) = (node(&ids, 1, Role::User, text(120))?, node(&ids, 2, Role::Assistant, text(600))?);
    let last = answer.node_id.clone();
    let asked = ModelStarted { model: "scripted".to_owned(), request: Some(1), turn: Some(1) };
    let replied = ModelCompleted {
        stop: Some(StopKind::EndTurn),
        stop_raw: Some(None),
        usage: Usage::default(),
        prompt_tokens_expected: None,
    };
    let said = MessageCompleted { tool_calls: Some(0), ..MessageCompleted::default() };
    let mut writes = vec![ids.run(), Write::Event(EventDraft::of(LoopStarted::default())), Write::Node(question)];
    writes.extend(
        [EventDraft::of(MessageCreated { role: Role::User }), EventDraft::of(asked), EventDraft::of(replied)]
            .map(Write::Event),
    );
    writes.push(Write::Node(answer));
    writes.extend([EventDraft::of(said), EventDraft::of(LoopCompleted(RunEnd::default()))].map(Write::Event));
    writes.extend(ids.end(1, &last));
    store.commit(&lease, ids.commit(writes)).await?;
    Ok(())
}

fn node(ids: &Ids, number: usize, role: Role, text: String) -> Result<NodeDraft, BenchError> {
    let content = [ContentBlock::text(text)];
    let parent_id = if number > 1 { Some(ids.node(number - 1)?) } else { None };
    Ok(NodeDraft {
        node_id: ids.node(number)?,
        parent_id,
        role,
        node_type: NodeType::Message,
        token_count: TokenCounter.message(&content),
        content: Arc::from(content),
        metadata: Object::new(),
    })
}
