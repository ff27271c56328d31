//! What the machine knows.

use std::collections::HashSet;

use agent_protocol::{CutShort, EndReason, ErrorPayload, EventDraft, NodeId, RunId, RunMode, ToolCallId, Usage};

use super::answer_rule::AnswerRule;
use super::commits::Commits;
use super::counts::Counts;
use super::epoch::Epoch;
use super::estimates::Estimates;
use super::job::Job;
use super::limits::{Limits, OthersSpent};
use super::progress::Progress;
use super::prompt_counts::PromptCounts;
use super::spent::Spent;
use super::types::{Effect, Target, Write};
use crate::batch::Batch;
use crate::compose::Overflow;
use crate::loops::LoopWindow;
use crate::numbers::JobNo;
use crate::path::Path;
use crate::sources::Sources;
use crate::tokens::Calibration;
use crate::window::Window;

/// The machine.
#[derive(Debug)]
pub struct Run {
    pub(super) limits: Limits,
    pub(super) run_id: RunId,
    pub(super) path: Path,
    pub(super) sources: Option<Sources>,
    pub(super) phase: Phase,
    pub(super) window: Window,
    pub(super) epoch: Epoch,
    pub(super) calibration: Calibration,
    pub(super) estimates: Estimates,
    pub(super) prompt_counts: PromptCounts,
    pub(super) loops: LoopWindow,
    /// The one compaction of this path (CMP-6).
    pub(super) job: Option<Job>,
    /// Message tokens from which on the next one is tried ahead of need: none follows at the heels of another.
    pub(super) next_compaction_at: u64,
    pub(super) progress: Progress,
    pub(super) counts: Counts,
    pub(super) usage: Usage,
    /// The same with estimates where the provider counts nothing.
    pub(super) spent: Spent,
    /// What other runs of the tree have used.
    pub(super) others: OthersSpent,
    /// Assistant nodes the answer is made of: more than one after a continuation.
    pub(super) answer: Vec<NodeId>,
    /// What an answer has to be, if it has to be something.
    pub(super) answer_rule: Option<AnswerRule>,
    /// What `answer` holds is not as it has to be: the next reply takes its place.
    pub(super) answer_is_off: bool,
    /// What was shown of an answer that broke off, and is in no node of the path.
    pub(super) shown: Option<String>,
    pub(super) commits: Commits,
    /// Unanswered calls of earlier runs that were written down as begun; `None` where that is not known.
    pub(super) started_calls: Option<HashSet<ToolCallId>>,
    /// Children of earlier runs that were cut short, in words.
    pub(super) lost_children: Vec<String>,
    /// The agent's run before, where it was cut short.
    pub(super) cut_short: Option<CutShort>,
    /// The user's date, until the message that begins the run is made.
    pub(super) today: Option<String>,
    /// How the run works.
    pub(super) mode: RunMode,
}

#[derive(Debug)]
pub(super) enum Phase {
    Idle,
    /// Waits for `Sources`.
    Gathering,
    /// Waits for the model; holds the estimate of its request.
    Streaming {
        estimated: u64,
    },
    /// Works off the calls of a reply.
    Tools(Batch),
    /// Waits for the summary without which the next request does not fit; holds how much to keep if there will be none.
    Recovering {
        job: JobNo,
        keep: u64,
        overflow: Overflow,
        said: Option<ErrorPayload>,
    },
    /// Cancelled, or the store is gone: waits for what was aborted and keeps its output.
    Draining(Drain),
    /// `Finish` is out; its commit may still fail.
    Ending {
        end: EndReason,
        error: Option<ErrorPayload>,
    },
    Done,
}

#[derive(Debug)]
pub(super) struct Drain {
    pub(super) end: EndReason,
    pub(super) error: Option<ErrorPayload>,
    /// The model stream or job that was aborted and has not reported back.
    pub(super) open: Option<Target>,
    pub(super) batch: Option<Batch>,
    /// Nothing can be stored any more.
    pub(super) store_gone: bool,
}

/// What one step wants: writes are one commit, effects come after it.
#[derive(Default)]
pub(super) struct Out {
    pub(super) writes: Vec<Write>,
    pub(super) effects: Vec<Effect>,
}

impl Out {
    pub(super) fn event(&mut self, event: EventDraft) {
        self.writes.push(Write::Event(event));
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}
