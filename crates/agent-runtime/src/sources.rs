//! What the requests of a run have in common: tools, static system blocks, budgets.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use agent_engine::{BudgetError, Budgets, ToolSet, fixed_parts, near_names};
use agent_library::AssetId;
use agent_policy::{PathRules, ToolScope};
use agent_protocol::{
    AgentDefinition, AgentRole, ErrorCode, ErrorPayload, RunMode, SystemPrompt, ToolDescriptor, ToolOrigin,
    UnavailableReason,
};
use agent_redact::shown_word;
use agent_tool::{RegisterError, Registry, Tool};

use crate::blocks::block;
use crate::context::{Offer, SystemParts, fixed_blocks};
use crate::models::RunModel;
use crate::redact::Redactor;
use crate::run_spec::root_role;
use crate::settings::{ContextPlaces, RuntimeSettings};
use crate::some_of::some_of;

/// The tools that exist at one moment.
pub(crate) type Tools = Registry<Arc<dyn Tool>>;

/// The tools of a runtime. A run works with those there are when it starts ([`Self::snapshot`]).
pub(crate) struct RegisteredTools(RwLock<Arc<Tools>>);

impl RegisteredTools {
    pub(crate) fn new(tools: Tools) -> Self {
        Self(RwLock::new(Arc::new(tools)))
    }

    /// Adds one of the embedding program for the runs that start from now on.
    pub(crate) fn register(&self, tool: Arc<dyn Tool>) -> Result<(), RegisterError> {
        let mut tools = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut tools).add(ToolOrigin::Program, tool)
    }

    pub(crate) fn snapshot(&self) -> Arc<Tools> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// So many tools that a child cannot have are told with the reason.
const NAMED: usize = 20;

/// What is offered to whom.
#[derive(Clone, Copy)]
pub(crate) struct PartsFor<'a> {
    pub(crate) role: AgentRole,
    pub(crate) offer: Offer,
    /// Fewer tools than the role may have, by canonical name (AGT-3).
    pub(crate) allowed: Option<&'a HashSet<String>>,
    /// Who the agent is, if it is more than its role (AGD-4).
    pub(crate) definition: Option<&'a AgentDefinition>,
    pub(crate) model: &'a Arc<RunModel>,
}

/// What a run works with from its start to its end.
pub(crate) struct RunParts {
    pub(crate) system: SystemParts,
    /// The tools as they were when it started.
    pub(crate) tools: Arc<Tools>,
}

/// The effective tool set, in the order of names (TOL-4).
fn tool_set(tools: &Tools, scope: &ToolScope<'_>, offer: Offer) -> ToolSet {
    let is_in = |tool: &ToolDescriptor| scope.withholds(tool).is_none() && offer.serves(tool);
    let effective: Vec<_> = tools.iter().filter(|tool| is_in(tool.descriptor())).collect();
    let classes: HashMap<_, _> = effective.iter().map(|tool| (tool.definition().name.clone(), tool.class())).collect();
    // The contract's form alone: its bytes are sent, hashed and stored (STO-13).
    let list: Vec<_> = effective.into_iter().map(|tool| tool.definition().clone()).collect();
    ToolSet { list: Arc::new(list.into()), classes: Arc::new(classes) }
}

/// Why no kind of child can have the tool of that name, whatever it is started with (AGD-3); nothing if one can. A tool that is not
/// there is one of an MCP server (TOL-8), or one that this version or configuration does not have, and nobody can have it.
#[must_use]
pub fn unavailable_to_children(
    settings: &RuntimeSettings,
    tools: &Registry<Arc<dyn Tool>>,
    name: &str,
) -> Option<UnavailableReason> {
    let Some(tool) = tools.get(name) else { return Some(why_not_there(settings, name)) };
    let reason = |role| settings.tool_scope(role).excludes(tool.descriptor());
    let [sub, fork, worker] = [AgentRole::Sub, AgentRole::Fork, AgentRole::Worker].map(reason);
    sub.and(fork).and(worker)?.unavailable()
}

/// Why nobody has a tool that is not registered.
pub(crate) fn why_not_there(settings: &RuntimeSettings, name: &str) -> UnavailableReason {
    match settings.disabled_tools.contains(name) {
        true => UnavailableReason::DisabledByConfig,
        false => UnavailableReason::PolicyRestricted,
    }
}

