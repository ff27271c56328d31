//! From the pieces of a stream to one reply: what every adapter does the same way.

mod arguments;
mod builder;
mod calls;
mod halves;
mod ids;
mod inline;
mod kept;
mod lenient;
pub(crate) mod mend;
mod piece;
mod slot;
mod speech;
mod stop;

pub(crate) use builder::{About, ReplyBuilder};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use calls::CallSlots;
pub(crate) use inline::InlineThinking;
pub(crate) use kept::read as read_kept;
pub(crate) use lenient::{Part, Text, TextOrParts, argument_text};
pub(crate) use piece::CallPiece;
