//! A conversation with everything in it that went wrong, as a run that goes on with it would send it: through the engine, which
//! leaves out what no server takes.

use std::sync::Arc;

use agent_engine::{
    Budgets, Calibration, Compacting, ModelSettings, OutputBound, Path, Sources, ToolSet, Window, compose,
};
use agent_protocol::{
    ContentBlock, ErrorCode, ErrorPayload, ModelMessage, ModelRequest, NodeDraft, NodeType, Object, Role, RunId,
    ToolCall, ToolCallId, ToolChoice,
};
use serde_json::{Value, json};

use super::results::{accepted, call_id};
use crate::probe::say::{self, WEATHER};
use crate::probe::target::Target;
use crate::probe::verdict::{Miss, Verdict};

pub(super) async fn odd(target: &Target) -> Verdict {
    let request = request(target)?;
    let heard = target.ask(request).await?;
    Ok(format!("accepted: {}", accepted(&heard)?))
}

/// The conversation, composed.
fn request(target: &Target) -> Result<ModelRequest, Miss> {
    let run = RunId::parse("run_probe").map_err(|error| Miss::Failed(error.to_string()))?;
    let mut path = Path::new();
    for (n, message) in (1..).zip(messages()?) {
        path.push(&NodeDraft {
            node_id: run.node(n),
            parent_id: None,
            role: message.role,
            node_type: NodeType::Message,
            content: message.content.clone(),
            metadata: message.metadata.clone(),
            token_count: 0,
        });
    }
    match compose(&path, &sources(target), Window::default(), Calibration::default()) {
        Ok((request, _)) => Ok(request),
        Err(overflow) => Err(Miss::Failed(format!("our own composer: {overflow:?}"))),
    }
}

fn messages() -> Result<Vec<ModelMessage>, Miss> {
    let (broken, illegal, orphan) = (call_id("call_broken")?, call_id("call_illegal")?, call_id("call_orphan")?);
    Ok(vec![
        say::text(Role::User, "What is the weather in Oslo?"),
        broken_call(&broken),
        refused(&broken, ErrorCode::ValidationError, "the arguments are not valid JSON"),
        say::calls([(&illegal, "no such tool! (émigré) 🛠", json!({"city": "Oslo"}))]),
        refused(&illegal, ErrorCode::ToolNotAvailable, "there is no such tool"),
        say::calls([(&orphan, WEATHER, json!({"city": "Oslo"}))]),
        with_reasoning("It snows in Oslo.", json!("The user wants to know about snow.")),
        say::text(Role::User, "Are you sure?"),
        with_reasoning("Quite sure.", foreign_thought()),
        say::text(Role::User, "Thank you. Now say only the word: ready"),
    ])
}

/// As the adapters keep a call whose argument text is no object (PRV-6).
fn broken_call(id: &ToolCallId) -> ModelMessage {
    let mut metadata = Object::new();
    metadata.insert(ToolCall::INVALID_ARGUMENTS.to_owned(), Value::from("{\"city\": \"Os"));
    metadata.insert(ToolCall::ARGUMENTS_ERROR.to_owned(), Value::from("the arguments are not valid JSON"));
    let call = ToolCall { tool_call_id: id.clone(), name: WEATHER.to_owned(), arguments: Object::new(), metadata };
    ModelMessage::new(Role::Assistant, vec![ContentBlock::text("Let me see."), ContentBlock::ToolCall(call)])
}

fn refused(id: &ToolCallId, code: ErrorCode, message: &str) -> ModelMessage {
    let mut block = say::result_block(id, vec![]);
    block.is_error = true;
    block.error = Some(ErrorPayload::new(code, message));
    ModelMessage::new(Role::Tool, vec![ContentBlock::ToolResult(block)])
}

fn with_reasoning(text: &str, reasoning: Value) -> ModelMessage {
    let mut message = say::text(Role::Assistant, text);
    message.metadata.insert(ModelMessage::REASONING.to_owned(), reasoning);
    message
}

/// A signed thought of a model that is not the one that is asked now.
fn foreign_thought() -> Value {
    json!({
        "provider": "elsewhere", "model": "another-model", "digest": "0123456789ab",
        "blocks": [{"before": 0, "block": {"type": "thinking", "thinking": "Snow.", "signature": "c2lnbmVk"}}],
    })
}

/// Room for all of it: what is left out is left out for being broken, not for being long.
fn sources(target: &Target) -> Sources {
    let all = u64::MAX / 4;
    Sources {
        system: target.request(vec![]).system,
        tools: ToolSet { list: Arc::new(vec![say::weather()].into()), ..ToolSet::default() },
        budgets: Budgets {
            window: target.settings.context_window,
            fixed: 0,
            output: target.max_output_tokens,
            output_bound: OutputBound::default(),
            dynamic: 0,
            messages: all,
            compact_at: all,
            summary: 0,
            keep_recent: 0,
            catalogs: 0,
        },
        model: ModelSettings {
            name: target.model.clone(),
            temperature: Some(0.0),
            tool_choice: ToolChoice::Auto,
            provider_options: Object::new(),
        },
        tail: Vec::new(),
        in_system: Arc::default(),
        compacting: Compacting::default(),
        fingerprint: Object::new(),
    }
}
