//! A session that has gone on for long: 10,000 nodes on its path and 100,000 events.

use std::path::PathBuf;
use std::sync::Arc;

use agent_engine::{CompactionMark, SECTIONS, Saying, Sayings, TokenCounter};
use agent_protocol::{
    CallEnd, ContentBlock, EventDraft, EventType, LoopCompleted, LoopStarted, MessageCompleted, MessageCreated,
    ModelStarted, NodeDraft, NodeId, NodeType, Object, ResultKind, Role, RunEnd, SessionId, ToolCall, ToolCallId,
    ToolResultBlock, ToolStarted,
};
use agent_store::{SessionStore as _, Write};
use agent_testkit::TestHome;
use serde_json::{Value, json};

use super::Ids;
use crate::error::BenchError;
use crate::words::Words;

/// Each of them is one commit.
const RUNS: usize = 250;
/// Turns of a run; all but the last read a file.
const TURNS: usize = 20;
/// The user's message, and a reply and a result for each turn but the last.
const NODES: usize = 2 * TURNS;
/// What a run stores is a quarter of this. The rest stands for permissions, hooks and tasks.
const EVENTS: usize = 400;
/// One result in so many holds what looks like a secret.
const SECRET_EVERY: usize = 100;
/// The run after which a summary stands, if there is one: what came then nearly fills a window of 131,072 tokens.
const SUMMARISED_RUN: usize = RUNS - 8;

/// The session and where it is.
pub(crate) struct Long {
    pub(crate) database: PathBuf,
    pub(crate) session_id: SessionId,
    /// The end of the path.
    pub(crate) leaf: NodeId,
}

impl Long {
    pub(crate) const NODES: usize = RUNS * NODES;
    pub(crate) const EVENTS: usize = RUNS * EVENTS;

    /// Makes it in a home that has no database, for the home's project.
    pub(crate) async fn lay(home: &TestHome) -> Result<Self, BenchError> {
        Self::make(home, false).await
    }

    /// The same with a summary of all but its end on the path.
    pub(crate) async fn lay_summarised(home: &TestHome) -> Result<Self, BenchError> {
        Self::make(home, true).await
    }

    async fn make(home: &TestHome, summarised: bool) -> Result<Self, BenchError> {
        let database = home.home.join("sessions.sqlite");
        let store = super::open(&database, &home.home.join("sessions")).await?;
        let ids = Ids::fresh()?;
        let lease = store.create_session(ids.session(&home.project.to_string_lossy())).await?;
        let (mut words, mut leaf) = (Words(5), None);
        for run in 0..RUNS {
            let mut making =
                Making { ids: ids.next_run()?, words: &mut words, parent: leaf, nodes: 0, writes: Vec::new() };
            making.run(run)?;
            if summarised && run == SUMMARISED_RUN {
                making.summary()?;
            }
            let Making { ids, parent, mut writes, .. } = making;
            if let Some(last) = &parent {
                writes.extend(ids.end(TURNS as u32, last));
            }
            store.commit(&lease, ids.commit(writes)).await?;
            leaf = parent;
        }
        store.close().await;
        let leaf = leaf.ok_or(BenchError::Nothing)?;
        Ok(Self { database, session_id: ids.session_id, leaf })
    }
}

/// A run that is being made up.
struct Making<'w> {
    ids: Ids,
    words: &'w mut Words,
    parent: Option<NodeId>,
    nodes: usize,
    writes: Vec<Write>,
}

