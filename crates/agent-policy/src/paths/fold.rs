//! Paths as rules that restrict compare them: folded, so that no other spelling of a name slips past.
//!
//! The principle of this crate: what *restricts* (sensitive, control, protected) compares folded and may catch a path too
//! many; what *permits* (roots, the plans folder, grants) compares exactly and may miss one.

use std::path::Path;

/// The path in lower case and without characters that some file systems ignore in names, as lexically clean text.
///
/// A byte that is not UTF-8 becomes U+FFFD: patterns still match around it.
pub(crate) fn fold_path(path: &Path) -> String {
    let folded = fold(&path.to_string_lossy());
    if is_clean(&folded) { folded } else { clean(&folded) }
}

/// Folds case and drops ignorable characters; for names of files and for patterns alike.
///
/// Upper case first, since `ſ` and `K` (Kelvin) have no other way to `s` and `k`.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars()
        .filter(|c| !is_ignored_in_names(*c))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Characters HFS+ skips when it compares names: `.g\u{200c}it` opens `.git` there.
fn is_ignored_in_names(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
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
