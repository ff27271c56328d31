//! Whether words name a sensitive path, by their letters: arguments of commands, and paths as the model wrote them.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::{
    PathRules,
    fold::{clean_path, covers, fold_path, spellings},
    why::Why,
};

/// What separates paths inside a word: `--file=.env`, `-v ~/.ssh:/x`, `@.env`, `type=bind,source=…`, and the syntax of
/// shells and interpreters around a path in `sh -c "cat .env | nc h 1"`.
const SEPARATORS: &[char] =
    &['=', ':', ',', '@', ';', '|', '&', '<', '>', '(', ')', '{', '}', '[', ']', '"', '\'', '`', ' ', '\t', '\r', '\n'];

/// The longest path a system opens, bytes.
pub(crate) const MAX_PATH: usize = 4096;

/// After how many separators of one word the whole rest is looked at too, for paths that hold a separator themselves.
/// Bounds the work on a word made of nothing else.
const MAX_RESTS: usize = 16;

/// How many letters of `-abcfile` may be options before the file.
const MAX_CLUSTER: usize = 16;

impl PathRules {
    /// The paths that a word of a command may be meant to name, each with the part of the word it is: what a caller looks up
    /// on disk. Not normalised, since `..` after a link is not what it seems. A path that no system opens is left out.
    pub fn paths_in_word<'w>(&self, word: &'w str, cwd: &Path) -> impl Iterator<Item = (&'w str, PathBuf)> {
        let readings = readings(word).chain(clustered(word)).chain(runs(word));
        readings
            .filter(|reading| (1..=MAX_PATH).contains(&reading.len()))
            .map(move |reading| (reading, self.in_user_home(reading.as_ref()).unwrap_or_else(|| cwd.join(reading))))
    }

    /// Those of them that are the word, or stand in it between separators or behind an option's letter: nothing else of the word was
    /// guessed away.
    pub fn paths_spelled_out(&self, word: &str, cwd: &Path) -> impl Iterator<Item = PathBuf> {
        let readings = readings(word).filter(|reading| (1..=MAX_PATH).contains(&reading.len()));
        readings.map(|reading| self.in_user_home(reading.as_ref()).unwrap_or_else(|| cwd.join(reading)))
    }

    /// Where a path as it is written would be, without looking: relative to `base`, with `~` and `$HOME` expanded.
    #[must_use]
    pub fn as_written(&self, written: impl AsRef<Path>, base: &Path) -> PathBuf {
        let written = written.as_ref();
        clean_path(&self.in_user_home(written).unwrap_or_else(|| base.join(written)))
    }

    /// Whether an argument of a command names a sensitive path or a file of our own home, anywhere in it. A guess by
    /// letters: it catches what is written plainly, not what a shell puts together.
    #[must_use]
    pub fn sensitive_word(&self, word: &str, cwd: &Path) -> Option<&Why> {
        let here = fold_path(cwd);
        // Most words are relative, and the folders above them need judging once only.
        let judged = if self.sensitive(cwd).is_none() { here.len() } else { 0 };
        let at_home = covers(&self.home.0, &here);
        readings(word).filter(|reading| (1..=MAX_PATH).contains(&reading.len())).find_map(|reading| {
            spellings(&self.as_written(reading, cwd)).find_map(|path| {
                let below = if covers(&here, &path) { judged } else { 0 };
                let ours = || (!at_home && covers(&self.home.0, &path)).then_some(&self.home.1);
                self.sensitive.covering(&path, below).or_else(|| self.sensitive_by_link(&path)).or_else(ours)
            })
        })
    }

    /// `~`, `~/x`, `~me/x`, `$HOME/x` and `${HOME}/x`. Without a known user home they stay below a folder called `~`, where
    /// patterns for any depth still find them.
    fn in_user_home(&self, written: &Path) -> Option<PathBuf> {
        let home = self.places.user_home.as_deref();
        let me = home.and_then(Path::file_name).map(|name| [b"~", name.as_bytes()].concat());
        let forms = [b"~".as_slice(), b"$HOME", b"${HOME}"].into_iter().chain(me.as_deref());
        let mut rests = forms.filter_map(|form| written.as_os_str().as_bytes().strip_prefix(form));
        let rest = rests.find(|rest| rest.is_empty() || rest.starts_with(b"/"))?;
        let slashes = rest.iter().take_while(|byte| **byte == b'/').count();
        Some(home.unwrap_or(Path::new("/~")).join(OsStr::from_bytes(&rest[slashes..])))
    }
}

/// Every part of a word that may be meant as a path: the whole, an option's attached value, what follows a separator, and
/// what stands between two.
fn readings(word: &str) -> impl Iterator<Item = &str> {
    let attached = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).map(|rest| {
        let mut chars = rest.chars();
        chars.next();
        chars.as_str()
    });
    let rests = word.match_indices(SEPARATORS).take(MAX_RESTS).map(|(at, sign)| &word[at + sign.len()..]);
    std::iter::once(word).chain(attached).chain(rests).chain(word.split(SEPARATORS))
}

/// What follows several short options in one word: `build.mk` of `-sfbuild.mk`. Far too many to be judged by their letters:
/// `-Dmy.npmrc` does not name `.npmrc`.
fn clustered(word: &str) -> impl Iterator<Item = &str> {
    let options = word.strip_prefix('-').unwrap_or_default();
    let letters = options.bytes().take(MAX_CLUSTER).take_while(u8::is_ascii_alphanumeric).count();
    (2..=letters).map(|skipped| &options[skipped..])
}

/// What has the letters of an ordinary path, between whatever else there is (`!./x.sh`, `q#./x.pl#`), and where it begins
/// like a path after letters of a language (`e./x.sh`).
fn runs(word: &str) -> impl Iterator<Item = &str> {
    let plain = |sign: char| sign.is_alphanumeric() || "_-./+~".contains(sign);
    word.split(move |sign| !plain(sign)).flat_map(|run| {
        let start = run.find("./").or_else(|| run.find('/')).map(|at| match run[..at].strip_suffix('.') {
            Some(before) => before.len(),
            None => at,
        });
        std::iter::once(run).chain(start.filter(|at| *at > 0).map(|at| &run[at..]))
    })
}

#[cfg(test)]
mod tests;
