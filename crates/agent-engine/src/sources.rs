//! What a request is made of, besides the path.

use std::collections::HashMap;
use std::sync::Arc;

pub use agent_protocol::ModelSettings;
use agent_protocol::{ModelMessage, NodeId, Object, SystemPrompt, ToolClass, ToolList};

use crate::budget::Budgets;
use crate::price::Price;

/// When and how older turns are summarised (CMP-5, CMP-8).
#[derive(Debug, Clone, Default)]
pub struct Compacting {
    /// Ahead of need, beside the running turns.
    pub background: bool,
    /// Ahead of need, when a run is over.
    pub at_end: bool,
    /// When a request does not fit.
    pub recovery: Recovery,
    /// The words that ask for a summary; `{max_words}` in them is filled in.
    pub request: Arc<str>,
    /// Who summarises; the run's own model in its own conversation if absent.
    pub by: Option<Summariser>,
    /// How the run's own model is asked for a summary, if otherwise than for an answer.
    pub temperature: Option<f64>,
}

impl Compacting {
    /// Whether anything is ever summarised.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.background || self.at_end || self.recovery == Recovery::Summary
    }
}

/// What happens when a request does not fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Older turns are summarised; where that fails, they are left out.
    Summary,
    /// The oldest turns are left out (PRV-15).
    #[default]
    Slide,
    /// The run ends as `prompt_too_long`.
    End,
}

/// Another model that summarises: it is given the conversation as one text.
#[derive(Debug, Clone)]
pub struct Summariser {
    /// Which, and how it is asked.
    pub model: ModelSettings,
    /// What it is told.
    pub system: Arc<SystemPrompt>,
    /// Room for the text, in its tokens.
    pub room: u64,
    /// Most tokens of its answer.
    pub max_output_tokens: u64,
    /// What its tokens cost, if that is known.
    pub price: Option<Price>,
}

/// What a request is made of, besides the path.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The system blocks.
    pub system: Arc<SystemPrompt>,
    /// The effective tool set.
    pub tools: ToolSet,
    /// How the window is shared out.
    pub budgets: Budgets,
    /// Which model, and how.
    pub model: ModelSettings,
    /// User-role messages that come last and are no history: task board, runtime state.
    pub tail: Vec<Arc<ModelMessage>>,
    /// Instruction nodes whose file stands in the system part: its block takes the place of node and result (INS-3).
    pub in_system: Arc<[NodeId]>,
    /// When and how older turns are summarised.
    pub compacting: Compacting,
    /// Hashes of the system blocks and of the tool list, for `context_built` (STO-13).
    pub fingerprint: Object,
}

impl Sources {
    /// Whether a request made from `other` begins with the same bytes.
    pub(crate) fn same_fixed_part(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.system, &other.system) && Arc::ptr_eq(&self.tools.list, &other.tools.list)
    }
}

/// The effective tool set of a run.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    /// As the model sees it.
    pub list: Arc<ToolList>,
    /// How each is scheduled, by canonical name.
    pub classes: Arc<HashMap<String, ToolClass>>,
}
