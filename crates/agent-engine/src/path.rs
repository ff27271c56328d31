//! The active path as the machine believes it: a chain of nodes, grouped so that a call and its results stay together.

pub(crate) mod forgetting;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use agent_protocol::{ContentBlock, ModelMessage, Node, NodeDraft, NodeId, NodeType, Role, ToolCall, ToolCallId};

use crate::marks::{CompactionMark, ContextMark};
use crate::render;
use crate::tokens::{TokenCounter, Weighed};
use crate::words::Sayings;

/// One node of the path, and the message it becomes.
#[derive(Debug, Clone)]
pub struct PathNode {
    /// The node's id.
    pub node_id: NodeId,
    /// Who speaks.
    pub role: Role,
    /// What it is.
    pub node_type: NodeType,
    /// Whether core wrote it in somebody's place.
    pub synthetic: bool,
    /// Whether it is a reply that was broken off: kept for inspection, on no path; at most a note quotes it (RUN-8).
    pub broken: bool,
    /// Estimated tokens of the message.
    pub tokens: u64,
    /// What it brings into the context, if that is what it is for.
    pub mark: Option<Arc<ContextMark>>,
    /// The message; made once, so that every turn hands out the same one.
    pub message: Arc<ModelMessage>,
}

/// A compaction that counts: a summary takes the place of everything before its border (CMP-1).
#[derive(Debug, Clone)]
pub struct Compaction {
    /// Index of its node.
    pub at: usize,
    /// Index of the first node that is kept as it is.
    pub first_kept: usize,
    /// Whether that very node is loaded; otherwise it is the first one that is.
    pub is_loaded: bool,
    /// What its node says.
    pub mark: Arc<CompactionMark>,
}

/// What is kept or left out as a whole (CTX-5): one node, or an assistant's calls with their results.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Index of its first node.
    pub(crate) head: usize,
    /// The calls its head makes, in the model's order.
    pub(crate) calls: Vec<ToolCallId>,
    /// Node index of each call's result, in the order of `calls`, whatever the order in which they were stored.
    pub(crate) results: Vec<Option<usize>>,
    /// Results shortened to a limit; the limit, and how many of them are only referred to, are part of the memo.
    pub(crate) shortened: OnceLock<((u64, usize), Vec<Weighed>)>,
    /// The head with its calls shortened to a limit, and the limit.
    pub(crate) short_calls: OnceLock<(u64, Weighed)>,
}

impl Group {
    fn new(head: usize, calls: Vec<ToolCallId>) -> Self {
        let results = vec![None; calls.len()];
        Self { head, calls, results, shortened: OnceLock::new(), short_calls: OnceLock::new() }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.results.iter().all(Option::is_some)
    }
}

/// The older part of a path that was not loaded, since no request can hold it (PERF-5). To the composer it is part of what a
/// window leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Omitted {
    /// How many nodes; none of them is pinned.
    pub nodes: usize,
    /// How many of them are replies.
    pub turns: usize,
    /// How many of the loaded nodes come before the first of them: pinned ones.
    pub at: usize,
    /// How many of the loaded nodes come before the last of them: all that are pinned.
    pub pinned: usize,
    /// Whether the newest summary is known not to stand for all of them.
    pub is_past_summary: bool,
}

/// The active path. It grows together with the commit that stores its nodes, and only then.
#[derive(Debug, Clone, Default)]
pub struct Path {
    omitted: Omitted,
    /// What the user said in the part that was not loaded.
    earlier_words: Sayings,
    /// All that are valid, oldest first; the last one counts.
    compactions: Vec<Compaction>,
    nodes: Vec<PathNode>,
    groups: Vec<Group>,
    /// Indexes of nodes that may be kept although what is around them goes.
    context: Vec<usize>,
    call_ids: HashSet<ToolCallId>,
    memos: Memos,
}

/// Messages that are made from several nodes, or in place of one; made once, so that every turn hands out the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memos(Arc<Mutex<MemoMap>>);

#[derive(Debug, Default)]
struct MemoMap {
    marker: Option<(MarkerKey, Weighed)>,
    references: HashMap<usize, Weighed>,
}

/// What a marker is about: where it begins, where it ends, how many turns, how much room, which message is kept all the same.
pub(crate) type MarkerKey = (usize, usize, usize, u64, Option<usize>);

impl Memos {
    pub(crate) fn marker(&self, key: MarkerKey, make: impl FnOnce() -> Weighed) -> Weighed {
        // Whole after every operation, so a panic elsewhere has not broken it.
        let mut memos = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &memos.marker {
            Some((known, made)) if *known == key => made.clone(),
            _ => memos.marker.insert((key, make())).1.clone(),
        }
    }

