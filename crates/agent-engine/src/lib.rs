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
//! is built from), [`compose()`] (how), [`Budgets`] (how much of it), [`ContextBuilt`] and [`rebuild()`] (a past request, made
//! again).

mod batch;
mod branch;
mod budget;
mod compose;
mod loops;
mod near;
mod notes;
mod path;
mod rebuild;
mod render;
mod report;
mod run;
mod tokens;

pub use batch::{Batch, Slot, SlotState, next_group};
pub use branch::{BranchError, branch_point};
pub use budget::{BudgetConfig, BudgetError, Budgets};
pub use compose::{ContextReport, CutPlan, Overflow, PINNED, Window, compose, fixed_parts, plan_cut};
pub use loops::{LoopVerdict, LoopWindow};
pub use near::near_names;
pub use path::{Omitted, Path, PathNode};
pub use rebuild::{FixedParts, RebuildError, rebuild};
pub use report::{ContextBuilt, EpochPart};
pub use run::{
    CommitNo, Effect, Input, JobNo, Limits, ModelSettings, Outcome, Price, Relief, RequestNo, ResultKind, Run, Sources,
    Target, ToolSet, Verdict, Write,
};
pub use tokens::{Calibration, TokenCounter};
