//! What a provider is asked and what it answers, in words of no provider.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::stored_enum;
use crate::{ContentBlock, ErrorPayload, Object, Role, ToolCall, ToolDefinition};

/// How much of unusable argument text is echoed to the model and in events, in characters.
pub const MAX_INVALID_ARGUMENTS_ECHO: usize = 800;

/// A place where an adapter keeps the wire form of a value it has serialised, so that the next turn copies bytes instead
/// of serialising the whole history anew.
///
/// The value beside it must not change once a form is kept; requests share their parts behind [`Arc`], so it cannot.
#[derive(Debug, Clone, Default)]
pub struct WireMemo(OnceLock<(u64, Arc<str>)>);

impl WireMemo {
    /// The form kept under `key`, or the one `make` gives. The first key wins the place; other keys are made each time.
    ///
    /// `key` must cover everything the form depends on besides the value: the adapter, and its options.
    pub fn get_or_make(&self, key: u64, make: impl FnOnce() -> String) -> Arc<str> {
        let (kept_key, kept) = {
            if let Some(kept) = self.0.get() {
                if kept.0 == key {
                    return kept.1.clone();
                }
                return make().into();
            }
            self.0.get_or_init(|| (key, make().into()))
        };
        debug_assert_eq!(*kept_key, key);
        kept.clone()
    }
}

/// A memo says nothing about the value it stands beside.
impl PartialEq for WireMemo {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// One request to a model (TYP-5). `messages` holds no system message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRequest {
    /// The model's name at its provider.
    pub model: String,
    /// The fixed part.
    pub system: Arc<SystemPrompt>,
    /// The conversation, oldest first.
    pub messages: Vec<Arc<ModelMessage>>,
    /// The effective tool set.
    pub tools: Arc<ToolList>,
    /// Whether and which tools may be called.
    pub tool_choice: ToolChoice,
    /// Sampling temperature; the provider's default if absent.
    pub temperature: Option<f64>,
    /// Most tokens of the answer.
    pub max_output_tokens: u64,
    /// Options of this provider only, checked by its adapter.
    #[serde(default)]
    pub provider_options: Object,
    /// `epoch`, ids for logs.
    #[serde(default)]
    pub metadata: Object,
}

/// The system blocks of a request, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SystemPrompt {
    /// The blocks.
    pub blocks: Vec<SystemBlock>,
    /// The adapter's form of them.
    #[serde(skip)]
    pub wire: WireMemo,
}

/// The tools of a request, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolList {
    /// The tools.
    pub tools: Vec<ToolDefinition>,
    /// The adapter's form of them.
    #[serde(skip)]
    pub wire: WireMemo,
}

impl From<Vec<SystemBlock>> for SystemPrompt {
    fn from(blocks: Vec<SystemBlock>) -> Self {
        Self { blocks, wire: WireMemo::default() }
    }
}

impl From<Vec<ToolDefinition>> for ToolList {
    fn from(tools: Vec<ToolDefinition>) -> Self {
        Self { tools, wire: WireMemo::default() }
    }
}

/// One message of a request. A `tool` message holds exactly one result block; calls are blocks of their assistant message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelMessage {
    /// Who speaks; never `system`.
    pub role: Role,
    /// What is said.
    pub content: Arc<[ContentBlock]>,
    /// `reasoning` to echo, `synthetic`, `source_node_type`, `source_node_id`.
    #[serde(default)]
    pub metadata: Object,
    /// The adapter's form of this message.
    #[serde(skip)]
    pub wire: WireMemo,
}

impl ModelMessage {
    /// Key in `metadata` of an assistant message: reasoning the adapter keeps to echo it where the API demands it (PRV-11).
    pub const REASONING: &'static str = "reasoning";

    /// A message without metadata.
    #[must_use]
    pub fn new(role: Role, content: impl Into<Arc<[ContentBlock]>>) -> Self {
        Self { role, content: content.into(), metadata: Object::new(), wire: WireMemo::default() }
    }
}

