//! `agent.list_agent_definitions` (AGD-6).

use agent_protocol::{AgentDefinitionInfo, ErrorPayload, ToolClass, ToolRoles};
use agent_tool::{CallContext, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::roles::TAGS;
use crate::tools::port_tool::PortTool;
use crate::tools::room::{Room, json_len};

/// Lists the kinds of agents there are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {}

pub(super) struct List;

impl PortTool for List {
    type Input = Input;
    const NAME: &'static str = "agent.list_agent_definitions";
    const TAGS: &'static [&'static str] = TAGS;
    const ROLES: ToolRoles = ToolRoles::ROOT;
    const CLASS: ToolClass = ToolClass::Readonly;

    fn about(_: &Input) -> String {
        String::new()
    }

    fn run(_: Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
        async move {
            let all = context.children.definitions();
            let line = match all.len() {
                1 => "1 definition".to_owned(),
                many => format!("{many} definitions"),
            };
            Ok(ToolOutput::value(shown(&all, &Room::of(&context))).summary(line))
        }
        .boxed()
    }
}

/// As many of them as there is room for, whole; of the others their ids, as far as they go.
fn shown(all: &[AgentDefinitionInfo], room: &Room) -> Value {
    let ids = |of: &[AgentDefinitionInfo]| of.iter().map(|one| one.agent_definition_id.clone()).collect::<Vec<_>>();
    let bytes_of_ids = |of: &[AgentDefinitionInfo]| ids(of).iter().map(|id| id.len() + 3).sum::<usize>();
    let (mut used, mut listed) = (0, Vec::new());
    for (at, one) in all.iter().enumerate() {
        let entry = json!(one);
        let rest = bytes_of_ids(&all[at + 1..]).min(room.bytes() / 2);
        used += json_len(&entry) + 1;
        if used + rest > room.bytes() {
            break;
        }
        listed.push(entry);
    }
    let rest = &all[listed.len()..];
    let mut result = json!({ "definitions": listed });
    if !rest.is_empty() {
        let (named, more) = room.beside(json_len(&result)).ids(ids(rest));
        result["more_ids"] = named.into();
        if more > 0 {
            result["ids_left_out"] = more.into();
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use agent_protocol::{DefinitionSource, SuggestedTool, UnavailableReason};
    use agent_tool::testing::context;

    use super::*;

    fn definition(id: &str, description: &str) -> AgentDefinitionInfo {
        AgentDefinitionInfo {
            agent_definition_id: id.to_owned(),
            name: "N".to_owned(),
            description: description.to_owned(),
            source: DefinitionSource::User,
            tags: vec!["t".to_owned()],
            suggested_tools: vec![SuggestedTool {
                name: "code.search".to_owned(),
                available: false,
                unavailable_reason: Some(UnavailableReason::DisabledByConfig),
            }],
        }
    }

    /// AGD-6: what the rule names is told of each, and nothing else.
    #[test]
    fn all_fields_of_the_rule() {
        let shown = shown(&[definition("one", "D")], &Room::of(&context()));
        let tool = json!({"name": "code.search", "available": false, "unavailable_reason": "disabled_by_config"});
        let one = json!({
            "agent_definition_id": "one", "name": "N", "description": "D", "source": "user", "tags": ["t"],
            "suggested_tools": [tool],
        });
        assert_eq!(shown, json!({"definitions": [one]}));
    }

    /// AGD-6, ART-2: whatever the room, a list is no bigger, whole entries come first, and no id is dropped in silence.
    #[test]
    fn many_definitions_fit() {
        let all: Vec<_> = (0..60).map(|n| definition(&format!("definition_{n:02}"), &"words ".repeat(n))).collect();
        for bytes in [300, 1000, 4000, 16_000] {
            let mut context = context();
            context.result_bytes = bytes + 256;
            let shown = shown(&all, &Room::of(&context));
            assert!(json_len(&shown) <= bytes + 128, "{bytes}: {}", json_len(&shown));
            let listed = shown["definitions"].as_array().unwrap().len();
            let named = shown["more_ids"].as_array().map_or(0, Vec::len);
            let left_out = shown["ids_left_out"].as_u64().unwrap_or(0);
            assert_eq!(listed + named + usize::try_from(left_out).unwrap(), all.len(), "{bytes}");
            assert!(bytes < 4000 || listed > 5);
        }
    }
}
