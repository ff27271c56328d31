//! What a request is made of besides the conversation, gathered anew where it changes (CTX-2, INS-3).

mod gather;
mod loaded;

pub(crate) use gather::{Gathered, Gatherer};
pub(crate) use loaded::Loaded;
