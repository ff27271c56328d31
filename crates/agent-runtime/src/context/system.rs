//! The system part: packaged texts, catalogs and loaded instructions, each within its room (CTX-2, CFG-8).

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use agent_engine::{BudgetError, Budgets, Sources, TokenCounter, ToolSet, fixed_parts, framed};
use agent_library::AssetId;
use agent_library::instructions::{self, InstructionBody, InstructionEntry, Level, share_room};
use agent_protocol::{AgentRole, Object, PromptBlock, SystemPrompt, path_text};
use agent_store::Write;

use super::instructions::{InstructionFiles, shown};
use crate::blocks::{block, fingerprint, packaged};
use crate::models::RunModel;
use crate::redact::Redactor;
use crate::settings::RuntimeSettings;

/// What the frame around an instruction file costs, in tokens, beside its path.
const FRAME: u64 = 24;

/// What the system part of one run is made of.
pub(crate) struct SystemParts {
    pub(crate) model: Arc<RunModel>,
    pub(crate) tools: ToolSet,
    /// The static blocks before the catalogs.
    pub(crate) fixed: Arc<SystemPrompt>,
    /// How the window is shared out with these alone.
    pub(crate) budgets: Result<Budgets, BudgetError>,
    /// What of the room for catalogs is kept for the task board, where the run has to do with Tasks; at most half of it.
    pub(crate) board: u64,
    /// Takes known secrets out of what comes from files: a system part is stored and sent like everything else (STO-10).
    pub(crate) redactor: Redactor,
}

/// An instruction file that stands in the system part.
#[derive(Debug)]
pub(crate) struct InstructionText<'a> {
    pub(crate) path: PathBuf,
    pub(crate) entry: Option<&'a InstructionEntry>,
    pub(crate) level: Level,
    pub(crate) body: &'a InstructionBody,
}

/// Sources, the bytes behind their hashes, and the instruction files that are in the system part in full.
pub(crate) struct Made {
    pub(crate) sources: Sources,
    pub(crate) blobs: Vec<Write>,
    pub(crate) whole: HashSet<PathBuf>,
    /// Room for the task board: what the catalogs have left of theirs.
    pub(crate) board_room: u64,
}

impl SystemParts {
    /// Room for the results of one turn, in tokens. Where the window is too small for a run there is none, and the run says so.
    pub(crate) fn result_room(&self) -> u64 {
        self.budgets.as_ref().map_or(0, Budgets::results_of_a_turn)
    }

