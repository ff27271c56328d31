//! What may be shown: text without secrets, and escaped on its way to a person.
//!
//! Two kinds of secrets are replaced: values that are known ([`KnownSecrets`]), and what looks like a secret
//! ([`SecretPatterns`]). Beside them stands the escaping, quoting and cutting of text that comes from models, tools and
//! files, so that nothing in it is hidden or taken for our own words. Everything is a function of its arguments.
//!
//! It is deliberately *not* the place where this is applied (known values to what is stored, STO-10's patterns to what is
//! shown): that is done by whoever stores and shows. It decides nothing about calls, opens no file and reads no
//! environment: it is handed the values it looks for.
//!
//! Secrets go first, then the text is escaped and cut: the other way round an escape or a cut inside a secret would hide
//! it.
//!
//! Read in this order: [`Redacted`], [`KnownSecrets`] and [`SecretStream`], [`SecretPatterns`] (one search for keywords,
//! a scanner for each); [`escape_for_prompt`] and [`escape_word`], [`quote_argv`], [`escape_bounded`].

mod display;
mod keys;
mod patterns;
mod redacted;
mod secrets;
#[cfg(test)]
mod testing;
pub mod within;

pub use display::{
    differing_characters, escape_bounded, escape_for_prompt, escape_for_terminal, escape_word, false_letter,
    in_one_line, is_same_text, looks_the_same, quote_argv, quote_name, shorten, shown_command, shown_name, shown_word,
    skeleton,
};
pub use patterns::{PatternsError, SecretPatterns};
pub use redacted::Redacted;
pub use secrets::{KnownSecrets, MAX_SECRET_BYTES, MIN_SECRET_BYTES, SecretsError, stream::SecretStream};