/// A named block of the system part (TYP-6).
pub type SystemBlock = PromptBlock;

/// A named block of prompt text (TYP-6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptBlock {
    /// Stable name, such as `system.core`.
    pub block_id: String,
    /// Where the text comes from: an asset id and version, a path.
    pub source: String,
    /// The text.
    pub content: String,
    /// Lower is kept first when dynamic blocks compete for room.
    pub priority: i32,
    /// Whether it may be left out.
    pub dynamic: bool,
    /// Estimated tokens.
    pub token_count: u64,
    /// Extensions.
    #[serde(default)]
    pub metadata: Object,
}

/// Whether and which tools may be called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool.
    None,
    /// Some tool.
    Required,
    /// This one, by canonical name.
    Tool(String),
}

/// What a provider stream says (TYP-7). Exactly one `Completed` or `Failed` comes, last.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The server began to answer.
    Started {
        /// The model that answers, in the server's words.
        model: String,
        /// Request id, retry history.
        metadata: Object,
    },
    /// More text.
    TextDelta {
        /// The new text.
        text: String,
    },
    /// More of a call; for display only.
    ToolCallDelta {
        /// Which call of this reply, from 0.
        index: usize,
        /// Canonical name, once it is known.
        name: Option<String>,
        /// The new argument text.
        fragment: String,
    },
    /// More reasoning; for debugging only, never part of the answer (PRV-11).
    ReasoningDelta {
        /// The new reasoning text.
        text: String,
    },
    /// The adapter waits and asks again (PRV-8).
    Retry {
        /// The attempt that failed, from 1.
        attempt: u32,
        /// How long it waits, in milliseconds.
        wait_ms: u64,
        /// Why.
        error: ErrorPayload,
    },
    /// The whole reply. Nobody rebuilds it from deltas.
    Completed(Reply),
    /// The stream failed.
    Failed {
        /// What the loop may do about it.
        fault: ModelFault,
        /// What happened.
        error: ErrorPayload,
        /// What had arrived, if anything.
        partial: Option<Reply>,
    },
}

stored_enum! {
    /// What the loop may do about a failed stream.
    ModelFault {
        /// The prompt is too long for the model.
        Overflow = "overflow",
        /// Asking again may help.
        Retryable = "retryable",
        /// Asking again will not help.
        Fatal = "fatal",
        /// We stopped it ourselves.
        Aborted = "aborted",
    }
}

/// A complete reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// Text and calls, in the model's order.
    pub content: Vec<ContentBlock>,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended.
    pub stop: StopReason,
    /// Reasoning to echo, request id, attempts.
    #[serde(default)]
    pub metadata: Object,
}

impl Reply {
    /// The metadata key that says that all of the text counts as reasoning, since what opened it was never closed.
    pub const UNCLOSED_THINKING: &'static str = "unclosed_thinking";

    /// The calls, in the model's order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(ContentBlock::as_tool_call)
    }

    /// All text, joined as it came; where it stands in one block, without a copy.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let mut texts = self.content.iter().filter_map(ContentBlock::as_text);
        match (texts.next(), texts.next()) {
            (first, None) => Cow::Borrowed(first.unwrap_or_default()),
            (first, second) => Cow::Owned(first.into_iter().chain(second).chain(texts).collect()),
        }
    }
}

/// Tokens (TYP-8). What the provider did not say is absent, never zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the reply, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Both together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Prompt tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Prompt tokens written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Reply tokens spent on reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// As the provider said it.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub raw: Object,
}

