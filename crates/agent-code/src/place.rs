//! From a path to what it names, without a gap in which the answer could change (COD-1).
//!
//! A path is walked component by component from the root, each folder opened through the one before it and never
//! through a link: links are read and followed here. So the folder that is held at the end has exactly the path that is
//! told to whoever decides, and reading and writing start from that folder, not from the path.

mod attributes;
mod drafts;
mod folder;
mod pinned;
mod read;
mod replace;
mod system;
mod walk;

pub(crate) use drafts::Drafts;
pub(crate) use folder::Folder;
#[cfg(test)]
pub(crate) use pinned::Pinned;
pub(crate) use read::{OpenFile, kind_name, regular, stamp, target_kind};
pub(crate) use replace::{Before, ReplaceError, Writable};
pub(crate) use system::{Identity, identity};
pub(crate) use walk::{Found, WalkError, walk};
