//! What a run may load, as it was when the run began (INS-1, SKL-1, MEM-1).

use std::path::Path;

use agent_library::instructions::{InstructionCatalog, ScanLimits};
use agent_library::skills::SkillCatalog;
use agent_policy::PathRules;
use agent_protocol::{ToolDescriptor, ToolRequirement};

use crate::memory::VisibleMemories;
use crate::settings::ContextPlaces;

/// The files there are.
#[derive(Debug, Default)]
pub(crate) struct Catalogs {
    pub(crate) instructions: InstructionCatalog,
    pub(crate) skills: SkillCatalog,
    /// Nothing where memory is off, or where there is none.
    pub(crate) memories: Option<VisibleMemories>,
}

impl Catalogs {
    /// Looks for them. Blocks. What may hold secrets is none of them: a catalog is sent unasked.
    pub(crate) fn scan(places: &ContextPlaces, rules: &PathRules) -> Self {
        let is_sensitive = |path: &Path| rules.sensitive(path).is_some();
        let instructions = InstructionCatalog::scan(&places.instructions, ScanLimits::default());
        Self {
            instructions: instructions.without(&is_sensitive),
            skills: SkillCatalog::scan(&places.skills_dir).without(&is_sensitive),
            memories: None,
        }
    }

    /// What is wrong with the user's files, one line each.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.instructions.problems().chain(self.skills.problems().iter().map(ToString::to_string)).collect()
    }

    /// Which of core's tools have something to work on.
    pub(crate) fn offer(&self) -> Offer {
        Offer { skills: !self.skills.entries().is_empty(), memories: self.memories.is_some() }
    }
}

/// Which of core's tools a run is offered, beyond those that every run is: others would only cost room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Offer {
    pub(crate) skills: bool,
    pub(crate) memories: bool,
}

impl Offer {
    /// Whether the tool has what it needs.
    pub(crate) fn serves(self, tool: &ToolDescriptor) -> bool {
        match tool.requires {
            Some(ToolRequirement::Skills) => self.skills,
            Some(ToolRequirement::Memories) => self.memories,
            None => true,
        }
    }
}
