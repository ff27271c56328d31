//! What is remembered over sessions: one Markdown file per memory, and the catalog `MEMORY.md` (MEM-1).
//!
//! Files are the truth, and people may edit them at any time. [`MemoryStore`] reads and forgets, [`Writer`] is the only
//! thing that writes what a model decided, and [`render_catalog`] is what a model gets to see. Nothing here waits for a model:
//! the lock is held for a read, a comparison and a write. The layout is described in `docs/design/memory-files.md`.
//!
//! Everything here blocks; whoever is async calls it elsewhere.

mod applied;
mod catalog;
mod category;
mod decision;
mod draft;
mod entry;
mod error;
mod folder;
mod format;
mod id;
mod listing;
mod lock;
mod moment;
mod name;
mod refusal;
mod render;
mod shapes;
mod store;
mod text;
mod writer;

#[cfg(test)]
mod tests;

pub use applied::{Applied, Conflicted, Misplaced, Refused};
pub use category::{MemoryCategory, UnknownCategory};
pub use decision::{Action, Based, Decision, Scope, SourceKind, Sources};
pub use entry::{MemoryEntry, MemoryProblem};
pub use error::{MemoryError, PlaceError, WriteError};
pub use id::{MemoryId, NoMemoryId};
pub use listing::MemoryListing;
pub use moment::{Moment, NoMoment};
pub use name::NameError;
pub use refusal::{Field, Refusal};
pub use render::{Rendered, render_catalog};
pub use shapes::Shape;
pub use store::MemoryStore;
pub use writer::Writer;
