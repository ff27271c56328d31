//! The heart: a pure, steppable machine that holds every decision of a run.
//!
//! [`Run::step`] takes an [`Input`] (what happened outside) and gives [`Effect`]s (what to do next). There is no async, no
//! clock, no randomness, no file and no network in here; whoever drives the machine performs the effects strictly in
//! order and feeds their outcomes back. So a decision is a text-in/text-out test, a replay is a fold over inputs, and a
//! cancel or a full disk is just one more input.
//!
//! It is deliberately *not* a place for: streaming deltas (they go to the live stream directly), permission rules,
//! provider quirks, tool names (a tool declares its class), queues, ownership or time.
//!
//! Read in this order: [`Input`] and [`Effect`] (the alphabet), [`Run`] (the machine), [`Path`] (what the model's context
//! is built from), [`compose()`] (how), [`Budgets`] (how much of it), [`ContextBuilt`](agent_protocol::ContextBuilt) and [`rebuild()`] (a past request, made
//! again).

mod batch;
mod branch;
mod budget;
mod compose;
mod cut;
mod digest;
mod exchange;
mod lookalikes;
mod loops;
mod marks;
mod near;
mod notes;
mod numbers;
mod outcome;
mod path;
mod price;
mod rebuild;
mod rebuild_error;
mod render;
mod report;
mod run;
mod selection;
mod shorten;
mod sources;
mod summary;
mod tokens;
mod transcript;
mod window;
mod words;
mod written_calls;

pub use batch::{Batch, Slot, SlotState, next_group};
pub use branch::{BranchError, branch_point};
pub use budget::{BudgetConfig, BudgetError, Budgets, OutputBound};
pub use compose::{ContextReport, Overflow, compose, fixed_parts};
pub use cut::{CompactionPlan, CompactionRoom, CutPlan, PlannedCompaction, plan_compaction, plan_cut};
pub use exchange::Exchange;
pub use loops::{Given, LoopVerdict, LoopWindow};
pub use marks::{CompactionMark, ContextMark, keys};
pub use near::near_names;
pub use numbers::{CommitNo, JobNo, RequestNo};
pub use outcome::{AfterNode, Outcome, ResultKind};
pub use path::{Compaction, Omitted, PINNED, Path, PathNode};
pub use price::Price;
pub use rebuild::{FixedParts, check_report, rebuild};
pub use rebuild_error::RebuildError;
pub use render::framed;
pub use run::{
    AnswerRule, CompactFault, CompactMode, Compacted, Effect, Finished, Input, Limits, OthersSpent, Run, Target,
    Verdict, Write, answer_text, finish_compaction,
};
pub use sources::{Compacting, ModelSettings, Recovery, Sources, Summariser, ToolSet};
pub use summary::{SECTIONS, Summary, SummaryFault};
pub use tokens::{Calibration, TokenCounter};
pub use window::Window;
pub use words::{Saying, Sayings, WISH_WORDS, is_wish};