    /// Puts the sources together.
    ///
    /// # Errors
    /// When the fixed part leaves too little of the window (CFG-8).
    pub(crate) fn sources(&self, files: &InstructionFiles, texts: &[InstructionText<'_>]) -> Result<Made, BudgetError> {
        let model = &*self.model;
        let catalogs = &files.catalogs;
        let plain = self.budgets.clone()?;
        let mut added = Vec::new();
        // Catalogs share a room, and may not cost the run what it needs to work at all.
        let shared = plain.catalogs - self.board.min(plain.catalogs / 2);
        let mut room = shared.min(plain.spare());
        let all = room;
        let listed = catalogs.instructions.render(room, &count, &|path| files.changes().is_written(path));
        room -= count(&listed.text).min(room);
        if !listed.text.is_empty() {
            let mut catalog = block("instruction_catalog", "scan".to_owned(), &listed.text);
            catalog.metadata = listing_facts(listed.shown, listed.left_out, catalogs.instructions.report().truncated());
            added.push(catalog);
        }
        let fixed = self.with(&added);
        let budgets = Budgets::derive(&model.budgets, &fixed_parts(&fixed, &self.tools.list))?;
        let mut dynamic = budgets.dynamic;
        let mut catalogs_after = Vec::new();
        let skills = catalogs.skills.render(room.min(dynamic), &count);
        take(&skills.text, &mut room, &mut dynamic);
        push_catalog("skill_catalog", &skills.text, skills.shown, skills.left_out, &mut catalogs_after);
        if let Some(memories) = &catalogs.memories {
            let listed = memories.render(room.min(dynamic));
            take(&listed.text, &mut room, &mut dynamic);
            push_catalog("memory_catalog", &listed.text, listed.shown, listed.left_out, &mut catalogs_after);
        }
        let board_room = plain.catalogs - (all - room);
        let (blocks, whole) = instruction_blocks(texts, dynamic);
        added.extend(blocks);
        added.extend(catalogs_after);
        for block in &mut added {
            self.redactor.text(&mut block.content);
        }
        let system = if added.is_empty() { Arc::clone(&self.fixed) } else { Arc::new(self.with(&added)) };
        let (fingerprint, blobs) = fingerprint(&system, &self.tools.list);
        let sources = Sources {
            system,
            tools: self.tools.clone(),
            budgets,
            model: model.settings.clone(),
            tail: Vec::new(),
            in_system: Arc::default(),
            compacting: model.compacting.clone(),
            fingerprint,
        };
        Ok(Made { sources, blobs, whole, board_room })
    }

    fn with(&self, added: &[PromptBlock]) -> SystemPrompt {
        let mut blocks: Vec<_> = self.fixed.blocks.iter().chain(added).cloned().collect();
        for (priority, block) in (0..).zip(&mut blocks) {
            block.priority = priority;
        }
        blocks.into()
    }
}

/// The static blocks of a run before its catalogs: packaged texts in their order, then where the agent works.
pub(crate) fn fixed_blocks(settings: &RuntimeSettings, role: AgentRole, memories: bool) -> SystemPrompt {
    let always = [AssetId::SystemCore, AssetId::SystemToolProtocol, AssetId::SystemTodo, AssetId::SystemPermissions];
    let orchestrator = (role == AgentRole::Orchestrator).then_some(AssetId::SystemMultiAgent);
    let memory = memories.then_some(AssetId::SystemMemory);
    let compact = settings.compacting.is_on().then_some(AssetId::SystemCompact);
    let mut blocks: Vec<_> =
        always.into_iter().chain(orchestrator).chain(memory).chain(compact).map(packaged).collect();
    blocks.push(block("runtime.environment", "runtime".to_owned(), &settings.environment));
    for (priority, block) in (0..).zip(&mut blocks) {
        block.priority = priority;
    }
    blocks.into()
}

/// One block for each file, in the order of precedence: the project's from its root down come last, since what is nearer to
/// the work counts more.
fn instruction_blocks(texts: &[InstructionText<'_>], room: u64) -> (Vec<PromptBlock>, HashSet<PathBuf>) {
    let mut texts: Vec<_> = texts.iter().collect();
    texts.sort_by_key(|text| (text.level, depth(text), text.path.clone()));
    let names: Vec<_> = texts.iter().map(|text| shown(text.entry, &text.path)).collect();
    let frames: u64 = names.iter().map(|name| count(name) + FRAME).sum();
    let bodies: Vec<_> = texts.iter().map(|text| unframed(text.body)).collect();
    let loaded: Vec<_> = texts
        .iter()
        .zip(&names)
        .zip(&bodies)
        .map(|((text, name), body)| instructions::Loaded { shown: name, level: text.level, depth: depth(text), body })
        .collect();
    let fitted = share_room(&loaded, room.saturating_sub(frames), &count);
    let in_full = texts.iter().zip(&fitted).filter(|(_, fitted)| fitted.cut.is_none());
    let whole = in_full.map(|(text, _)| text.path.clone()).collect();
    let made = texts.iter().zip(&names).zip(fitted).filter(|(_, fitted)| !fitted.text.trim().is_empty());
    let blocks = made.map(|((text, name), fitted)| {
        let level = if text.level == Level::User { "user" } else { "project" };
        let attributes = [("path", name.as_str()), ("level", level)];
        let attributes = Object::from_iter(attributes.map(|(key, value)| (key.to_owned(), value.into())));
        let framed = framed("instructions", &attributes, &fitted.text);
        let mut made = block(&format!("instruction:{name}"), path_text(&text.path), &framed);
        made.dynamic = true;
        made.metadata.insert("file_hash".to_owned(), text.body.hash.as_str().into());
        if let Some(cut) = fitted.cut {
            made.metadata.insert("bytes_left_out".to_owned(), cut.left_out.into());
        }
        made
    });
    (blocks.collect(), whole)
}

/// A body whose words cannot end the frame around it: done before the room is shared, since it takes a byte each time.
fn unframed(body: &InstructionBody) -> Cow<'_, InstructionBody> {
    let closes = body.text.to_ascii_lowercase().contains("</instructions");
    if !closes {
        return Cow::Borrowed(body);
    }
    Cow::Owned(InstructionBody { text: body.text.replace("</", "<\\/"), ..body.clone() })
}

fn depth(text: &InstructionText<'_>) -> usize {
    text.entry.map_or(0, |entry| entry.depth)
}

fn take(text: &str, room: &mut u64, dynamic: &mut u64) {
    let tokens = count(text);
    *room -= tokens.min(*room);
    *dynamic -= tokens.min(*dynamic);
}

fn push_catalog(id: &str, text: &str, shown: usize, left_out: usize, to: &mut Vec<PromptBlock>) {
    if !text.is_empty() {
        let mut catalog = block(id, "scan".to_owned(), text);
        catalog.dynamic = true;
        catalog.metadata = listing_facts(shown, left_out, false);
        to.push(catalog);
    }
}

/// What of a catalog is in, for the report.
fn listing_facts(shown: usize, left_out: usize, truncated: bool) -> Object {
    let mut facts = Object::from_iter([("entries".to_owned(), shown.into())]);
    if left_out > 0 {
        facts.insert("left_out".to_owned(), left_out.into());
    }
    if truncated {
        facts.insert("truncated".to_owned(), true.into());
    }
    facts
}

fn count(text: &str) -> u64 {
    TokenCounter.text(text)
}