    pub(crate) fn reference(&self, node: usize, make: impl FnOnce() -> Weighed) -> Weighed {
        let mut memos = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        memos.references.entry(node).or_insert_with(make).clone()
    }
}

impl Path {
    /// The path of a session without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The path that was stored, root first.
    #[must_use]
    pub fn from_nodes(nodes: impl IntoIterator<Item = Node>) -> Self {
        Self::without(Omitted::default(), nodes)
    }

    /// The same without its older part. What is loaded of it begins with a whole group, but for pinned nodes, and is more than
    /// any request can hold.
    ///
    /// Ids of calls in the older part are not known: a provider that uses one again gets it.
    #[must_use]
    pub fn without(omitted: Omitted, nodes: impl IntoIterator<Item = Node>) -> Self {
        let mut path = Self { omitted, ..Self::default() };
        for node in nodes {
            path.push(&NodeDraft {
                node_id: node.node_id,
                parent_id: node.parent_id,
                role: node.role,
                node_type: node.node_type,
                content: node.content,
                metadata: node.metadata,
                token_count: node.token_count,
            });
        }
        path
    }

    /// The same with what the user said in the older part, as far as it is known.
    #[must_use]
    pub fn with_earlier_words(mut self, words: Sayings) -> Self {
        self.earlier_words = words;
        self
    }

    pub(crate) fn earlier_words(&self) -> &Sayings {
        &self.earlier_words
    }

    /// Adds a node at the tip.
    pub fn push(&mut self, draft: &NodeDraft) {
        let index = self.nodes.len();
        let message = render::message(draft);
        self.compactions.extend(self.valid_compaction(draft, index));
        let tokens = TokenCounter.message(&message.content);
        match answered_call(draft) {
            Some(call) => self.attach_result(call, index),
            None => {
                let calls: Vec<_> = calls_of(&draft.content).map(|call| call.tool_call_id.clone()).collect();
                self.call_ids.extend(calls.iter().cloned());
                self.groups.push(Group::new(index, calls));
            }
        }
        if PINNED.contains(&draft.node_type) || is_instruction(draft.node_type) {
            self.context.push(index);
        }
        self.nodes.push(PathNode {
            node_id: draft.node_id.clone(),
            role: draft.role,
            node_type: draft.node_type,
            synthetic: draft.node_type != NodeType::Message || draft.metadata.contains_key("synthetic"),
            broken: is_broken(draft),
            tokens,
            mark: PINNED.contains(&draft.node_type).then(|| ContextMark::read(&draft.metadata)).flatten().map(Arc::new),
            message: Arc::new(message),
        });
    }

    /// A compaction counts if what it keeps is on this path: as a loaded node, or before everything that was loaded.
    fn valid_compaction(&self, draft: &NodeDraft, index: usize) -> Option<Compaction> {
        let mark = CompactionMark::of(draft)?;
        let (first_kept, is_loaded) = match self.position(&mark.first_kept_node_id) {
            Some(at) => (at, true),
            None if self.omitted.nodes > 0 => (self.omitted.pinned, false),
            None => return None,
        };
        Some(Compaction { at: index, first_kept, is_loaded, mark: Arc::new(mark) })
    }

    /// The node in front of the reply that makes this call: what a fork of that moment inherits ends there, so that no call is
    /// open in it (AGT-2).
    #[must_use]
    pub fn node_before_reply_with(&self, call: &ToolCallId) -> Option<&NodeId> {
        let reply = self.groups.iter().rev().find(|group| group.calls.contains(call))?;
        Some(&self.nodes.get(reply.head.checked_sub(1)?)?.node_id)
    }

    /// The compaction that counts: the last valid one (CMP-1).
    #[must_use]
    pub fn compaction(&self) -> Option<&Compaction> {
        self.compactions.last()
    }

    /// A result belongs to the newest group that waits for it; one that nobody waits for never reaches a model.
    fn attach_result(&mut self, call: &ToolCallId, index: usize) {
        for group in self.groups.iter_mut().rev() {
            if let Some(at) = group.calls.iter().position(|id| id == call) {
                group.results[at].get_or_insert(index);
                return;
            }
        }
    }

