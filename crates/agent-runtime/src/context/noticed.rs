//! What a finished call means for what is loaded: nodes it brings, instruction files it read, files it wrote.

use agent_engine::{AfterNode, ContextMark, keys};
use agent_policy::{Access, Facts};
use agent_protocol::{ContentBlock, Object, Permission, ToolCallId, ToolDescriptor, path_from_text};
use agent_tool::{ContextNode, ToolOutput};
use serde_json::Value;

use super::instructions::{InstructionFiles, ReadFile, Reading};
use super::loaded::Loaded;

/// A call is about to change what its facts say, or anything.
pub(crate) fn will_change(tool: &ToolDescriptor, facts: &Facts, files: &InstructionFiles) {
    if tool.definition.permission == Permission::Readonly {
        return;
    }
    if facts.command.is_some() || facts.targets.is_empty() {
        files.changes().something_ran();
    }
    for target in facts.targets.iter().filter(|target| target.access == Access::Write) {
        files.changes().written(&target.resolved);
    }
}

/// The nodes a call adds to the conversation; what its result says of an instruction file is put into it.
pub(crate) fn noticed(
    tool: &ToolDescriptor,
    files: &InstructionFiles,
    loaded: &Loaded,
    call: &ToolCallId,
    output: &mut ToolOutput,
) -> Vec<AfterNode> {
    let fact = |key: &str| output.metadata.get(key).and_then(Value::as_str).map(str::to_owned);
    let (touched, hash) = (fact(keys::READ_PATH), fact(keys::READ_HASH));
    // Only who has read a file knows its hash, also where the configuration makes reading ask.
    let is_reading = hash.is_some();
    if tool.definition.permission != Permission::Readonly && !is_reading {
        // Also where it failed: half of something may be there.
        match &touched {
            Some(path) => files.changes().written(&path_from_text(path)),
            None => files.changes().something_ran(),
        }
    }
    if output.error.is_some() {
        return Vec::new();
    }
    let mut nodes = if tool.is_of_core() { brought(loaded, output) } else { Vec::new() };
    if let (Some(path), Some(hash)) = (touched, hash) {
        let next_line = shown(output).and_then(|shown| shown.get("next_start_line")?.as_u64());
        let read = ReadFile { path: &path_from_text(&path), hash: &hash, call, next_line };
        nodes.extend(files.read(&read, loaded).and_then(|reading| tell(reading, output)));
    }
    nodes
}

/// The nodes that one of core's own calls brings; none twice.
fn brought(loaded: &Loaded, output: &ToolOutput) -> Vec<AfterNode> {
    let node = |entry: &ContextNode| AfterNode {
        node_type: entry.node_type,
        content: entry.content.clone(),
        metadata: entry.metadata.clone(),
    };
    let is_new =
        |entry: &&ContextNode| ContextMark::read(&entry.metadata).is_none_or(|mark| loaded.add(entry.node_type, &mark));
    output.context.iter().filter(is_new).map(node).collect()
}

/// Says in the result what it means that this file was read (INS-3, INS-6).
fn tell(reading: Reading, output: &mut ToolOutput) -> Option<AfterNode> {
    match reading {
        Reading::Registered(node) => return Some(node),
        Reading::AlreadyLoaded { in_system } => {
            output.metadata.insert("already_loaded".to_owned(), true.into());
            say(output, "already_loaded", true);
            if in_system {
                // Never doubled: what is there already is not said again.
                output.metadata.insert(keys::NOT_REPEATED.to_owned(), true.into());
                say(output, "content", "");
                say(output, "note", "This file is in the system part of the request, under its path.");
            }
        }
        Reading::NotYet => {
            say(
                output,
                "note",
                "A tool of this run made or changed this file: it does not bind before the user's next message.",
            );
        }
    }
    None
}

fn say(output: &mut ToolOutput, key: &str, value: impl Into<Value>) {
    let shown = output.content.iter_mut().find_map(|block| match block {
        ContentBlock::Json(json) => json.data.as_mut()?.as_object_mut(),
        _ => None,
    });
    if let Some(shown) = shown {
        shown.insert(key.to_owned(), value.into());
    }
}

fn shown(output: &ToolOutput) -> Option<&Object> {
    output.content.iter().find_map(|block| match block {
        ContentBlock::Json(json) => json.data.as_ref()?.as_object(),
        _ => None,
    })
}
