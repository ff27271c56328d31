//! Patterns for paths: parsed, anchored, compiled, matched.

mod shape;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::{
    error::RulesError,
    fold::{as_text, clean, fold, name_of, prefixes},
    places::Places,
    why::Why,
};
use shape::Shape;

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
    is_plain(rest).then(|| if rest.is_empty() { base } else { base.join(rest) })
}

/// Where the file of a pattern for any depth usually is, when nothing in it is a glob: `.netrc` in the user's home.
pub(super) fn usual_place(pattern: &str, places: &Places) -> Option<PathBuf> {
    let text = tidy(pattern);
    let name = text.trim_start_matches("**/");
    let anywhere = based(&text, places).is_none() && !text.starts_with(['/', '~']);
    (anywhere && is_plain(name)).then_some(places.user_home.as_ref()?.join(name))
}

fn is_plain(text: &str) -> bool {
    !text.contains(['*', '?', '[', ']', '{', '}', '\\'])
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
    globset::escape(&clean(&fold(&as_text(path))).replace('\\', r"\\"))
}

/// Many patterns, each with its reason, matched together.
#[derive(Debug, Clone)]
pub(super) struct PatternSet {
    names: Patterns,
    paths: Patterns,
}

impl PatternSet {
    /// Compiles patterns; of several that match, the first given explains.
    pub(super) fn new(rules: Vec<(Pattern, Why)>) -> Result<Self, RulesError> {
        let (mut names, mut paths) = (Vec::new(), Vec::new());
        for (pattern, why) in rules {
            match pattern {
                Pattern::Name(text) => names.push((text, why)),
                Pattern::Path(text) => paths.push((text, why)),
            }
        }
        Ok(Self { names: Patterns::new(names)?, paths: Patterns::new(paths)? })
    }

    /// Why this very path matches, whatever its ancestors; `path` is folded.
    pub(super) fn matching(&self, path: &str) -> Option<&Why> {
        self.names.first(name_of(path)).or_else(|| self.paths.first(path))
    }

    /// Why this path or a folder above it matches, looking only at what is longer than `below` bytes.
    pub(super) fn covering(&self, path: &str, below: usize) -> Option<&Why> {
        prefixes(path).filter(|prefix| prefix.len() > below).find_map(|prefix| self.matching(prefix))
    }
}

/// Patterns that are matched on the same text, by what finding them takes.
#[derive(Debug, Clone)]
struct Patterns {
    whys: Vec<Why>,
    literal: HashMap<String, usize>,
    shapes: Vec<(Shape, usize)>,
    globs: GlobSet,
    /// Which pattern each of the globs is.
    of_globs: Vec<usize>,
}

impl Patterns {
    fn new(rules: Vec<(String, Why)>) -> Result<Self, RulesError> {
        let (mut whys, mut literal, mut shapes) = (Vec::new(), HashMap::new(), Vec::new());
        let (mut globs, mut of_globs) = (GlobSetBuilder::new(), Vec::new());
        for (rule, (text, why)) in rules.into_iter().enumerate() {
            match Shape::parse(&text) {
                Some(shape) if shape.is_literal() => {
                    literal.entry(text).or_insert(rule);
                }
                Some(shape) => shapes.push((shape, rule)),
                None => {
                    globs.add(compile(&text, &why)?);
                    of_globs.push(rule);
                }
            }
            whys.push(why);
        }
        let globs = globs.build().map_err(|source| RulesError::Set { source })?;
        Ok(Self { whys, literal, shapes, globs, of_globs })
    }

    /// Why the text matches: the first pattern given that does.
    fn first(&self, text: &str) -> Option<&Why> {
        let literal = self.literal.get(text).copied();
        let shape = self.shapes.iter().find(|(shape, _)| shape.matches(text)).map(|(_, rule)| *rule);
        let first = [literal, shape, self.glob(text)].into_iter().flatten().min();
        first.and_then(|rule| self.whys.get(rule))
    }

    fn glob(&self, text: &str) -> Option<usize> {
        // `matches` allocates; nearly every path of a walk matches nothing.
        if self.globs.is_empty() || !self.globs.is_match(text) {
            return None;
        }
        self.globs.matches(text).first().and_then(|glob| self.of_globs.get(*glob)).copied()
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

#[cfg(test)]
mod tests;
