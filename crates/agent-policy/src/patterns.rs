//! Secrets nobody told us about, found by their shape and replaced by markers (STO-10, second class).
//!
//! One search for keywords runs over the text. Each keyword belongs to a rule, a scanner written by hand that looks around
//! its hit and names what is to be cut. Three properties hold by construction:
//!
//! - **Linear.** A rule looks a bounded way back, and forward over a run that no other hit of its keyword lies in, or that
//!   it cuts; what decides about a value of any length is its first [`window::SAMPLE`] bytes.
//! - **Idempotent.** A rule sees the text between two markers only. Where what it reads reaches a marker, it refuses, unless
//!   more text could only have confirmed it. So what it refused beside a secret it refuses beside the marker too.
//! - **Nothing else changes.** The result is the text with the cuts replaced.

mod aws;
mod base64;
mod extent;
mod header;
mod json;
mod keywords;
mod link;
mod marker;
mod name;
mod pair;
mod pem;
mod shape;
mod shapes;
mod stand_in;
mod token;
mod url;
mod value;
mod window;

use std::{borrow::Cow, fmt, ops::Range, sync::Arc};

use aho_corasick::{AhoCorasick, Input};

use crate::Redacted;
use keywords::Rule;
use marker::Markers;
use window::Window;

/// Why the patterns cannot be searched for.
#[derive(Debug, thiserror::Error)]
#[error("the keywords of secret patterns cannot be compiled into a search")]
pub struct PatternsError {
    #[from]
    source: aho_corasick::BuildError,
}

/// The shapes of keys, tokens, cookies, private keys and `NAME=secret` pairs, ready to be replaced by markers such as
/// `[redacted github token]`, or `[redacted]` where what stands around says enough.
///
/// For what is shown: events, logs, errors. It guesses: what looks like source code, a placeholder or prose stays, so a
/// secret that looks like a word is missed where no unmistakable name stands before it. Markers of
/// [`KnownSecrets`](crate::KnownSecrets) and its own stay as they are.
///
/// Making one takes about as long as redacting 200 KB, so keep it; cloning is cheap.
#[derive(Clone)]
pub struct SecretPatterns {
    search: AhoCorasick,
    /// By pattern of the search.
    rules: Arc<[Rule]>,
}

/// A range of a text, and what stands in its place.
struct Cut {
    range: Range<usize>,
    marker: &'static str,
}

impl SecretPatterns {
    /// Compiles the keywords.
    ///
    /// # Errors
    /// When the search cannot be built; the keywords are fixed, so only for want of room.
    pub fn new() -> Result<Self, PatternsError> {
        let (search, rules) = keywords::compile()?;
        Ok(Self { search, rules })
    }

    /// Replaces what looks like a secret; the text around it is untouched. Of two that overlap, the one found first wins.
    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> Redacted<'t> {
        let cuts = self.cuts(text.as_bytes());
        if cuts.is_empty() {
            return Redacted { text: Cow::Borrowed(text), hit: false };
        }
        let (mut out, mut done) = (String::with_capacity(text.len()), 0);
        for Cut { range, marker } in cuts {
            // Cuts begin and end beside an ASCII byte or at an end of the text, so between characters.
            out.push_str(&text[done..range.start]);
            out.push_str(marker);
            done = range.end;
        }
        out.push_str(&text[done..]);
        Redacted { text: Cow::Owned(out), hit: true }
    }

    /// What is to be replaced, in order, apart from each other.
    fn cuts(&self, text: &[u8]) -> Vec<Cut> {
        let mut scan = Scan { text, markers: Markers::new(text), at: 0, floor: 0, cuts: Vec::new(), passed: 0 };
        loop {
            let stop = scan.stop();
            match self.search.find(Input::new(text).range(scan.at..stop)) {
                Some(found) => scan.meet(self.rules[found.pattern().as_usize()], found.range(), stop),
                None if stop == text.len() && scan.passed == scan.cuts.len() => return scan.cuts,
                None => scan.pass(),
            }
        }
    }
}

/// How far a text is searched.
struct Scan<'t> {
    text: &'t [u8],
    markers: Markers<'t>,
    /// Where the search goes on.
    at: usize,
    /// Before it everything is decided; no rule looks there.
    floor: usize,
    /// In order. From `passed` on they lie ahead: between a keyword and what is cut for it there may be others, which see
    /// the cut as if its marker stood there already.
    cuts: Vec<Cut>,
    passed: usize,
}

impl Scan<'_> {
    /// How far the next keyword may reach.
    fn stop(&self) -> usize {
        self.cuts.get(self.passed).map_or(self.text.len(), |cut| cut.range.start)
    }

    fn meet(&mut self, rule: Rule, found: Range<usize>, stop: usize) {
        // Where nothing is cut the search goes on inside the keyword, which may hide another.
        self.at = found.start + 1;
        if matches!(rule, Rule::Marker) {
            if let Some(length) = marker::length(&self.text[found.start..]) {
                self.at = found.start + length;
                self.floor = self.at;
            }
            return;
        }
        let limit = self.markers.next(found.start).min(stop);
        let window = Window::new(self.text, self.floor..limit, found, &self.cuts[self.passed..]);
        let mut new = Vec::new();
        rule.look(&window, &mut new);
        if new.is_empty() {
            return;
        }
        let floor = self.floor;
        self.cuts.extend(
            new.into_iter().map(|Cut { range, marker }| Cut { range: floor + range.start..floor + range.end, marker }),
        );
        self.cuts[self.passed..].sort_by_key(|cut| cut.range.start);
        while self.stop() < self.at {
            self.pass();
        }
    }

    /// Leaves the next cut behind.
    fn pass(&mut self) {
        if let Some(cut) = self.cuts.get(self.passed) {
            self.at = self.at.max(cut.range.end);
            self.floor = cut.range.end;
            self.passed += 1;
        }
    }
}

/// There is nothing in it that changes.
impl fmt::Debug for SecretPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretPatterns").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
