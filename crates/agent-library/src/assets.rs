//! Packaged texts by id.

use crate::frontmatter::{self, Block, Document};

macro_rules! assets {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $file:literal;)*) => {
        /// A packaged text. The ids are stable names; files and wording may change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum AssetId {
            $($(#[$doc])* $name,)*
        }

        impl AssetId {
            /// Every packaged text.
            pub const ALL: &'static [AssetId] = &[$(AssetId::$name,)*];

            /// The id, as nodes and events record it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(AssetId::$name => $id,)* }
            }

            fn file(self) -> &'static str {
                match self { $(AssetId::$name => include_str!(concat!("../assets/", $file)),)* }
            }
        }
    };
}

assets! {
    /// What the agent is there for, and what binds it.
    SystemCore = "system.core", "prompts/system/core.md";
    /// How tools are used.
    SystemToolProtocol = "system.tool_protocol", "prompts/system/tool_protocol.md";
    /// How longer work is laid out.
    SystemTodo = "system.todo", "prompts/system/todo.md";
    /// What asks the user.
    SystemPermissions = "system.permissions", "prompts/system/permissions.md";
    /// What an Orchestrator does. Only in its runs.
    SystemMultiAgent = "system.multi_agent", "prompts/system/multi_agent.md";
    /// What memories are worth. Only where there are some.
    SystemMemory = "system.memory", "prompts/system/memory.md";
    /// What a summary of earlier turns is worth. Only where compaction is on.
    SystemCompact = "system.compact", "prompts/system/compact.md";
    /// The configuration to start from.
    TemplateConfig = "template.config.default", "templates/config_default.toml";
    /// How a plan is written. Placeholders: `goal`, `target`.
    TemplatePlan = "template.plan.default", "templates/plan_default.md";
    /// How a task is laid out as a graph of steps. Placeholder: `goal`.
    TemplateTaskDag = "template.task_dag.default", "templates/task_dag_default.md";
    /// A child with a context of its own.
    DefaultSubAgent = "agent.default_sub_agent", "agents/default_sub_agent.md";
    /// A child that goes on from its parent's conversation.
    DefaultForkAgent = "agent.default_fork_agent", "agents/default_fork_agent.md";
    /// A worker on the steps of a task.
    DefaultWorkerAgent = "agent.default_worker_agent", "agents/default_worker_agent.md";
    /// The agent that summarises a transcript for another model than its own. No catalog lists it.
    DefaultCompactAgent = "agent.default_compact_agent", "agents/default_compact_agent.md";
    /// The last user message of a conversation, or the end of a transcript, that is to be summarised. Placeholder: `max_words`.
    CompactRequest = "internal.compact_request", "prompts/internal/compact_request.md";
    /// System text of the job that finds out what is to be remembered.
    MemoryExtract = "internal.memory_extract", "prompts/internal/memory_extract.md";
    /// System text of the selector that finds memories for a query. Placeholder: `top_k`.
    MemoryRecall = "internal.memory_recall", "prompts/internal/memory_recall.md";
}

/// A packaged text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// Which one.
    pub id: AssetId,
    /// Counts the changes of its meaning; recorded wherever the text is used.
    pub version: u32,
    /// What an agent definition says of itself; nothing for other texts.
    pub frontmatter: Option<Block<'static>>,
    /// The text, without version and frontmatter.
    pub text: &'static str,
}

impl AssetId {
    /// The text with this id, such as `template.plan.default`; nothing for an id that does not exist.
    #[must_use]
    pub fn find(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.as_str() == id)
    }

    /// The text and its version.
    #[must_use]
    pub fn load(self) -> Asset {
        let file = self.file();
        let (first, rest) = file.split_once('\n').unwrap_or((file, ""));
        let version = version(first);
        // In Markdown the version stands in a comment that is not part of the text.
        let text = if first.starts_with("<!--") { rest } else { file };
        let Document { frontmatter, body, .. } = frontmatter::split(text);
        Asset { id: self, version, frontmatter, text: body.trim_end() }
    }
}

impl Asset {
    /// `id@version`, as `source` of a prompt block and in events.
    #[must_use]
    pub fn source(&self) -> String {
        format!("{}@{}", self.id.as_str(), self.version)
    }

    /// The text with each `{name}` of `values` replaced. Every other brace stays as it is, and what a value brings in is
    /// not looked at again.
    #[must_use]
    pub fn fill(&self, values: &[(&str, &str)]) -> String {
        fill(self.text, values)
    }
}

fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once('{') {
        filled.push_str(before);
        let value = values.iter().find_map(|(name, value)| {
            let after = inside.strip_prefix(name)?.strip_prefix('}')?;
            Some((value, after))
        });
        if let Some((value, after)) = value {
            filled.push_str(value);
            rest = after;
        } else {
            filled.push('{');
            rest = inside;
        }
    }
    filled.push_str(rest);
    filled
}

/// The number after the word "version" in a file's first line; 0 where there is none, which a test refuses.
fn version(line: &str) -> u32 {
    let digits: String =
        line.split("version ").nth(1).unwrap_or_default().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
#[path = "assets_tests.rs"]
mod tests;
