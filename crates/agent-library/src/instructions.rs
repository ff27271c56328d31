//! Instruction files of the user and of the project: which there are, what they say about themselves, what is in them.
//!
//! [`InstructionCatalog::scan`] finds them, [`InstructionCatalog::render`] lists them for the model, [`read_body`] reads one,
//! [`share_room`] fits several into the room there is. Whether a file binds is decided above.

mod body;
mod catalog;
mod entry;
mod level;
mod names;
mod near;
mod places;
mod render;
mod scan;
mod share;
mod walk;

pub use body::{InstructionBody, read_body};
pub use catalog::InstructionCatalog;
pub use entry::{EntryProblem, InstructionEntry};
pub use level::Level;
pub use near::NearMiss;
pub use places::InstructionPlaces;
pub use scan::{ScanLimits, ScanReport, Stop};
pub use share::{Cut, Fitted, Loaded, share_room};

pub use crate::catalog::Rendered;

#[cfg(test)]
mod tests;
