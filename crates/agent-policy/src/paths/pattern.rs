//! Patterns for paths: parsed, anchored, compiled, matched.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::{
    Places, RulesError, Why,
    fold::{clean, fold, name_of, prefixes},
};

/// A pattern by what it is matched on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// One component, at any depth: `*.pem`.
    Name(String),
    /// A whole path: `/home/u/.ssh`, or the end of one: `**/.kube/config`.
    Path(String),
}

/// Parses one pattern; folded, and its base folder (if it has one) quoted, so that glob characters in the *folder's own*
/// name mean themselves.
///
/// Accepted: `name`, `a/b` (both at any depth), `/absolute`, `~/x`, `<project>/x`, `${SOONG_AGENT_HOME}/x`; a trailing `/`
/// or `/**` changes nothing, since a folder covers its content anyway. `~/x` without a known user home holds at any depth:
/// the stricter reading of the two.
pub(super) fn parse(pattern: &str, places: &Places) -> Result<Pattern, RulesError> {
    let text = tidy(pattern);
    let text = text.as_str();
    if text.is_empty() {
        return Err(RulesError::Empty { pattern: pattern.to_owned() });
    }
    if text.split('/').any(|name| matches!(name, "." | "..")) {
        return Err(RulesError::Dots { pattern: pattern.to_owned() });
    }
    Ok(match based(text, places) {
        Some((base, rest)) => Pattern::Path(join(&base, rest)),
        None if text.starts_with('~') && text.contains('/') && !text.starts_with("~/") => {
            return Err(RulesError::OtherHome { pattern: pattern.to_owned() });
        }
        None if text.starts_with('/') => Pattern::Path(fold(text)),
        None => {
            let text = text.trim_start_matches("~/").trim_start_matches("**/");
            if text.contains('/') { Pattern::Path(format!("**/{}", fold(text))) } else { Pattern::Name(fold(text)) }
        }
    })
}

/// The one path a pattern names, when it has a base and no glob character: what a caller can look up on disk.
pub(super) fn anchor(pattern: &str, places: &Places) -> Option<PathBuf> {
    let text = tidy(pattern);
    let text = text.as_str();
    let (base, rest) = based(text, places).or_else(|| Some((PathBuf::from("/"), text.strip_prefix('/')?)))?;
    let literal = !rest.contains(['*', '?', '[', ']', '{', '}', '\\']);
    literal.then(|| if rest.is_empty() { base } else { base.join(rest) })
}

/// The pattern without doubled slashes and without the endings that mean "and its content".
fn tidy(pattern: &str) -> String {
    let mut text = pattern.to_owned();
    while text.contains("//") {
        text = text.replace("//", "/");
    }
    while let Some(shorter) = text.strip_suffix("/**").or_else(|| text.strip_suffix('/')) {
        text.truncate(shorter.len());
    }
    // The root folder: what it covers is everything directly in it.
    if text.is_empty() && pattern.starts_with('/') { "/*".to_owned() } else { text }
}

/// Splits off the folder a placeholder stands for.
fn based<'p>(text: &'p str, places: &Places) -> Option<(PathBuf, &'p str)> {
    let bases = [
        ("~", places.user_home.as_deref()),
        ("<project>", Some(places.project.as_path())),
        ("${SOONG_AGENT_HOME}", Some(places.home.as_path())),
    ];
    bases.into_iter().find_map(|(name, base)| {
        let rest = text.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with('/')).then_some((base?.to_path_buf(), rest.trim_start_matches('/')))
    })
}

fn join(base: &Path, rest: &str) -> String {
    let base = quoted(base);
    if rest.is_empty() { base } else { format!("{}/{}", base.trim_end_matches('/'), fold(rest)) }
}

/// A path as a pattern for itself alone, folded.
pub(super) fn quoted(path: &Path) -> String {
    globset::escape(&clean(&fold(&path.to_string_lossy())).replace('\\', r"\\"))
}

/// Many patterns, each with its reason, matched together.
#[derive(Debug, Clone)]
pub(super) struct PatternSet {
    names: GlobSet,
    name_whys: Vec<Why>,
    paths: GlobSet,
    path_whys: Vec<Why>,
}

impl PatternSet {
    /// Compiles patterns; of several that match, the first given explains.
    pub(super) fn new(rules: Vec<(Pattern, Why)>) -> Result<Self, RulesError> {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let (mut name_whys, mut path_whys) = (Vec::new(), Vec::new());
        for (pattern, why) in rules {
            let (text, set, whys) = match pattern {
                Pattern::Name(text) => (text, &mut names, &mut name_whys),
                Pattern::Path(text) => (text, &mut paths, &mut path_whys),
            };
            set.add(compile(&text, &why)?);
            whys.push(why);
        }
        let build = |set: GlobSetBuilder| set.build().map_err(|source| RulesError::Set { source });
        Ok(Self { names: build(names)?, name_whys, paths: build(paths)?, path_whys })
    }

    /// Why this very path matches, whatever its ancestors; `path` is folded.
    pub(super) fn matching(&self, path: &str) -> Option<&Why> {
        first(&self.names, &self.name_whys, name_of(path)).or_else(|| first(&self.paths, &self.path_whys, path))
    }

    /// Why this path or a folder above it matches, looking only at what is longer than `below` bytes.
    pub(super) fn covering(&self, path: &str, below: usize) -> Option<&Why> {
        prefixes(path).filter(|prefix| prefix.len() > below).find_map(|prefix| self.matching(prefix))
    }
}

fn compile(text: &str, why: &Why) -> Result<Glob, RulesError> {
    GlobBuilder::new(text)
        // Names hold no slash; without this option globset may match `*.pem` by its ending alone, which is fast.
        .literal_separator(text.contains('/'))
        .backslash_escape(true)
        .build()
        .map_err(|source| RulesError::Glob { pattern: why.pattern.clone(), source })
}

fn first<'w>(set: &GlobSet, whys: &'w [Why], text: &str) -> Option<&'w Why> {
    // `matches` allocates; nearly every path of a walk matches nothing.
    if !set.is_match(text) {
        return None;
    }
    set.matches(text).first().and_then(|index| whys.get(*index))
}

#[cfg(test)]
mod tests;
