//! Names that say that what follows is secret.

use super::bytes::{is_base64_url, is_word};
use super::window::{SAMPLE, Window};

/// Longer ones are none; bytes before and after the keyword.
const MAX_NAME: usize = 48;

/// A name around a keyword.
pub(super) struct Name<'t> {
    /// Without the dashes of an option.
    pub(super) text: &'t [u8],
    pub(super) start: usize,
    pub(super) end: usize,
    /// Begins with a dash, as options of commands do.
    pub(super) option: bool,
}

/// How sure a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A password: chosen by people, so anything may be one.
    Password,
    /// Probably one; a short name that means other things too.
    Pass,
    /// A token or key: made by machines, and looks like it.
    Key,
}

impl<'t> Name<'t> {
    pub(super) fn around(window: &Window<'t>) -> Option<Self> {
        let from = window.back(window.start, MAX_NAME, is_base64_url);
        let end = window.run_within(window.end, MAX_NAME, is_base64_url);
        if window.start - from == MAX_NAME || end - window.end == MAX_NAME {
            return None;
        }
        let dashes = window.run_within(from, MAX_NAME, |byte| byte == b'-');
        // In `\nTOKEN` the `n` is none of the name's.
        let escape = usize::from(
            dashes < window.start
                && window.has_before(dashes, b"\\")
                && matches!(window.text[dashes], b'n' | b'r' | b't'),
        );
        let start = window.run_within(dashes + escape, MAX_NAME, |byte| byte == b'-');
        let text = window.text.get(start..end)?;
        (start <= window.start).then_some(Self { text, start, end, option: start > dashes + escape || dashes > from })
    }

    /// As variables of the environment are written.
    pub(super) fn shouts(&self) -> bool {
        !self.text.iter().any(u8::is_ascii_lowercase)
    }

    /// Whether a scheme may stand before the value.
    pub(super) fn is_authorization(&self) -> bool {
        self.text.len() >= 13 && self.text[self.text.len() - 13..].eq_ignore_ascii_case(b"authorization")
    }

    pub(super) fn kind(&self) -> Option<Kind> {
        kind(self.text)
    }
}

const PASSWORDS: &str = "password passwd passphrase passcode passwort";

/// What comes before `pass` or `pwd` where it is surely short for a password.
const OWNERS: &str = "db database user admin root mysql postgres pg redis smtp mail email ftp ssh proxy http \
    auth login sudo vpn wifi ldap key";

/// Words before `key` that make it a secret one. Not `public`, `primary`, `cache`, `sort`.
const KEY_OWNERS: &str = "api access secret private priv auth signing sign encryption encrypt crypt cipher aes \
    hmac jwt master account app application consumer client subscription storage shared service server ssh \
    license licence admin root deploy webhook write integration session maps functions vault sas";

/// Tokens that only say where to go on reading, or what a text is made of.
const PLAIN_TOKENS: &str = "pagetoken nexttoken continuationtoken synctoken padtoken eostoken bostoken unktoken \
    septoken clstoken masktoken stoptoken cancellationtoken canceltoken";

/// What a name says by its end; `None` for names of other things.
pub(super) fn kind(name: &[u8]) -> Option<Kind> {
    super::bytes::looked_at(name.len());
    let name = &name[..name.len().min(SAMPLE)];
    let digits = name.iter().rev().take_while(|&&byte| byte.is_ascii_digit() || byte == b'_').count();
    let name = &name[..name.len() - digits];
    let folded: Vec<u8> =
        name.iter().filter(|&&byte| is_word(byte) && byte != b'_').map(u8::to_ascii_lowercase).collect();
    let ends = |last: &str| folded.ends_with(last.as_bytes());
    let ends_with_any = |words: &str| words.split(' ').any(ends);
    let owned = |last: &str, owners: &str| {
        let before = folded.strip_suffix(last.as_bytes());
        before.is_some_and(|before| owners.split(' ').any(|owner| before.ends_with(owner.as_bytes())))
    };
    if ends_with_any(PASSWORDS) || owned("pass", OWNERS) || owned("pwd", OWNERS) {
        return Some(Kind::Password);
    }
    if ends_with_any("pass pwd pw") {
        // The folder one is in, and the one before.
        let folder = matches!(name, b"PWD" | b"OLDPWD");
        return (!folder && last_word(name).len() <= 4).then_some(Kind::Pass);
    }
    let token = ends("token") && !ends_with_any(PLAIN_TOKENS);
    let key = owned("key", KEY_OWNERS) || ends("secretkeybase");
    let other = ends_with_any("secret credential credentials authorization");
    let auth = matches!(last_word(name), b"auth" | b"AUTH") && name.len() <= 5;
    (token || key || other || auth).then_some(Kind::Key)
}

/// From the last joint or the last capital after a small letter.
fn last_word(name: &[u8]) -> &[u8] {
    let begins = |at: usize| {
        let (before, first) = (name[at - 1], name[at]);
        !before.is_ascii_alphanumeric() || (before.is_ascii_lowercase() && first.is_ascii_uppercase())
    };
    let start = (1..name.len()).rev().find(|&at| begins(at)).unwrap_or(0);
    &name[start..]
}
