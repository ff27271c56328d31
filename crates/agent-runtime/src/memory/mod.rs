//! What is remembered over sessions: found out after runs, listed in prompts, and brought back by a call (MEM-1 to MEM-12).
//!
//! The files belong to `agent-library`: its writer alone decides what gets into them. What is here asks models and keeps the
//! order: [`Extractor`] looks after every run whether there is something to find out, and then does that beside all runs, one job
//! at a time; [`Memory::recall_tool`] is the call; [`VisibleMemories`] is the list in a prompt.
//!
//! A switched-off memory is no [`Memory`] at all (MEM-8).

mod answer;
mod apply;
mod ask;
mod batch;
mod extractor;
mod job;
mod memories;
mod place;
mod prompt;
mod recall;
mod schedule;
mod select;
mod shorten;
mod telling;
mod trigger;
mod wish;

pub(crate) use extractor::{Extractor, ExtractorParts};
pub(crate) use memories::VisibleMemories;
pub use memories::{Memory, MemoryModel, MemorySettings};
