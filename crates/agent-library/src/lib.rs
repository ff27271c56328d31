//! The texts that ship with the core: system prompts and templates, embedded when it is built and reached by `asset_id`.
//!
//! It is deliberately *not* a place for logic that uses a text, nor for the user's own files: those are outside sources
//! and are never copied in here (AST-3). Changing a text needs no change of code (AST-1).
//!
//! Read [`AssetId`] (what there is) and [`Asset`] (what a text is).

mod assets;

pub use assets::{Asset, AssetId};