    /// Takes back everything after the first `len` nodes: their commit failed.
    pub fn truncate(&mut self, len: usize) {
        self.nodes.truncate(len);
        self.compactions.retain(|compaction| compaction.at < len);
        self.context.retain(|index| *index < len);
        // Other nodes may come in the place of those that are gone.
        self.memos = Memos::default();
        self.groups.retain(|group| group.head < len);
        for group in &mut self.groups {
            if group.results.iter().flatten().any(|index| *index >= len) {
                for result in &mut group.results {
                    *result = result.filter(|index| *index < len);
                }
                // Made of results that are gone; others may come in their place.
                group.shortened = OnceLock::new();
            }
        }
        self.call_ids = self.groups.iter().flat_map(|group| group.calls.iter().cloned()).collect();
    }

    /// The path as it was when this node was its tip; `None` if the node is not on it.
    pub(crate) fn up_to(&self, node: &NodeId) -> Option<Self> {
        let len = self.position(node)? + 1;
        let mut earlier = self.clone();
        earlier.truncate(len);
        Some(earlier)
    }

    pub(crate) fn position(&self, node: &NodeId) -> Option<usize> {
        self.nodes.iter().rposition(|known| known.node_id == *node)
    }

    /// What was not loaded.
    #[must_use]
    pub fn omitted(&self) -> Omitted {
        self.omitted
    }

    /// Number of loaded nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no node is loaded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The newest node.
    #[must_use]
    pub fn tip(&self) -> Option<&NodeId> {
        self.nodes.last().map(|node| &node.node_id)
    }

    /// The nodes, root first.
    #[must_use]
    pub fn nodes(&self) -> &[PathNode] {
        &self.nodes
    }

    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Indexes of nodes that may be kept although what is around them goes, oldest first.
    pub(crate) fn context(&self) -> &[usize] {
        &self.context
    }

    /// The nodes that bring something into the context, oldest first.
    pub fn context_nodes(&self) -> impl Iterator<Item = &PathNode> {
        self.context.iter().map(|index| &self.nodes[*index])
    }

    pub(crate) fn memos(&self) -> &Memos {
        &self.memos
    }

    /// Whether a call on this path has this id.
    #[must_use]
    pub fn knows_call(&self, id: &ToolCallId) -> bool {
        self.call_ids.contains(id)
    }

    /// Calls that never got a result, oldest first: the process ended before it was stored.
    #[must_use]
    pub fn unanswered(&self) -> Vec<(ToolCallId, String)> {
        let calls = self.open_calls().into_iter().flat_map(|(_, calls)| calls);
        calls.map(|call| (call.tool_call_id.clone(), call.name.clone())).collect()
    }

    /// The same, by the replies that make them: each with its node.
    pub(crate) fn open_calls(&self) -> Vec<(&NodeId, Vec<&ToolCall>)> {
        let open = self.groups.iter().filter(|group| !group.is_complete());
        open.map(|group| {
            let head = &self.nodes[group.head];
            let calls = calls_of(&head.message.content).zip(&group.results);
            (&head.node_id, calls.filter(|(_, result)| result.is_none()).map(|(call, _)| call).collect())
        })
        .collect()
    }

    /// Index of the newest thing a person said.
    pub(crate) fn last_input(&self) -> Option<usize> {
        self.nodes.iter().rposition(|node| node.role == Role::User && !node.synthetic)
    }
}

/// What brings something into the context and is kept when what is around it goes, as far as it finds room (CTX-4).
pub const PINNED: [NodeType; 3] = [NodeType::SkillContext, NodeType::MemoryContext, NodeType::InstructionContext];

/// What tells the model how to write a plan or a task; kept until it is used (CTX-4).
pub(crate) fn is_instruction(node_type: NodeType) -> bool {
    matches!(node_type, NodeType::PlanInstruction | NodeType::TaskInstruction)
}

fn calls_of(content: &[ContentBlock]) -> impl Iterator<Item = &ToolCall> {
    content.iter().filter_map(ContentBlock::as_tool_call)
}

/// As the machine marks replies that it keeps beside the path.
fn is_broken(draft: &NodeDraft) -> bool {
    let is_set = |key: &&str| draft.metadata.get(*key).and_then(serde_json::Value::as_bool).unwrap_or(false);
    draft.role == Role::Assistant && ["partial", "aborted", "failed"].iter().any(is_set)
}

/// The call a tool node answers.
fn answered_call(draft: &NodeDraft) -> Option<&ToolCallId> {
    match (draft.role, draft.content.first()) {
        (Role::Tool, Some(ContentBlock::ToolResult(result))) => Some(&result.tool_call_id),
        _ => None,
    }
}
