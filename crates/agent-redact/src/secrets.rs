//! Known secret values on their way out: replaced by their names (STO-10).

mod forms;
mod json;
mod piece;
mod placeholder;
mod question;
pub(crate) mod stream;
mod word;

use std::{borrow::Cow, fmt, sync::Arc};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::redacted::Redacted;
use placeholder::Placeholders;

/// Shorter values are left alone: replacing every `true` or `1234` would wreck ordinary text and protect nothing.
pub const MIN_SECRET_BYTES: usize = 6;
/// Longer values are left alone: no key is that long, and a text is held back for as long as it may become one.
pub const MAX_SECRET_BYTES: usize = 16 * 1024;

/// Why the known values cannot be searched for.
#[derive(Debug, thiserror::Error)]
#[error("the known secret values cannot be compiled into a search")]
pub struct SecretsError {
    #[from]
    source: aho_corasick::BuildError,
}

/// The secret values this process knows (of the variables named by `api_key_env` and the like), ready to be replaced by
/// `[secret NAME]` wherever they turn up.
///
/// Found as they are and in the forms they take inside other formats: JSON strings, URLs and HTML forms. Not found: base64,
/// hex or a hash of them, escapes of letters that need none, a value cut into pieces. Cloning is cheap.
#[derive(Clone)]
pub struct KnownSecrets(Arc<Inner>);

struct Inner {
    /// Absent when there is nothing to look for.
    search: Option<AhoCorasick>,
    /// By pattern: what stands in its place, and whether that counts as a hit.
    markers: Vec<Marker>,
    /// All patterns, sorted: what a text's end is compared with.
    patterns: Vec<Vec<u8>>,
    /// Length of the longest pattern.
    longest: usize,
    placeholders: Placeholders,
    names: Vec<String>,
    ignored: Vec<String>,
    ordinary: Vec<String>,
}

#[derive(Clone)]
struct Marker {
    text: Arc<str>,
    secret: bool,
    /// Tells the forms of a value, and values of the same name, apart: 1 is the first value as it is.
    form: usize,
}

impl KnownSecrets {
    /// Takes names and values. Blanks around a value are not part of it; where two names share a value, the first is shown. What
    /// people write where a server wants any key (`ollama`, `not-needed`) is no secret, and is passed over.
    ///
    /// # Errors
    /// When the values are too many to search for. The error holds no value.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (N, V)>) -> Result<Self, SecretsError> {
        let (mut names, mut ignored, mut ordinary) = (Vec::new(), Vec::new(), Vec::new());
        let mut found: Vec<(Vec<u8>, Marker)> = Vec::new();
        let mut placeholders = Placeholders::default();
        for (name, value) in pairs {
            let (name, value) = (name.as_ref(), value.as_ref().trim());
            if word::is_placeholder(value) {
                continue;
            }
            if !(MIN_SECRET_BYTES..=MAX_SECRET_BYTES).contains(&value.len()) {
                ignored.push(name.to_owned());
                continue;
            }
            if word::is_ordinary(value) {
                ordinary.push(name.to_owned());
            }
            let text: Arc<str> = marker(name).into();
            // The marker itself is passed over, so that redacting twice changes nothing even where a value is a word of it.
            found.push((text.as_bytes().to_vec(), Marker { text: Arc::clone(&text), secret: false, form: 0 }));
            for form in forms::forms(value) {
                let marker = Marker { text: Arc::clone(&text), secret: true, form: placeholders.add(&text) };
                found.push((form.into_bytes(), marker));
            }
            names.push(name.to_owned());
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        found.dedup_by(|(later, _), (first, _)| later == first);
        let (patterns, markers): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let search = (!patterns.is_empty()).then(|| search(&patterns)).transpose()?;
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        Ok(Self(Arc::new(Inner { search, markers, patterns, longest, placeholders, names, ignored, ordinary })))
    }

    /// No values: everything stays as it is.
    #[must_use]
    pub fn none() -> Self {
        Self(Arc::new(Inner {
            search: None,
            markers: Vec::new(),
            patterns: Vec::new(),
            longest: 0,
            placeholders: Placeholders::default(),
            names: Vec::new(),
            ignored: Vec::new(),
            ordinary: Vec::new(),
        }))
    }

    /// Whether there is nothing to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.search.is_none()
    }

    /// Names whose values are not looked for, because they are too short or too long (see [`MIN_SECRET_BYTES`] and
    /// [`MAX_SECRET_BYTES`]). Worth a warning: what is secret should be longer.
    #[must_use]
    pub fn ignored(&self) -> &[String] {
        &self.0.ignored
    }

    /// Names whose values look like ordinary words. They are replaced wherever they stand, also where the word means something else:
    /// worth a warning.
    #[must_use]
    pub fn ordinary(&self) -> &[String] {
        &self.0.ordinary
    }

    /// Length of the longest text that is looked for, in bytes; 0 if there is none. What is cut out of a text may be a piece
    /// of a secret as far as this from the cut: some forms are longer than the value itself.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.0.longest
    }

    /// Replaces every known value. Where two overlap, the one that begins first, and of those the longest, wins.
    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> Redacted<'t> {
        let (mut out, mut done, mut hit) = (String::new(), 0, false);
        for (start, end, marker) in self.matches(text.as_bytes()) {
            // Patterns are whole characters, so a match in text begins and ends between characters.
            out.push_str(&text[done..start]);
            out.push_str(&marker.text);
            (done, hit) = (end, hit | marker.secret);
        }
        if !hit {
            return Redacted { text: Cow::Borrowed(text), hit };
        }
        out.push_str(&text[done..]);
        Redacted { text: Cow::Owned(out), hit }
    }

    fn matches<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (usize, usize, &'a Marker)> {
        let found = self.0.search.iter().flat_map(move |search| search.find_iter(text));
        found.map(|found| (found.start(), found.end(), &self.0.markers[found.pattern().as_usize()]))
    }
}

fn search(patterns: &[Vec<u8>]) -> Result<AhoCorasick, aho_corasick::BuildError> {
    // A DFA over a few long private keys would take megabytes.
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(patterns)
}

/// What stands for a value. Letters that would end the marker early or escape from a JSON string are replaced.
fn marker(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    format!("[secret {}]", name.chars().map(safe).collect::<String>())
}

/// Names only.
impl fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownSecrets").field("names", &self.0.names).field("ignored", &self.0.ignored).finish()
    }
}

#[cfg(test)]
mod tests;
