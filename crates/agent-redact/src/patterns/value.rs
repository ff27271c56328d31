//! Whether a value is a secret.

use super::bytes::is_word;
use super::extent::Value;
use super::name::Kind;
use super::place::Place;
use super::shape::Shape;
use super::stand_in::{contains, is_code, is_one_of, is_stand_in, is_type_name};
use super::window::SAMPLE;

/// How long a value must be, by what is known about its place; bytes.
mod min {
    pub(super) const PASSWORD_IN_ENVIRONMENT: usize = 3;
    pub(super) const KEY_IN_ENVIRONMENT: usize = 6;
    pub(super) const PASSWORD: usize = 4;
    pub(super) const KEY: usize = 10;
    /// Without quotes it may be a name in source code.
    pub(super) const BARE_PASSWORD: usize = 6;
    pub(super) const BARE_KEY: usize = 12;
    /// Digits alone.
    pub(super) const NUMBER: usize = 16;
}

/// Whether to cut it.
pub(super) fn is_secret(kind: Kind, place: Place, value: &Value<'_>) -> bool {
    let text = value.sample;
    if is_stand_in(text) || is_code(value) {
        return false;
    }
    let shape = Shape::of(text);
    let (pass, length) = (kind != Kind::Key, shape.length);
    let blank = shape.blanks > 0;
    match place {
        // A quoted password may hold blanks, if it ends at all.
        Place::Environment if pass => {
            length >= min::PASSWORD_IN_ENVIRONMENT && (!blank || (value.is_quoted() && value.next.is_some()))
        }
        Place::Environment => {
            let number = shape.letters() == 0 || text.starts_with(b"0x");
            length >= if number { min::NUMBER } else { min::KEY_IN_ENVIRONMENT } && !blank
        }
        Place::Query | Place::Option if blank => false,
        Place::Query if pass => length >= min::PASSWORD_IN_ENVIRONMENT,
        Place::Query => {
            is_key(&shape) || (length >= min::PASSWORD && shape.digits > 1 && shape.letters() > 1) || length >= 20
        }
        Place::Option if pass => {
            length >= min::PASSWORD_IN_ENVIRONMENT && (value.is_quoted() || !is_plain_word(&shape))
        }
        Place::Option => is_key(&shape),
        Place::Plain => is_plain_secret(kind, &shape, value),
    }
}

/// Where the name is no variable's of the environment: anything may stand here.
fn is_plain_secret(kind: Kind, shape: &Shape, value: &Value<'_>) -> bool {
    if shape.blanks > 0 || is_word_of_forms(value.sample) {
        return false;
    }
    match kind {
        _ if value.wrapped => shape.digits > 0 && is_key(shape),
        Kind::Key if value.is_quoted() => is_key(shape),
        Kind::Key => shape.length >= min::BARE_KEY && shape.digits > 0 && is_key(shape) && !is_type_name(value.sample),
        Kind::Password if value.is_quoted() => shape.length >= min::PASSWORD && is_quoted_password(shape, value.sample),
        Kind::Password => is_bare_password(shape, value.sample),
        Kind::Pass => is_bare_password(shape, value.sample) && shape.letters() > 0,
    }
}

fn is_key(shape: &Shape) -> bool {
    shape.length >= min::KEY && shape.is_random()
}

/// Letters only, or joined words.
fn is_plain_word(shape: &Shape) -> bool {
    shape.letters() + shape.joints == shape.length
}

/// Anything but labels and names: `Passwort`, `user_name`, `newPassword`, `Mot de passe`.
fn is_quoted_password(shape: &Shape, text: &[u8]) -> bool {
    if shape.letters() + shape.foreign == shape.length {
        let word = shape.lower == shape.length && shape.length >= min::BARE_PASSWORD && !names_itself(text);
        return word || shape.is_jumbled();
    }
    let words = is_plain_word(shape) || (shape.digits == 0 && (names_itself(text) || ends_as_label(text)));
    !words && !text.starts_with(b"^")
}

/// A letter and a digit, or a symbol that no name has.
fn is_bare_password(shape: &Shape, text: &[u8]) -> bool {
    let joined = shape.letters() + shape.digits + shape.joints + text.iter().filter(|&&byte| byte == b':').count();
    if shape.length >= min::PASSWORD && joined < shape.length && !text.starts_with(b"#") {
        return shape.letters() > 0 && (shape.digits > 0 || !(ends_as_label(text) || names_itself(text)));
    }
    if shape.is_jumbled() {
        return true;
    }
    let number = shape.digits == shape.length;
    shape.length >= min::BARE_PASSWORD && shape.digits > 0 && (shape.letters() > 0 || number) && !is_type(text)
}

/// Punctuation after words only.
fn ends_as_label(text: &[u8]) -> bool {
    let words = text.iter().rposition(|byte| !b":?*.,!".contains(byte)).map_or(&[][..], |last| &text[..=last]);
    words.iter().all(|&byte| is_word(byte) || byte == b'-' || byte >= 0x80)
}

/// `u32`, `varchar255`, `sha256`: a name of a type, a number behind it.
fn is_type(text: &[u8]) -> bool {
    const TYPES: &str = "i u f int uint float char nchar varchar nvarchar str string text bytes utf sha md aes \
        base bcrypt scrypt argon oauth input arg param value line level step phase round version option";
    let letters = text.iter().position(u8::is_ascii_digit).unwrap_or(text.len());
    let (name, number) = text.split_at(letters);
    number.iter().all(|&byte| byte.is_ascii_digit() || byte == b'_') && is_one_of(TYPES, name.trim_ascii_end())
}

/// What stands in a form or a schema where a password would stand.
fn is_word_of_forms(text: &[u8]) -> bool {
    const WORDS: &str = "string text textfield integer number object array boolean bytes required optional \
        invalid missing wrong incorrect expired forgot reset change update hidden visible input field label \
        title prompt default unknown disabled enabled empty blank binary base64 bcrypt scrypt argon2 pbkdf2 \
        sha256 oauth2 bearer basic refresh access client server static private public varchar keyring keychain \
        stdin prompted ignore include exclude strict confirm verify validate username email userpass interactive \
        description";
    is_one_of(WORDS, text)
}

/// `password_field`, `my-secret`: a name or a placeholder rather than a value.
fn names_itself(text: &[u8]) -> bool {
    "pass pwd secret token key credential auth login user".split(' ').any(|name| contains(text, name))
}

/// Whether the part of a URL between the colon and the `@` is a password.
pub(super) fn is_password_of_url(password: &[u8]) -> bool {
    let sample = &password[..password.len().min(SAMPLE)];
    let named = is_one_of("pass password passwd pwd secret token key x-oauth-basic", sample);
    sample.len() >= min::PASSWORD_IN_ENVIRONMENT && !named && !is_stand_in(sample)
}