/// How the context window of runs in a mode is shared out with these tools, before anything is opened. What only some runs have
/// (catalogs, tools for skills and memories) comes on top.
///
/// # Errors
/// When the fixed part leaves too little of the window (CFG-8).
pub fn check_budgets(
    settings: &RuntimeSettings,
    tools: &Registry<Arc<dyn Tool>>,
    mode: RunMode,
) -> Result<Budgets, BudgetError> {
    let role = root_role(mode);
    let system = fixed_blocks(settings, role, false);
    let tools = tool_set(tools, &settings.tool_scope(role), Offer::default());
    Budgets::derive(&settings.budgets, &fixed_parts(&system, &tools.list))
}

/// Makes the tool sets and static blocks of runs; those that many runs have once, so that their wire form is made once.
pub(crate) struct FixedPart {
    settings: Arc<RuntimeSettings>,
    registered: RegisteredTools,
    redactor: Redactor,
    rules: Arc<PathRules>,
    made: Mutex<HashMap<(AgentRole, Offer), Made>>,
}

#[derive(Clone)]
struct Made {
    /// What it was made of.
    tools: Arc<Tools>,
    set: ToolSet,
    blocks: Arc<SystemPrompt>,
}

impl FixedPart {
    pub(crate) fn new(settings: Arc<RuntimeSettings>, tools: Tools, redactor: Redactor, rules: Arc<PathRules>) -> Self {
        Self { settings, registered: RegisteredTools::new(tools), redactor, rules, made: Mutex::default() }
    }

    pub(crate) fn places(&self) -> &ContextPlaces {
        &self.settings.places
    }

    pub(crate) fn rules(&self) -> &Arc<PathRules> {
        &self.rules
    }

    pub(crate) fn registered(&self) -> &RegisteredTools {
        &self.registered
    }

    /// What a run works with; without what is only offered where it leaves too little of the window.
    pub(crate) fn parts(&self, wanted: PartsFor<'_>) -> RunParts {
        let shares = |made: &Made| Budgets::derive(&wanted.model.budgets, &fixed_parts(&made.blocks, &made.set.list));
        let mut made = self.made(wanted);
        let mut budgets = shares(&made);
        let plain = PartsFor { offer: Offer::default(), ..wanted };
        if budgets.is_err() && wanted.offer != plain.offer {
            made = self.made(plain);
            budgets = shares(&made);
        }
        let Made { tools, set, blocks } = made;
        let (model, redactor) = (Arc::clone(wanted.model), self.redactor.clone());
        let has_board = matches!(wanted.role, AgentRole::Orchestrator | AgentRole::Worker);
        let board = if has_board { self.settings.tasks.board.tokens } else { 0 };
        RunParts { system: SystemParts { model, tools: set, fixed: blocks, budgets, board, redactor }, tools }
    }

    fn made(&self, wanted: PartsFor<'_>) -> Made {
        let made = self.made_for_role(wanted);
        match wanted.definition {
            // What stands before it is the same for all of its role, the tools too.
            Some(definition) => Made { blocks: Arc::new(with_definition((*made.blocks).clone(), definition)), ..made },
            None => made,
        }
    }

    fn made_for_role(&self, wanted: PartsFor<'_>) -> Made {
        let tools = self.registered.snapshot();
        let make = || {
            let scope = ToolScope { requested: wanted.allowed, ..self.settings.tool_scope(wanted.role) };
            let blocks = Arc::new(fixed_blocks(&self.settings, wanted.role, wanted.offer.memories));
            Made { tools: Arc::clone(&tools), set: tool_set(&tools, &scope, wanted.offer), blocks }
        };
        // Each task of a child may bring tools of its own; only what its role has is made for many.
        if wanted.allowed.is_some() {
            return make();
        }
        let mut kept = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (wanted.role, wanted.offer);
        match kept.get(&key).filter(|made| Arc::ptr_eq(&made.tools, &tools)) {
            Some(made) => made.clone(),
            None => kept.entry(key).insert_entry(make()).get().clone(),
        }
    }

