//! What the tests of the machine share.

use std::sync::Arc;

use agent_protocol::{Object, Permission, SystemPrompt, ToolChoice, ToolClass, ToolDefinition, ToolList};

use super::{ModelSettings, Sources, ToolSet};
use crate::Budgets;

const TOOLS: [(&str, ToolClass); 5] = [
    ("look", ToolClass::Readonly),
    ("peek", ToolClass::Readonly),
    ("write", ToolClass::Write),
    ("order", ToolClass::Ordered),
    ("child", ToolClass::Agent),
];

/// Sources with room for so many tokens of messages, and a tool of each class. The fixed part is the same each time.
pub(super) fn sources(messages: u64) -> Sources {
    thread_local! {
        static FIXED: (Arc<SystemPrompt>, Arc<ToolList>) = (Arc::default(), Arc::new(TOOLS.map(definition).to_vec().into()));
    }
    let (system, list) = FIXED.with(Clone::clone);
    Sources {
        system,
        tools: ToolSet { list, classes: Arc::new(TOOLS.map(|(name, class)| (name.to_owned(), class)).into()) },
        budgets: Budgets {
            window: messages * 2,
            fixed: 10,
            output: 77,
            dynamic: 0,
            messages,
            compact_at: messages,
            summary: 0,
            keep_recent: 0,
            catalogs: 0,
        },
        model: ModelSettings {
            name: "m".into(),
            temperature: None,
            tool_choice: ToolChoice::Auto,
            provider_options: Object::new(),
        },
        tail: Vec::new(),
        fingerprint: Object::new(),
    }
}

fn definition((name, _): (&str, ToolClass)) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        description: String::new(),
        input_schema: serde_json::json!({"type": "object"}),
        permission: Permission::Readonly,
        tags: Vec::new(),
        metadata: Object::new(),
    }
}
