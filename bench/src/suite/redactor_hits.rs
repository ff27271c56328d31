//! STO-10: what the patterns of secrets find in other people's source code, where there should be next to nothing.
//!
//! Nobody can count what is false but a person: every hit is written to a file, a line each.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use agent_redact::SecretPatterns;
use agent_testkit::scratch;

use super::definition::Suite;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;

pub(super) const SUITE: Suite = Suite {
    name: "redactor-hits",
    about: "hits for a MB of the source code on this machine; each is a line of hits.txt in the run's test folder",
    // What is found depends on the machine.
    by_name_only: true,
    measure,
};

/// Of one place, at most.
const MAX_BYTES: u64 = 400 << 20;
/// Bigger ones are data.
const MAX_FILE: u64 = 1 << 20;
/// What stands around a hit in the file of hits.
const AROUND: usize = 60;

/// What files of source code and its surroundings end with.
const SOURCES: &str = "rs py pyi c h cc cpp hpp js mjs ts tsx jsx go java kt rb pl pm php sh bash zsh lua sql css html xml \
    toml yaml yml json ini cfg conf md rst txt in am m4 cmake tcl el vim service";

/// Names before a hit that says no more than `[redacted]`, and what is before a value otherwise.
const FAMILIES: &[&str] =
    &["pass", "pwd", "_pw", "secret", "token", "key", "credential", "auth", "cookie", "bearer", "basic", "sig", "://"];

fn measure(_: &Bench) -> Result<Vec<Row>, BenchError> {
    let patterns = SecretPatterns::new()?;
    let list = scratch("hits").join("hits.txt");
    let failed = || BenchError::file("write", &list);
    let mut out = fs::File::create(&list).map_err(failed())?;
    let mut rows = Vec::new();
    for (name, place) in places() {
        let (found, lines) = Found::below(&patterns, &place);
        out.write_all(lines.as_bytes()).map_err(failed())?;
        rows.extend(found.rows(&name)?);
    }
    Ok(rows)
}

fn places() -> Vec<(String, PathBuf)> {
    let home = std::env::home_dir().unwrap_or_default();
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let libraries = fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    let python =
        libraries.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")));
    let mut places = vec![("crates".to_owned(), cargo.join("registry/src"))];
    places.extend(python.map(|path| (path.display().to_string(), path)));
    places.push(("/usr/share".to_owned(), PathBuf::from("/usr/share")));
    places.into_iter().filter(|(_, place)| place.is_dir()).collect()
}

/// What was found in a place.
#[derive(Default)]
struct Found {
    bytes: u64,
    /// Hits by what they are taken for.
    hits: BTreeMap<String, usize>,
}

impl Found {
    /// With a line for each hit.
    fn below(patterns: &SecretPatterns, place: &Path) -> (Self, String) {
        let (mut found, mut lines) = (Self::default(), String::new());
        let mut folders = vec![place.to_owned()];
        while let Some(folder) = folders.pop() {
            // What cannot be listed or read is left out.
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() && is_source(&entry.path()) && found.bytes < MAX_BYTES {
                    found.look(patterns, &entry.path(), &mut lines);
                }
            }
        }
        (found, lines)
    }

    fn look(&mut self, patterns: &SecretPatterns, file: &Path, lines: &mut String) {
        let small = fs::metadata(file).is_ok_and(|meta| meta.len() <= MAX_FILE);
        let Some(text) = small.then(|| fs::read_to_string(file).ok()).flatten() else { return };
        // Its own markers would pass for hits.
        if text.contains("[redacted") {
            return;
        }
        self.bytes += text.len() as u64;
        let redacted = patterns.redact(&text);
        if !redacted.hit {
            return;
        }
        for Hit { range, marker } in hits(&text, &redacted.text) {
            let what = taken_for(&text, &range, marker);
            let before = floor_char(&text, range.start.saturating_sub(AROUND));
            let after = floor_char(&text, (range.end + AROUND / 2).min(text.len()));
            let shown = format!("{}⟦{}⟧{}", &text[before..range.start], &text[range.clone()], &text[range.end..after]);
            lines.push_str(&format!("{what}\t{}\t{}\n", file.display(), shown.escape_debug()));
            *self.hits.entry(what).or_default() += 1;
        }
    }

    fn rows(&self, place: &str) -> Result<Vec<Row>, BenchError> {
        let megabytes = self.bytes as f64 / 1e6;
        let row = |what: &str, count: usize| {
            let samples = Samples::new([count as f64 / megabytes])?;
            Ok::<_, BenchError>(Row::new(format!("{place}: {what} ({count})"), Unit::Ratio, samples))
        };
        let all = row(&format!("all hits for a MB, of {megabytes:.0} MB"), self.hits.values().sum());
        std::iter::once(all).chain(self.hits.iter().map(|(what, count)| row(what, *count))).collect()
    }
}