    /// The tools a child has, by canonical name; those that skills or memories need aside.
    pub(crate) fn tool_names(
        &self,
        role: AgentRole,
        allowed: Option<&HashSet<String>>,
        model: &Arc<RunModel>,
    ) -> Vec<String> {
        let wanted = PartsFor { role, offer: Offer::default(), allowed, definition: None, model };
        self.made(wanted).set.list.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    /// Checks the tools that a child is to have: each must exist and lie within what its role may have (AGT-3).
    ///
    /// # Errors
    /// `validation_error` that names all which do not.
    pub(crate) fn check_allowed(&self, role: AgentRole, allowed: &HashSet<String>) -> Result<(), ErrorPayload> {
        let (tools, scope) = (self.registered.snapshot(), self.settings.tool_scope(role));
        let mut names: Vec<_> = allowed.iter().collect();
        names.sort_unstable();
        let why = |name: &str| match tools.get(name) {
            Some(tool) => scope.excludes(tool.descriptor()).map(|why| why.to_string()),
            None => Some(match near_names(name, tools.names()).first() {
                Some(near) => format!("there is no such tool; did you mean {near}?"),
                None => "there is no such tool".to_owned(),
            }),
        };
        let refused: Vec<_> = names.into_iter().filter_map(|name| Some((name, why(name)?))).collect();
        if refused.is_empty() {
            return Ok(());
        }
        let told = refused.iter().map(|(name, why)| format!("{} ({why})", shown_word(name)));
        let message = format!("allowed_tools names what a child cannot have: {}", some_of(told, NAMED));
        let names: Vec<_> = refused.iter().map(|(name, _)| name.as_str()).collect();
        Err(ErrorPayload::new(ErrorCode::ValidationError, message).detail("tools", names))
    }

    /// Whether a run of the user in this role can be started at all.
    ///
    /// # Errors
    /// When the fixed part leaves too little of the window (CFG-8).
    pub(crate) fn check(&self, role: AgentRole, model: &Arc<RunModel>) -> Result<(), BudgetError> {
        let plain = PartsFor { role, offer: Offer::default(), allowed: None, definition: None, model };
        self.parts(plain).system.budgets.map(drop)
    }
}

/// The static blocks, and then who the agent is: what its definition says, or what a sub-agent is told where that says nothing
/// (AGD-4).
fn with_definition(blocks: SystemPrompt, definition: &AgentDefinition) -> SystemPrompt {
    let id = format!("agent_definition:{}", definition.agent_definition_id);
    let mut own = if definition.body.trim().is_empty() {
        let packaged = AssetId::DefaultSubAgent.load();
        block(&id, packaged.source(), packaged.text)
    } else {
        block(&id, format!("agent_definition.{}", definition.source.as_str()), &definition.body)
    };
    own.dynamic = true;
    own.priority = i32::try_from(blocks.blocks.len()).unwrap_or(i32::MAX);
    let mut all = blocks.blocks;
    all.push(own);
    all.into()
}

#[cfg(test)]
mod tests {
    use agent_protocol::{DefinitionSource, Object};

    use super::*;

    /// AGD-4: the body becomes a dynamic block behind the static ones; where there is none, it is the packaged text of a sub-agent.
    #[test]
    fn who_an_agent_is() {
        let definition = |body: &str| AgentDefinition {
            agent_definition_id: "one".to_owned(),
            name: "One".to_owned(),
            description: "The catalog's words.".to_owned(),
            body: body.to_owned(),
            model_profile: None,
            suggested_tools: Vec::new(),
            tags: Vec::new(),
            overrides: None,
            source: DefinitionSource::User,
            metadata: Object::new(),
        };
        let packaged = AssetId::DefaultSubAgent.load();
        for (body, source, says) in [
            ("You are one.", "agent_definition.user", "You are one."),
            ("", packaged.source().as_str(), packaged.text),
            (" \n", packaged.source().as_str(), packaged.text),
        ] {
            let made = with_definition(crate::blocks::blocks([AssetId::SystemCore]), &definition(body));
            let [core, own] = made.blocks.as_slice() else { panic!("{made:?}") };
            assert!(!core.dynamic && own.dynamic && own.priority == 1);
            assert_eq!((own.block_id.as_str(), own.source.as_str()), ("agent_definition:one", source));
            assert_eq!(own.content, says);
            assert!(!own.content.contains("The catalog's words."));
        }
    }
}