impl Making<'_> {
    fn run(&mut self, run: usize) -> Result<(), BenchError> {
        self.writes.push(self.ids.run());
        self.event(EventDraft::of(LoopStarted::default()));
        let question = self.text(200);
        let asked = self.node(Role::User, vec![ContentBlock::text(question)], Object::new())?;
        self.event(EventDraft::of(MessageCreated { role: Role::User }).node(&asked));
        for turn in 0..TURNS - 1 {
            let call = ToolCallId::parse(&format!("call_{run:04}_{turn:02}"))?;
            let path = format!("src/module_{:02}/file_{turn:02}.rs", run % 40);
            let told = self.reply(turn, Some((&call, &path)))?;
            self.after_reply(turn, &told);
            self.around_call(&call, &path);
            let result = self.result(&call, &path, (run * TURNS + turn).is_multiple_of(SECRET_EVERY))?;
            self.tool_completed(&call, &path, &result);
            self.fill_up_to((turn + 1) * (EVENTS - 2) / TURNS);
        }
        let told = self.reply(TURNS - 1, None)?;
        self.after_reply(TURNS - 1, &told);
        self.fill_up_to(EVENTS - 1);
        let turns = u32::try_from(TURNS).ok();
        self.event(EventDraft::of(LoopCompleted(RunEnd { turns, ..RunEnd::default() })));
        Ok(())
    }

    fn event(&mut self, event: EventDraft) {
        self.writes.push(Write::Event(event));
    }

    fn events(&self) -> usize {
        self.writes.iter().filter(|write| matches!(write, Write::Event(_))).count()
    }

    fn node(&mut self, role: Role, content: Vec<ContentBlock>, metadata: Object) -> Result<NodeId, BenchError> {
        self.node_of(NodeType::Message, role, content, metadata)
    }

    fn node_of(
        &mut self,
        node_type: NodeType,
        role: Role,
        content: Vec<ContentBlock>,
        metadata: Object,
    ) -> Result<NodeId, BenchError> {
        self.nodes += 1;
        let node_id = self.ids.node(self.nodes)?;
        let token_count = TokenCounter.message(&content);
        self.writes.push(Write::Node(NodeDraft {
            node_id: node_id.clone(),
            parent_id: self.parent.replace(node_id.clone()),
            role,
            node_type,
            content: Arc::from(content),
            metadata,
            token_count,
        }));
        Ok(node_id)
    }

    fn reply(&mut self, turn: usize, call: Option<(&ToolCallId, &str)>) -> Result<NodeId, BenchError> {
        let bytes = if call.is_some() { 80 } else { 600 };
        let mut content = vec![ContentBlock::text(format!("{turn}: {}", self.text(bytes)))];
        content.extend(call.map(|(call, path)| {
            ContentBlock::ToolCall(ToolCall {
                tool_call_id: call.clone(),
                name: "code.read_file".to_owned(),
                arguments: object(json!({ "path": path, "start_line": 1, "max_lines": 200 })),
                metadata: object(json!({ "raw_name": "code__read_file" })),
            })
        }));
        let stop = if call.is_some() { "tool_use" } else { "end" };
        self.node(Role::Assistant, content, object(json!({ "stop": stop })))
    }

    /// A summary of everything before this run, as a run's end brings one.
    fn summary(&mut self) -> Result<NodeId, BenchError> {
        let sections = SECTIONS.map(|section| format!("## {section}\n- {}", self.text(300)));
        let mut text = format!("[summary of {} earlier turns]\n\n{}", SUMMARISED_RUN * TURNS, sections.join("\n\n"));
        let first_kept_node_id = self.ids.node(1)?;
        let said: Vec<_> = (0..20).map(|_| self.text(100)).collect();
        for saying in &said {
            text.push_str(&format!("\n- {saying}"));
        }
        let said = said.into_iter().map(|text| Saying { node_id: first_kept_node_id.clone(), text, cut: false });
        let mark = CompactionMark {
            user_words: Sayings { kept: said.collect(), left_out: SUMMARISED_RUN },
            first_kept_node_id,
            turns: SUMMARISED_RUN * TURNS,
            turns_left_out: 0,
            tokens_before: 110_000,
            tokens_after: 20_000,
            details: Object::new(),
        };
        let mark = serde_json::to_value(mark).map_err(|source| BenchError::Body { source })?;
        self.node_of(NodeType::Compaction, Role::User, vec![ContentBlock::text(text)], object(mark))
    }

    /// One to four kilobytes, as `code.read_file` gives them.
    fn result(&mut self, call: &ToolCallId, path: &str, secret: bool) -> Result<NodeId, BenchError> {
        let bytes = 1024 + self.words.number(3 * 1024);
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str("    ");
            text.push_str(&self.text(50));
            text.push('\n');
        }
        if secret {
            text.push_str("export SERVICE_TOKEN=4f1c9a0be27d4f1c9a0be27d\n");
        }
        let lines = text.lines().count();
        let data = json!({ "path": path, "content": text, "start_line": 1, "end_line": lines, "total_lines": lines });
        let block = ContentBlock::ToolResult(ToolResultBlock {
            tool_call_id: call.clone(),
            is_error: false,
            content: vec![ContentBlock::json(data)],
            error: None,
            metadata: Object::new(),
        });
        self.node(Role::Tool, vec![block], object(json!({ "tool_name": "code.read_file" })))
    }

    fn after_reply(&mut self, turn: usize, told: &NodeId) {
        let report = json!({
            "turn": turn + 1, "request": turn + 1, "epoch": 1, "epoch_part_of_request": 1, "first_kept_node_id": told,
            "last_node_id": told, "nodes_in": 300 + turn, "nodes_out": 9000, "turns_out": 4500, "results_shortened": 0,
            "message_tokens": 81_234, "request_tokens": 83_456, "calibration": 1.024_632_068, "call_id_prefix": "call_",
        });
        self.event(EventDraft::raw(EventType::ContextBuilt, object(report)));
        self.event(EventDraft::of(ModelStarted { model: "scripted".to_owned(), request: None, turn: None }));
        let usage = json!({
            "input_tokens": 83_456, "output_tokens": 113, "total_tokens": 83_569,
            "raw": { "prompt_eval_count": 83_456, "eval_count": 113, "total_duration": 9_000_000 },
        });
        let completed = json!({ "stop": "tool_use", "stop_raw": null, "usage": usage });
        self.event(EventDraft::raw(EventType::ModelCompleted, object(completed)));
        let completed = MessageCompleted { tool_calls: Some(1), ..MessageCompleted::default() };
        self.event(EventDraft::of(completed).node(told));
    }

    fn around_call(&mut self, call: &ToolCallId, path: &str) {
        for hook in [EventType::HookStarted, EventType::HookCompleted] {
            self.event(EventDraft::raw(hook, object(json!({ "hook": "before_tool_call" }))).call(call));
        }
        let asked = json!({
            "request_id": "perm_1", "tool_name": "code.read_file", "target_scope": path, "reasons": ["it reads"],
        });
        self.event(EventDraft::raw(EventType::PermissionRequested, object(asked)).call(call));
        let answer = json!({ "request_id": "perm_1", "decision": "allow_once", "reason": null });
        self.event(EventDraft::raw(EventType::PermissionResolved, object(answer)).call(call));
        let started = ToolStarted { tool_name: "code.read_file".to_owned(), summary: Some(path.to_owned()) };
        self.event(EventDraft::of(started).call(call));
    }

    fn tool_completed(&mut self, call: &ToolCallId, path: &str, result: &NodeId) {
        let hash = "c2b85d5f4a984b81d972f021d9e62818609f20428ce6b8c3e2cf2a6474e4a0ba";
        let completed = CallEnd {
            tool_name: "code.read_file".to_owned(),
            kind: ResultKind::Ok,
            call: Some(path.to_owned()),
            summary: Some("50 lines".to_owned()),
            metadata: object(json!({ "content_hash": hash, "resolved_path": format!("/home/user/project/{path}") })),
            error: None,
        };
        self.event(completed.into_event().call(call).node(result));
    }

    fn fill_up_to(&mut self, events: usize) {
        for step in self.events()..events {
            let text = self.text(60);
            let update = json!({ "task_id": "task_01", "step": step, "note": text });
            self.event(EventDraft::raw(EventType::TaskStepUpdated, object(update)));
        }
    }

    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str(self.words.next_word());
        }
        text
    }
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PERF-5: what is made has the size it should have, and is one path.
    #[test]
    fn a_run_has_its_nodes_and_events() {
        let mut words = Words(5);
        let ids = Ids::fresh().unwrap();
        let mut making = Making { ids, words: &mut words, parent: None, nodes: 0, writes: Vec::new() };
        making.run(0).unwrap();
        assert_eq!((making.nodes, making.events()), (NODES, EVENTS));
        let parents = making.writes.iter().filter_map(|write| match write {
            Write::Node(node) => Some(node.parent_id.is_none()),
            _ => None,
        });
        assert_eq!(parents.filter(|root| *root).count(), 1);
        assert_eq!((Long::NODES, Long::EVENTS), (10_000, 100_000));
    }

    /// A summary is the newest node, stands for what comes before its run, and can be read as one.
    #[test]
    fn a_summary_names_what_it_leaves() {
        let mut words = Words(5);
        let ids = Ids::fresh().unwrap();
        let mut making = Making { ids, words: &mut words, parent: None, nodes: 0, writes: Vec::new() };
        making.run(0).unwrap();
        let first = making.ids.node(1).unwrap();
        let summary = making.summary().unwrap();
        assert_eq!(making.parent.as_ref(), Some(&summary));
        let Some(Write::Node(node)) = making.writes.last() else { panic!("it is written last") };
        assert_eq!((&node.node_id, node.node_type), (&summary, NodeType::Compaction));
        let mark: CompactionMark = serde_json::from_value(Value::Object(node.metadata.clone())).unwrap();
        assert_eq!((mark.first_kept_node_id, mark.user_words.kept.len()), (first, 20));
    }
}