fn is_source(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str());
    end.is_some_and(|end| SOURCES.split_whitespace().any(|source| source == end))
}

/// A part of a text that was taken for a secret.
#[derive(Debug, PartialEq)]
struct Hit<'t> {
    range: Range<usize>,
    marker: &'t str,
}

/// Lays the redacted text over the original: what stands between two markers is found again behind what stood before.
fn hits<'t>(original: &str, redacted: &'t str) -> Vec<Hit<'t>> {
    let (mut hits, mut at, mut rest) = (Vec::new(), 0, redacted);
    while let Some(start) = rest.find("[redacted") {
        let Some(length) = rest[start..].find(']') else { break };
        let (marker, behind) = (&rest[start..=start + length], &rest[start + length + 1..]);
        let from = at + start;
        // Up to the next marker, or to the end.
        let stays = behind.find("[redacted").map_or(behind, |next| &behind[..next]);
        let found = if stays.len() == behind.len() {
            original.len().checked_sub(stays.len())
        } else {
            let search = floor_char(original, from + 1);
            original.get(search..).and_then(|tail| tail.find(stays)).map(|found| search + found)
        };
        let Some(end) = found.filter(|end| *end >= from) else { break };
        hits.push(Hit { range: from..end, marker });
        (at, rest) = (end, behind);
    }
    hits
}

fn floor_char(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn taken_for(text: &str, range: &Range<usize>, marker: &str) -> String {
    if marker != "[redacted]" {
        return marker.to_owned();
    }
    let before = text[floor_char(text, range.start.saturating_sub(AROUND))..range.start].to_ascii_lowercase();
    let family = FAMILIES.iter().filter_map(|family| Some((before.rfind(family)?, *family))).max();
    family.map_or_else(|| marker.to_owned(), |(_, family)| format!("{marker} after {family}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(original: &str, redacted: &str, expected: &[&str]) {
        let found: Vec<_> = hits(original, redacted).into_iter().map(|hit| original[hit.range].to_owned()).collect();
        assert_eq!(found, expected, "{original}");
    }

    /// What was replaced is found again, one or many, at the ends too.
    #[test]
    fn hits_are_found_again() {
        check("a=hunter2", "a=[redacted]", &["hunter2"]);
        check("hunter2 x", "[redacted] x", &["hunter2"]);
        check("a=one; b=two; c", "a=[redacted]; b=[redacted github token]; c", &["one", "two"]);
        check("ä=öne; b=twö", "ä=[redacted]; b=[redacted]", &["öne", "twö"]);
    }

    #[test]
    fn a_plain_hit_is_named_by_what_stands_before() {
        let text = "my_password = \"hunter2\"";
        assert_eq!(taken_for(text, &(15..22), "[redacted]"), "[redacted] after pass");
        assert_eq!(taken_for(text, &(15..22), "[redacted jwt]"), "[redacted jwt]");
    }
}
