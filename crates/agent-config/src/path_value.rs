//! Paths in the configuration, with their two placeholders (CFG-2).

use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::schema::{Field, Report};
use crate::tree::{Node, Value};

const HOME: &str = "${SOONG_AGENT_HOME}";
const PROJECT: &str = "<project>";

/// The two folders that placeholders stand for. Both absolute; whoever calls has resolved them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// What `${SOONG_AGENT_HOME}` means: the user-level home of the agent.
    pub home: PathBuf,
    /// What `<project>` means: the project folder, symlinks resolved.
    pub project: PathBuf,
}

/// A path as the file gives it: below home, below the project, or absolute. It is resolved by [`PathValue::resolve`],
/// since one configuration serves many projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathValue {
    base: Base,
    rest: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Home,
    Project,
    Root,
}

/// Why a text is no path value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathValueError {
    /// Neither absolute nor below one of the two folders. What a relative path means would depend on where one stands.
    #[error("a path that is relative to nothing")]
    Relative,
    /// `~` and variables other than the two are not expanded.
    #[error("a variable that is not expanded here")]
    UnknownVariable,
    /// A placeholder that is not the whole first part of the path.
    #[error("a placeholder that is not the whole first part of the path")]
    MisplacedPlaceholder,
    /// No path can hold it.
    #[error("a control character in a path")]
    ControlCharacter,
}

impl PathValue {
    /// Reads a path value.
    ///
    /// # Errors
    /// When the text is relative, uses any other variable, misplaces a placeholder or holds a control character.
    pub fn new(text: &str) -> Result<Self, PathValueError> {
        let (base, rest) = if let Some(rest) = text.strip_prefix(HOME) {
            (Base::Home, rest)
        } else if let Some(rest) = text.strip_prefix(PROJECT) {
            (Base::Project, rest)
        } else {
            (Base::Root, text)
        };
        if text.chars().any(char::is_control) {
            return Err(PathValueError::ControlCharacter);
        }
        if rest.contains(HOME)
            || rest.contains(PROJECT)
            || (base != Base::Root && !matches!(rest.bytes().next(), None | Some(b'/')))
        {
            return Err(PathValueError::MisplacedPlaceholder);
        }
        if rest.contains("${") || rest.starts_with(['$', '~']) {
            return Err(PathValueError::UnknownVariable);
        }
        if base == Base::Root && !rest.starts_with('/') {
            return Err(PathValueError::Relative);
        }
        let rest = if base == Base::Root { rest } else { rest.trim_start_matches('/') };
        Ok(Self { base, rest: rest.to_owned() })
    }

    pub(crate) fn in_home(rest: &str) -> Self {
        Self { base: Base::Home, rest: rest.to_owned() }
    }

    pub(crate) fn in_project(rest: &str) -> Self {
        Self { base: Base::Project, rest: rest.to_owned() }
    }

    /// The path it means. Neither `..` nor symlinks are resolved: that is for whoever opens it.
    #[must_use]
    pub fn resolve(&self, places: &Places) -> PathBuf {
        match self.base {
            Base::Root => PathBuf::from(&self.rest),
            Base::Home => below(&places.home, &self.rest),
            Base::Project => below(&places.project, &self.rest),
        }
    }

    /// True if it names something below home by its words alone: no `..`, and not home itself.
    pub(crate) fn is_inside_home(&self, places: &Places) -> bool {
        let path = self.resolve(places);
        let Ok(rest) = path.strip_prefix(&places.home) else {
            return false;
        };
        rest.components().next().is_some() && rest.components().all(|part| matches!(part, Component::Normal(_)))
    }
}

fn below(folder: &Path, rest: &str) -> PathBuf {
    // Joining an empty path would leave a slash at the end.
    if rest.is_empty() { folder.to_owned() } else { folder.join(rest) }
}

/// The text as it stands in the file.
impl fmt::Display for PathValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = match self.base {
            Base::Root => return f.write_str(&self.rest),
            Base::Home => HOME,
            Base::Project => PROJECT,
        };
        let slash = if self.rest.is_empty() { "" } else { "/" };
        write!(f, "{base}{slash}{}", self.rest)
    }
}

impl Field for PathValue {
    type Rule = ();

    fn blank() -> Self {
        Self { base: Base::Root, rest: "/".to_owned() }
    }

    fn absorb(&mut self, node: &Node, at: &str, (): (), report: &mut Report) {
        let Value::Text(text) = &node.value else {
            return report.wrong_value(node, at, Self::kind(()));
        };
        match Self::new(text) {
            Ok(path) => *self = path,
            Err(error) => {
                report.wrong_value_said(node, at, Self::kind(()), &format!("{error}: {}", crate::tree::quoted(text)))
            }
        }
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }

    fn kind((): ()) -> String {
        format!("a path that begins with `/`, `{HOME}` or `{PROJECT}`")
    }
}

#[cfg(test)]
#[path = "path_value_tests.rs"]
mod tests;
