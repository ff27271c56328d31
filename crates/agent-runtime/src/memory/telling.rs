//! Secrets told in plain words (MEM-4): "the staging password is hunter2". The patterns for what looks like a key do not see them, since the
//! value may look like anything. A memory can do without such a sentence, so this errs on the side of refusing.

/// What a secret is called, as a word or at the end of one.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "kennwort",
    "mot de passe",
    "contraseña",
    "senha",
    "пароль",
    "api key",
    "api-key",
    "apikey",
    "secret key",
    "access key",
    "access token",
    "auth token",
    "bearer token",
    "client secret",
    "pin",
    "pin code",
    "密码",
    "口令",
    "密钥",
    "パスワード",
];

/// What stands between a name and its value.
const LINKS: &[&str] =
    &[" is ", " ist ", " est ", " es ", " é ", " was ", " = ", "=", ": ", ":", "是", "为", "：", " to "];

/// Words that follow a name and a link where no value does.
const NOT_VALUES: &[&str] = &[
    "in",
    "kept",
    "stored",
    "managed",
    "never",
    "not",
    "always",
    "required",
    "needed",
    "set",
    "read",
    "taken",
    "rotated",
    "asked",
    "a",
    "an",
    "the",
    "his",
    "her",
    "their",
    "my",
    "our",
    "their",
    "be",
    "no",
    "empty",
    "optional",
    "only",
    "on",
    "at",
    "from",
    "by",
    "for",
    "handled",
    "left",
    "about",
    "what",
    "one",
    "too",
    "wrong",
    "hashed",
    "encrypted",
    "generated",
    "missing",
    "unknown",
    "im",
    "nicht",
    "nie",
];

/// Whether a text says what a password, key or PIN is.
pub(super) fn tells_a_secret(text: &str) -> bool {
    let text = text.to_lowercase();
    NAMES.iter().any(|name| text.match_indices(name).any(|(at, _)| is_told(&text, at, name)))
}

fn is_told(text: &str, at: usize, name: &str) -> bool {
    let (before, after) = (&text[..at], &text[at + name.len()..]);
    // "pin" is the end of many words; the longer names may well be.
    let is_word = !before.ends_with(char::is_alphanumeric) || name.len() > 4;
    is_word && values(after).any(is_value)
}

/// What stands behind each link in the same sentence, if the link comes soon.
fn values(after: &str) -> impl Iterator<Item = &str> {
    let sentence = after.split(['\n', '!', '?', ';']).next().unwrap_or_default();
    LINKS.iter().filter_map(move |link| {
        let (between, value) = sentence.split_once(link)?;
        let is_near = between.chars().count() <= 40 && !between.contains(". ");
        is_near.then_some(value.trim_start())
    })
}

fn is_value(rest: &str) -> bool {
    let word = rest.split(|c: char| c.is_whitespace() || matches!(c, ',' | ')' | '。')).next().unwrap_or_default();
    let word = word.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | '.' | '“' | '”' | '«' | '»'));
    !word.is_empty() && !NOT_VALUES.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MEM-4: a secret told in plain words is one.
    #[test]
    fn told_in_words() {
        for text in [
            "The staging password is hunter2-Tr0ub4dor.",
            "My password is hunter2",
            "The API key for staging is abcd1234efgh5678",
            "das Passwort ist geheim123",
            "My PIN is 4711",
            "db password: hunter2",
            "Password=tr0ub4dor",
            "密码是 hunter2",
            "the passphrase for the signing key is 'correct horse'",
        ] {
            assert!(tells_a_secret(text), "{text}");
        }
    }

    #[test]
    fn about_secrets_and_none() {
        for text in [
            "Passwords are kept in 1Password.",
            "The database password is stored in the vault, ask there.",
            "Never print the API key.",
            "The user wants the password field to be hidden.",
            "The pin board is in the kitchen.",
            "Spinning tests: use nextest.",
            "Prefers pnpm over npm; the lock file is committed.",
        ] {
            assert!(!tells_a_secret(text), "{text}");
        }
    }
}
