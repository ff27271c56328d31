//! Paths as rules that restrict compare them: folded, so that no other spelling of a name slips past.
//!
//! The principle of this crate: what *restricts* (sensitive, control, protected) compares folded and may catch a path too
//! many; what *permits* (roots, the plans folder, grants) compares exactly and may miss one.

use std::{
    borrow::Cow,
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use unicode_normalization::UnicodeNormalization;

/// The path in one case, in one form of composed characters and without those that some file systems ignore in names, as
/// lexically clean text.
///
/// A byte that is not UTF-8 becomes one character that no name has: patterns still match around it, and no two paths become one.
pub(crate) fn fold_path(path: &Path) -> String {
    let folded = fold(&as_text(path));
    if is_clean(&folded) { folded } else { clean(&folded) }
}

/// A path as text, each byte that is none as a character of its own, of those at the end of the code space that are given no
/// meaning.
pub(super) fn as_text(path: &Path) -> Cow<'_, str> {
    const BYTES: u32 = 0x10_FF00;
    if let Some(text) = path.to_str() {
        return Cow::Borrowed(text);
    }
    let chunks = path.as_os_str().as_bytes().utf8_chunks();
    let text = chunks.flat_map(|chunk| {
        let bytes = chunk.invalid().iter().filter_map(|byte| char::from_u32(BYTES + u32::from(*byte)));
        chunk.valid().chars().chain(bytes)
    });
    Cow::Owned(text.collect())
}

/// The path without what ends a name and does not belong to it on file systems of other systems' making: `.env.` and
/// `.env ` open `.env` there. Nothing where no name ends like that.
fn without_tails(path: &str) -> Option<String> {
    let tails = [' ', '.'];
    if !path.split('/').any(|name| name.ends_with(tails)) {
        return None;
    }
    let names = path.split('/').map(|name| match name.trim_end_matches(tails) {
        "" => name,
        bare => bare,
    });
    Some(names.collect::<Vec<_>>().join("/"))
}

/// The folded path with no such ends.
pub(crate) fn bare_path(path: &Path) -> String {
    let folded = fold_path(path);
    without_tails(&folded).unwrap_or(folded)
}

/// All that a path is compared as.
pub(crate) fn spellings(path: &Path) -> impl Iterator<Item = String> {
    let folded = fold_path(path);
    let bare = without_tails(&folded);
    std::iter::once(folded).chain(bare)
}

/// The file that one is a copy of, by the names that editors and people give to copies: `.env~`, `#.env#`, `id_rsa.bak`,
/// `.netrc.swp`. Of a folded path.
pub(super) fn original_of(path: &str) -> Option<String> {
    const TAILS: [&str; 8] = ["~", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".copy"];
    let (folder, name) = path.rsplit_once('/')?;
    let plain = name.strip_prefix('#').and_then(|name| name.strip_suffix('#'));
    let plain = plain.or_else(|| TAILS.iter().find_map(|tail| name.strip_suffix(tail)))?;
    (!plain.is_empty()).then(|| format!("{folder}/{plain}"))
}

/// Folds case, composes characters and drops ignorable ones; for names of files and for patterns alike.
///
/// Lower case, upper, lower: `ẞ` has no other way to `ss`, nor have `ſ` and `K` (Kelvin) to `s` and `k`.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfd()
        .filter(|c| !is_ignored_in_names(*c))
        .flat_map(char::to_lowercase)
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfc()
        .collect()
}

/// Characters that some file systems skip when they compare names, so that `.g\u{200c}it` opens `.git`: HFS+ a few, ext4
/// with case folding all that Unicode says may be ignored by default.
fn is_ignored_in_names(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether an absolute path has no `.`, `..` or empty component and no `/` at its end.
fn is_clean(path: &str) -> bool {
    path == "/" || path.split('/').skip(1).all(|name| !matches!(name, "" | "." | ".."))
}

/// Takes `.`, `..`, doubled and trailing slashes out of an absolute path, by its letters alone.
pub(crate) fn clean(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

/// The same of a path, byte by byte.
pub(crate) fn clean_path(path: &Path) -> PathBuf {
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.as_os_str().as_bytes().split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    PathBuf::from(OsString::from_vec([b"/".as_slice(), &names.join(&b'/')].concat()))
}

/// Whether `path` is `base` or below it, by whole components; both folded.
pub(crate) fn covers(base: &str, path: &str) -> bool {
    base == "/" || path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path's ancestors from the outermost on, below `/`, then the path itself.
pub(crate) fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').skip(1).map(|(end, _)| &path[..end]).chain(std::iter::once(path))
}

/// The last component.
pub(crate) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests;
