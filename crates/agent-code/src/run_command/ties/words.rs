//! Looking words up.

use std::path::{Path, PathBuf};

use agent_protocol::shown_path;

use super::{
    MAX_LOOKUPS, Search,
    expansion::{self, Part},
    modules,
};

/// How many parts a pattern may have.
const MAX_DEPTH: usize = 64;

impl Search<'_> {
    /// Looks all words up in the working directory, and in every folder that is found thereby.
    pub(super) fn words(&mut self, words: &[&str]) {
        let mut at = 0;
        while let Some(base) = self.bases.get(at).cloned() {
            for word in words {
                if self.ties.untied.is_some() {
                    return;
                }
                self.word(word, &base);
            }
            at += 1;
        }
        if self.listings.incomplete {
            self.too_many();
        }
    }

    fn word(&mut self, word: &str, base: &Path) {
        let workspace = self.workspace;
        if base == self.cwd {
            self.spelled_out.extend(workspace.rules().paths_spelled_out(word, base).take(MAX_LOOKUPS));
        }
        for (reading, path) in workspace.rules().paths_in_word(word, base) {
            self.named(reading, &path, base);
        }
        for module in modules::paths(word) {
            self.named(&module, &base.join(&module), base);
        }
        for part in expansion::parts(word) {
            match part {
                Part::Pattern(pattern) => self.pattern(&pattern, base),
                Part::Anything => self.put_together(),
            }
        }
        self.unusual(word, base);
    }

    /// A path, and what differs from it by an extension only.
    fn named(&mut self, reading: &str, path: &Path, base: &Path) {
        if self.ties.untied.is_some() || !self.named.insert(path.to_owned()) {
            return;
        }
        self.look(reading, path, base);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
            return;
        };
        let listing = self.listings.of(parent);
        if listing.resolved.as_ref().is_some_and(|folder| self.is_writable(folder)) {
            for name in listing.with_extension(name) {
                self.entry(parent, name);
            }
        }
    }

    fn entry(&mut self, folder: &Path, name: &str) {
        let path = folder.join(name);
        self.look(&shown_path(&path), &path, folder);
    }

    fn put_together(&mut self) {
        let why = "its words hold names that are put together only as it runs";
        self.ties.untied.get_or_insert_with(|| why.to_owned());
    }

    /// All that fits a pattern. A file that comes to fit later makes it another command.
    fn pattern(&mut self, pattern: &str, base: &Path) {
        let start = if pattern.starts_with('~') {
            self.workspace.rules().as_written(pattern, base)
        } else {
            base.join(pattern)
        };
        // What is before the pattern has no wildcards, even if it looks so.
        let (folder, rest) = match start.strip_prefix(base) {
            Ok(rest) => (base.to_owned(), rest),
            Err(_) => (PathBuf::from("/"), start.strip_prefix("/").unwrap_or(&start)),
        };
        let Some(rest) = rest.to_str() else {
            return self.untied(&start, "is a pattern below a folder whose name is not UTF-8");
        };
        let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.len() > MAX_DEPTH {
            return self.put_together();
        }
        self.follow(folder, &parts);
    }

    fn follow(&mut self, folder: PathBuf, parts: &[&str]) {
        self.steps += 1;
        if self.steps > MAX_LOOKUPS {
            return self.too_many();
        }
        if self.ties.untied.is_some() {
            return;
        }
        let Some((part, rest)) = parts.split_first() else {
            return self.look(&shown_path(&folder), &folder, &folder);
        };
        if !part.contains(['*', '?']) {
            return self.follow(folder.join(part), rest);
        }
        let listing = self.listings.of(&folder);
        if listing.foreign {
            return self.untied(&folder, "holds names that are not UTF-8, and a pattern may fit them");
        }
        if *part == "**" {
            self.follow(folder.clone(), rest);
            // A link may lead back up; then the steps run out.
            for name in &listing.names {
                let below = folder.join(name);
                if below.is_dir() {
                    self.follow(below, parts);
                }
            }
        }
        for name in listing.names.iter().filter(|name| expansion::fits(part, name)) {
            self.follow(folder.join(name), rest);
        }
    }

    /// Files whose names hold what would separate others, and that stand in a word once its quotes are gone.
    fn unusual(&mut self, word: &str, base: &Path) {
        let plain = |text: &str| text.replace(['\\', '"', '\''], "");
        let usual = |sign: char| sign.is_alphanumeric() || "_-.+~".contains(sign);
        let listing = self.listings.of(base);
        let mut unusual = listing.names.iter().filter(|name| !name.chars().all(usual)).peekable();
        if unusual.peek().is_none() {
            return;
        }
        let word = plain(word);
        for name in unusual {
            let bare = plain(name);
            for (at, _) in word.match_indices(bare.as_str()).take(MAX_DEPTH).filter(|_| !bare.is_empty()) {
                self.entry(base, name);
                // What is below such a folder has no other part of the word to be found by.
                let below = word[at + bare.len()..].strip_prefix('/').unwrap_or_default();
                let end = below.find(|sign: char| !usual(sign) && sign != '/').unwrap_or(below.len());
                if end > 0 {
                    self.entry(&base.join(name), &below[..end]);
                }
            }
        }
    }
}
