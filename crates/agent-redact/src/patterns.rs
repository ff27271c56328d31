//! Secrets nobody told us about, found by their shape and replaced by markers (STO-10, second class).
//!
//! One search for keywords runs over the text. Each keyword belongs to a rule, a scanner written by hand that looks
//! around its hit and names what is to be cut. Three properties hold by construction:
//!
//! - **Linear.** A rule looks a bounded way back, and forward over a run that no other hit of its keyword lies in, or
//!   that it cuts; what decides about a value of any length is its first [`window::SAMPLE`] bytes.
//! - **Idempotent.** A rule sees the text between two markers only (cookies go on behind them), and what will be cut
//!   counts as a marker at once. Where what it reads reaches a marker, it refuses, unless more text could only have
//!   confirmed it: what it refused beside a secret it refuses beside the marker too.
//! - **Nothing else changes.** The result is the text with the cuts replaced.

mod aws;
mod base64;
mod bytes;
mod cut;
mod extent;
mod header;
mod json;
mod keywords;
mod link;
mod marker;
mod name;
mod pair;
mod pem;
mod place;
mod shape;
mod shapes;
mod stand_in;
mod token;
mod url;
mod value;
mod window;

use std::{borrow::Cow, cmp::Reverse, fmt, ops::Range, sync::Arc};

use aho_corasick::{AhoCorasick, Input};

use crate::redacted::Redacted;
use cut::Cut;
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

impl SecretPatterns {
    /// Compiles the keywords.
    ///
    /// # Errors
    /// When the search cannot be built; the keywords are fixed, so only for want of room.
    pub fn new() -> Result<Self, PatternsError> {
        let (search, rules) = keywords::compile()?;
        Ok(Self { search, rules })
    }

    /// Replaces what looks like a secret; the text around it is untouched. Of two that overlap, the one found first
    /// wins.
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
        let mut scan = Scan { text, markers: Markers::new(text), at: 0, floor: 0, cuts: Vec::new(), ahead: Vec::new() };
        loop {
            let stop = scan.stop();
            match self.search.find(Input::new(text).range(scan.at..stop)) {
                Some(found) => scan.meet(self.rules[found.pattern().as_usize()], found.range()),
                None if scan.ahead.is_empty() => return scan.cuts,
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
    /// What is decided, in order.
    cuts: Vec<Cut>,
    /// What will be cut further on, the nearest last. Between a keyword and its cut there may be other keywords; they
    /// see the cut as if its marker stood there already.
    ahead: Vec<Cut>,
}

impl Scan<'_> {
    /// How far the next keyword may reach.
    fn stop(&self) -> usize {
        self.ahead.last().map_or(self.text.len(), |cut| cut.range.start)
    }

    fn meet(&mut self, rule: Rule, found: Range<usize>) {
        // Where nothing is cut the search goes on inside the keyword, which may hide another.
        self.at = found.start + 1;
        if matches!(rule, Rule::Marker) {
            if let Some(length) = marker::length(&self.text[found.start..]) {
                self.at = found.start + length;
                self.floor = self.at;
            }
            return;
        }
        let limit = self.markers.next(found.start).min(self.stop());
        let mut new = Vec::new();
        rule.look(&Window::new(self.text, self.floor..limit, found, &self.ahead), &mut new);
        self.add(new);
        while self.stop() < self.at {
            self.pass();
        }
    }

    /// Adds cuts that count from the floor.
    fn add(&mut self, mut new: Vec<Cut>) {
        for cut in &mut new {
            cut.range = self.floor + cut.range.start..self.floor + cut.range.end;
        }
        let stop = self.stop();
        let mixed = new.last().is_some_and(|last| last.range.end > stop);
        self.ahead.extend(new.into_iter().rev());
        if mixed {
            // Cookies behind a cut that lies ahead already.
            bytes::looked_at(self.ahead.len());
            self.ahead.sort_by_key(|cut| Reverse(cut.range.start));
        }
    }

    /// Leaves the next cut behind.
    fn pass(&mut self) {
        if let Some(cut) = self.ahead.pop() {
            self.at = self.at.max(cut.range.end);
            self.floor = cut.range.end;
            self.cuts.push(cut);
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
