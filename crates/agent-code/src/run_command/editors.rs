//! Editors and pagers: nobody sits at a command's terminal, so one that a program starts would wait until the time is up.

use std::ffi::OsString;

/// What git runs in place of an editor: it says what to do, and fails.
const NO_EDITOR: &str =
    "echo 'no editor is started here: give the text as an argument, such as git commit -m' >&2; false";

/// Variables that name an editor, and what they are set to.
const EDITORS: &[(&str, &str)] =
    &[("GIT_EDITOR", NO_EDITOR), ("GIT_SEQUENCE_EDITOR", NO_EDITOR), ("EDITOR", "false"), ("VISUAL", "false")];

/// Variables that name a pager. What they are set to prints what it reads.
const PAGERS: &[(&str, &str)] =
    &[("GIT_PAGER", "cat"), ("PAGER", "cat"), ("MANPAGER", "cat"), ("SYSTEMD_PAGER", "cat")];

/// Adds what keeps programs from starting an editor or a pager. Where the user lets one of the variables through, it is the
/// user's word that counts, for the whole kind.
pub(super) fn keep_out(env: &mut Vec<(OsString, OsString)>) {
    for kind in [EDITORS, PAGERS] {
        let is_chosen = env.iter().any(|(name, _)| kind.iter().any(|(known, _)| name == known));
        if !is_chosen {
            env.extend(kind.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(env: &[(&str, &str)]) -> Vec<String> {
        let mut env: Vec<_> = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        keep_out(&mut env);
        env.into_iter().map(|(name, _): (OsString, OsString)| name.into_string().unwrap()).collect()
    }

    /// FND-31: none is started by default; what the user lets through is left alone.
    #[test]
    fn the_users_choice_counts() {
        let editors = ["GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "EDITOR", "VISUAL"];
        let pagers = ["GIT_PAGER", "PAGER", "MANPAGER", "SYSTEMD_PAGER"];
        assert_eq!(names(&[]), [editors, pagers].concat());
        assert_eq!(names(&[("EDITOR", "vi")]), [&["EDITOR"][..], &pagers].concat());
        assert_eq!(names(&[("PAGER", "less")]), [&["PAGER"][..], &editors].concat());
    }
}
