//! Texts: those that ship with the core, and the user's own Markdown files.
//!
//! System prompts and templates are embedded when the core is built and reached by `asset_id`; changing one needs no change
//! of code (AST-1). The user's files (instructions, skills, agent definitions) are found, read and listed here: what they hold is data until
//! somebody above decides that it binds, and none of it is ever copied into the packaged texts (AST-3).
//!
//! It is deliberately *not* a place for logic that uses a text. It knows no model, no session and no task; reading blocks, so
//! callers do it where blocking is allowed.
//!
//! Reading order: [`AssetId`] and [`Asset`] (what ships), [`frontmatter::split`] (what all the user's files have in common),
//! [`instructions::InstructionCatalog`] and [`skills::SkillCatalog`] (what there is of the user's). docs/design/user-files.md
//! says what these files are.

pub mod agents;
mod assets;
mod catalog;
pub mod frontmatter;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod instructions;
pub mod memory;
pub mod shown;
pub mod skills;
mod source;

pub use assets::{Asset, AssetId};
pub use source::ReadError;
