//! From the pieces of a stream to one reply: what every adapter does the same way.

mod arguments;
mod builder;
mod calls;
mod ids;
mod kept;
mod lenient;
mod stop;

pub(crate) use builder::{About, ReplyBuilder};
pub(crate) use calls::CallPiece;
pub(crate) use kept::read as read_kept;
pub(crate) use lenient::{Part, Text, TextOrParts, argument_text};