impl Usage {
    /// What was added since it was `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let more = |now: Option<u64>, then: Option<u64>| now.map(|now| now.saturating_sub(then.unwrap_or(0)));
        Self {
            input_tokens: more(self.input_tokens, earlier.input_tokens),
            output_tokens: more(self.output_tokens, earlier.output_tokens),
            total_tokens: more(self.total_tokens, earlier.total_tokens),
            cache_read_tokens: more(self.cache_read_tokens, earlier.cache_read_tokens),
            cache_write_tokens: more(self.cache_write_tokens, earlier.cache_write_tokens),
            reasoning_tokens: more(self.reasoning_tokens, earlier.reasoning_tokens),
            raw: Object::new(),
        }
    }

    /// Adds another reply's tokens, for a run's sum. `raw` stays what it was.
    pub fn add(&mut self, other: &Usage) {
        fn sum(a: &mut Option<u64>, b: Option<u64>) {
            if let Some(b) = b {
                *a = Some(a.unwrap_or(0).saturating_add(b));
            }
        }
        sum(&mut self.input_tokens, other.input_tokens);
        sum(&mut self.output_tokens, other.output_tokens);
        sum(&mut self.total_tokens, other.total_tokens);
        sum(&mut self.cache_read_tokens, other.cache_read_tokens);
        sum(&mut self.cache_write_tokens, other.cache_write_tokens);
        sum(&mut self.reasoning_tokens, other.reasoning_tokens);
    }
}

/// Why a reply ended (TYP-8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopReason {
    /// In our words.
    pub kind: StopKind,
    /// In the provider's.
    pub raw: Option<String>,
}

impl StopReason {
    /// A reason without the provider's word.
    #[must_use]
    pub fn new(kind: StopKind) -> Self {
        Self { kind, raw: None }
    }
}

stored_enum! {
    /// Why a reply ended, in our words.
    StopKind {
        /// The model was done.
        EndTurn = "end_turn",
        /// The model waits for tools.
        ToolUse = "tool_use",
        /// The output limit cut it.
        MaxTokens = "max_tokens",
        /// A stop sequence was met.
        StopSequence = "stop_sequence",
        /// The provider withheld the answer.
        ContentFilter = "content_filter",
        /// The provider says that it failed.
        Error = "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_memo_is_made_once_for_its_key() {
        let memo = WireMemo::default();
        let made = Cell::new(0);
        let make = |text: &str| {
            made.set(made.get() + 1);
            text.to_owned()
        };
        assert_eq!(&*memo.get_or_make(1, || make("one")), "one");
        assert_eq!(&*memo.get_or_make(1, || make("never")), "one");
        assert_eq!(made.get(), 1);
        // Another adapter's form never stands in for this one's.
        assert_eq!(&*memo.get_or_make(2, || make("two")), "two");
        assert_eq!(&*memo.get_or_make(1, || make("never")), "one");
    }

    /// TYP-8: absent counts stay absent in a sum.
    #[test]
    fn usage_sums_what_is_known() {
        let mut sum = Usage::default();
        sum.add(&Usage { input_tokens: Some(3), ..Usage::default() });
        sum.add(&Usage { input_tokens: Some(4), output_tokens: Some(1), ..Usage::default() });
        assert_eq!((sum.input_tokens, sum.output_tokens, sum.cache_read_tokens), (Some(7), Some(1), None));
    }

    /// TYP-5: a request's parts are named as the contract names them, and a message keeps no wire form in JSON.
    #[test]
    fn a_request_serialises_neutrally() {
        let request = ModelRequest {
            model: "m".into(),
            system: Arc::new(SystemPrompt::default()),
            messages: vec![Arc::new(ModelMessage::new(Role::User, vec![ContentBlock::text("hi")]))],
            tools: Arc::new(ToolList::default()),
            tool_choice: ToolChoice::Auto,
            temperature: None,
            max_output_tokens: 10,
            provider_options: Object::new(),
            metadata: Object::new(),
        };
        let value = serde_json::to_value(&request).unwrap();
        assert_eq!(value["system"], serde_json::json!([]));
        assert_eq!(
            value["messages"],
            serde_json::json!([{"role": "user", "content": [{"type": "text", "text": "hi"}], "metadata": {}}])
        );
        assert_eq!(serde_json::from_value::<ModelRequest>(value).unwrap(), request);
    }
}
