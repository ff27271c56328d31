//! What the tests of the machine share.

use std::sync::Arc;

use agent_protocol::{Object, Permission, PromptBlock, SystemPrompt, ToolChoice, ToolClass, ToolDefinition};

use crate::sources::{Compacting, ModelSettings, Sources, ToolSet};
use crate::{Budgets, FixedParts};

const TOOLS: [(&str, ToolClass); 5] = [
    ("look", ToolClass::Readonly),
    ("peek", ToolClass::Readonly),
    ("write", ToolClass::Write),
    ("order", ToolClass::Ordered),
    ("child", ToolClass::Agent),
];

/// Sources with room for so many tokens of messages, and a tool of each class. The fixed part is the same each time.
pub(crate) fn sources(messages: u64) -> Sources {
    sources_of(0, messages)
}

/// One of two fixed parts, each the same each time.
pub(super) fn fixed(variant: usize) -> FixedParts {
    thread_local! {
        static FIXED: [FixedParts; 2] = ["", "others"].map(|text| FixedParts {
            system: Arc::new(SystemPrompt::from(if text.is_empty() { vec![] } else { vec![block(text)] })),
            tools: Arc::new(TOOLS.map(|tool| definition(tool, text)).to_vec().into()),
        });
    }
    FIXED.with(|fixed| fixed[variant].clone())
}

/// Sources with one of the two fixed parts.
pub(super) fn sources_of(variant: usize, messages: u64) -> Sources {
    let FixedParts { system, tools: list } = fixed(variant);
    Sources {
        system,
        tools: ToolSet { list, classes: Arc::new(TOOLS.map(|(name, class)| (name.to_owned(), class)).into()) },
        budgets: Budgets {
            window: messages * 2,
            fixed: 10,
            output: 77,
            output_bound: crate::OutputBound { max_output_tokens: true, ..crate::OutputBound::default() },
            dynamic: 0,
            messages,
            compact_at: messages * 3 / 4,
            summary: messages / 5,
            keep_recent: messages * 2 / 5,
            catalogs: 0,
        },
        model: ModelSettings {
            name: "m".into(),
            temperature: None,
            tool_choice: ToolChoice::Auto,
            provider_options: Object::new(),
        },
        tail: Vec::new(),
        in_system: Arc::default(),
        compacting: Compacting::default(),
        fingerprint: Object::from_iter([("variant".to_owned(), variant.into())]),
    }
}

fn block(text: &str) -> PromptBlock {
    PromptBlock {
        block_id: "system.test".into(),
        source: "test".into(),
        content: text.into(),
        priority: 0,
        dynamic: false,
        token_count: 1,
        metadata: Object::new(),
    }
}

fn definition((name, _): (&str, ToolClass), description: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        description: description.into(),
        input_schema: serde_json::json!({"type": "object"}),
        permission: Permission::Readonly,
        tags: Vec::new(),
        metadata: Object::new(),
    }
}
