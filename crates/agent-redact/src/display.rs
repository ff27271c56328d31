//! Text from models, tools and files on its way to a person: escaped, cut, quoted (PRM-6, CLI-2, CLI-3).

mod bidi;
mod bounded;
mod class;
mod command;
mod composed;
mod escape;
mod fit;
mod look_alike;
mod one_line;
mod quote;
mod shorten;

pub use bounded::{escape_bounded, shown_word};
pub use command::{shown_command, shown_name};
pub use escape::{escape_for_prompt, escape_for_terminal, escape_word};
pub use look_alike::{differing_characters, false_letter, is_same_text, looks_the_same, skeleton};
pub use one_line::in_one_line;
pub use quote::{quote_argv, quote_name};
pub use shorten::shorten;
