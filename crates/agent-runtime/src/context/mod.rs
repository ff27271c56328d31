//! What a request is made of besides the conversation, gathered anew where it changes (CTX-2, INS-3).

mod catalogs;
mod gather;
mod instructions;
mod loaded;
mod noticed;
mod system;

pub(crate) use catalogs::{Catalogs, Offer};
pub(crate) use gather::{Gathered, Gatherer, InstructionNode};
pub(crate) use instructions::InstructionFiles;
pub(crate) use loaded::Loaded;
pub(crate) use noticed::{noticed, will_change};
pub(crate) use system::{SystemParts, fixed_blocks};
