//! The folder a plan is meant for, as the model reads it. Only words: nothing is looked up and nothing is made.

use std::path::{Component, Path, PathBuf};

use agent_protocol::shown_path;

/// A longer path is no folder of anybody's. Characters.
const LONGEST: usize = 1024;

/// Why a suggested folder is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TargetError {
    /// It would be more than one line, or not be seen.
    #[error("suggested_dir holds a line end or another control character; give a plain path")]
    Control,
    /// No folder is called so.
    #[error("suggested_dir is longer than {LONGEST} characters; give a plain path")]
    TooLong,
}

/// The folder that was suggested, or the default: relative to the project where it lies inside, absolute elsewhere, so that
/// nobody takes a place outside for one inside. `~` stays, as the code tools know it.
pub(super) fn target(suggested: Option<&str>, default: &Path, project: &Path) -> Result<String, TargetError> {
    let Some(words) = suggested.map(str::trim).filter(|words| !words.is_empty()) else {
        return Ok(shown(default, project));
    };
    if words.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        return Err(TargetError::Control);
    }
    if words.chars().count() > LONGEST {
        return Err(TargetError::TooLong);
    }
    if words == "~" || words.starts_with("~/") {
        return Ok(words.to_owned());
    }
    // Joining an absolute path gives that path.
    Ok(shown(&project.join(words), project))
}

fn shown(folder: &Path, project: &Path) -> String {
    let folder = without_dots(folder);
    match folder.strip_prefix(project) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => shown_path(inside).into_owned(),
        Err(_) => shown_path(&folder).into_owned(),
    }
}

/// `.` and `..` are resolved by the words alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PLN-4: `plan.default_dir` unless another folder is suggested; a suggestion is shown as the place it means.
    #[test]
    fn folders_are_shown_as_what_they_are() {
        let default = Path::new("/home/u/p/.soong-agent/plans");
        for (suggested, expected) in [
            (None, ".soong-agent/plans"),
            (Some(" \t"), ".soong-agent/plans"),
            (Some("docs/plans"), "docs/plans"),
            (Some("./docs/../plans/"), "plans"),
            (Some("."), "."),
            (Some("/home/u/p/plans"), "plans"),
            (Some("../other"), "/home/u/other"),
            (Some("../../../../.."), "/"),
            (Some("/tmp/x"), "/tmp/x"),
            (Some("/home/u/pp"), "/home/u/pp"),
            (Some("~/plans"), "~/plans"),
        ] {
            assert_eq!(target(suggested, default, Path::new("/home/u/p")).as_deref(), Ok(expected), "{suggested:?}");
        }
        assert_eq!(target(None, Path::new("/home/u/plans"), Path::new("/p")).as_deref(), Ok("/home/u/plans"));
    }

    #[test]
    fn a_folder_is_one_plain_line() {
        let refused = |words: &str| target(Some(words), Path::new("/p"), Path::new("/p")).unwrap_err();
        for words in ["a\nb", "a\u{2028}b", "a\u{1b}[2J", "a\0"] {
            assert_eq!(refused(words), TargetError::Control, "{words:?}");
        }
        assert_eq!(refused(&"x".repeat(1025)), TargetError::TooLong);
    }
}
