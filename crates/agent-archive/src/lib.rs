//! What was stored of sessions, as views that can be shown: listings, timelines, past requests, reports of contexts, Tasks; and
//! clearing it away.
//!
//! What people are shown is data here, which can be serialised: the command, a web page and other languages' bindings show the
//! same. Everything that leaves it has passed its screen: what looks like a secret is shown only where that is asked for (STO-10).
//! Timelines are read page by page, one page ahead of the reader, whatever the size of the session. A past request is made
//! again by the code of `agent-engine` that made it.
//!
//! It is deliberately *not* a place for SQL (`agent-store`), for runs (`agent-runtime`) or for rendering: it needs no provider,
//! no tool and no terminal.
//!
//! Read in this order: [`Archive`] (what can be asked), [`SessionListing`], [`Replay`], [`Timeline`], [`AgentTree`], [`RunInspection`] and
//! [`TurnInspection`], [`ContextReport`], [`ArtifactCleanup`], [`TaskArchive`].

mod archive;
mod change;
mod child;
mod cleanup;
mod context;
mod error;
mod inspect;
mod listing;
mod missing;
mod rebuild;
mod replay;
mod screen;
mod stored;
mod tasks;
mod timeline;
mod tree;

pub use archive::Archive;
pub use child::{ChildInspection, ChildPlace, WorkerPlace};
pub use cleanup::{ArtifactCleanup, CleanupCandidate, CleanupFailure, CleanupKept, CleanupReason, CleanupResult};
pub use context::{
    BlockReport, CompactionBegun, CompactionOutcome, CompactionReport, ContextEnd, ContextEntry, ContextReport,
    ContextRun, EpochContext, PinnedNode, RequestContext, RequestOutcome, RequestReport, UnreadableEvent, WindowShares,
};
pub use error::ArchiveError;
pub use inspect::{RunInspection, TurnInspection, TurnReply, TurnReport};
pub use listing::{FoundSessions, SessionHit, SessionListing, Standing};
pub use missing::Missing;
pub use replay::{Replay, ReplayResult};
pub use tasks::{DispatchedStepView, StepView, TaskArchive, TaskCleanup, TaskDamage, TaskLog, TaskSession, TaskView};
pub use timeline::{
    Timeline, TimelineCall, TimelineChild, TimelineChildEnd, TimelineEnd, TimelineEntry, TimelineFile, TimelineFold,
    TimelineOptions, TimelineOutcome, TimelineQuestion, TimelineScope, TimelineStep, TimelineTail,
};
pub use tree::{AgentTree, TreeAgent, TreeRun};
